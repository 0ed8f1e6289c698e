"""Statistics of Dask blocks when a process of the cluster is killed."""

import os
import signal

import numpy as np
import pytest
from sklearn.datasets import load_digits

from skgeom import ClassStatistics

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL"),
    pytest.mark.filterwarnings("ignore"),  # of the cluster, about its dead worker
]


class DyingBlock:
    """A function of a block that kills its process the first time it is called."""

    def __init__(self, mark):
        self.mark = mark

    def __call__(self, block):
        try:
            os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return block
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_loses_nothing(tmp_path):
    distributed = pytest.importorskip("distributed")
    da = pytest.importorskip("dask.array")
    X, y = load_digits(return_X_y=True)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
    mark = tmp_path / "mark"
    with cluster, distributed.Client(cluster):
        blocks = da.from_array(X, chunks=(200, -1))
        dying = blocks.map_blocks(DyingBlock(str(mark)), meta=X[:0])
        found = ClassStatistics.from_data(dying, y)
    assert mark.exists()
    expected = ClassStatistics.from_data(X, y)
    np.testing.assert_allclose(found.covariances, expected.covariances, atol=1e-9)
    np.testing.assert_array_equal(found.counts, expected.counts)
