"""Time and memory of a fit against the size of the data, compared with baselines.

    python -m benchmarks.bench_growth [--results FILE] [--write FOLDER] [--only TEXT]

Each estimator, with default parameters, is fitted to synthetic data of growing size:
more samples, features or classes of vectors, and more SPD matrices, channels or
prototypes. Each fit runs in a separate process, which first fits the smallest size, so
that the time does not include imports. After a fit that takes longer than fifteen
seconds, larger sizes are skipped. Memory is the peak memory of the process minus the
memory of the data (Linux only). FILE (JSON lines) stores finished rows, so that an
interrupted run continues. ``--write doc/results`` writes the figures and the table of
the documentation. Run the script on an otherwise idle machine.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pyriemann.classification import MDM
from pyriemann.tangentspace import TangentSpace
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from benchmarks.rows import add_row, read_rows
from skgeom import (
    GLRSQ,
    GMLVQ,
    PLRSQ,
    RSLVQ,
    SQFA,
    AMAGauss,
    KernelDiscriminantAnalysis,
)
from skgeom.datasets import make_spd_classes

# After a fit that takes longer (seconds), larger sizes are skipped.
LIMIT = 15
# Shorter fits are repeated until their total time reaches this value (seconds).
ENOUGH = 2


@dataclass(frozen=True)
class Panel:
    """Fits of growing size. ``make`` draws the data; ``methods`` depends on the size.

    ``plain`` contains the baselines.
    """

    label: str
    sizes: tuple
    make: Callable
    methods: dict
    plain: dict


def vectors(n_samples, n_features, n_classes):
    """Gaussian classes that differ in their means and in some variances."""
    rng = np.random.default_rng(0)
    deviations = np.arange(1, n_features + 1) ** -0.5
    y = np.arange(n_samples) % n_classes
    X = rng.standard_normal((n_samples, n_features))
    for label in range(n_classes):
        own = y == label
        wide = rng.permutation(n_features)[: n_features // 4 + 1]
        X[np.ix_(own, wide)] *= 3
        X[own] += 0.5 * rng.standard_normal(n_features)
    return X * deviations, y


def matrices(n_matrices, order, n_classes=4):
    return make_spd_classes(
        n_classes, n_matrices // n_classes, order, separation=0.7, random_state=0
    )


def svc(size):
    return SVC()


def lda(size):
    return LinearDiscriminantAnalysis()


def mdm(size):
    return MDM()


def tangent_space(size):
    return make_pipeline(TangentSpace(), LogisticRegression(max_iter=1000))


VECTOR_METHODS = {
    "SQFA(4)": lambda size: SQFA(4, random_state=0),
    "AMAGauss(4)": lambda size: AMAGauss(4, random_state=0),
    "KDA": lambda size: KernelDiscriminantAnalysis(random_state=0),
    "RSLVQ": lambda size: RSLVQ(random_state=0),
}
MATRIX_METHODS = {
    "PLRSQ": lambda size: PLRSQ(metric="riemann", random_state=0),
    "PLRSQ, tangent": lambda size: PLRSQ(metric="tangent", random_state=0),
    "PLRSQ, log-Euclidean": lambda size: PLRSQ(metric="logeuclid", random_state=0),
    "GLRSQ": lambda size: GLRSQ(metric="riemann", random_state=0),
}
PLAIN_MATRICES = {"MDM": mdm, "tangent space + LR": tangent_space}

PANELS = {
    "samples": Panel(
        "samples, 20 features, 5 classes",
        (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
        lambda size: vectors(size, 20, 5),
        VECTOR_METHODS,
        {"LDA": lda, "SVC": svc},
    ),
    "features": Panel(
        "features, 300 samples, 3 classes",
        (30, 100, 300, 1_000, 3_000, 10_000, 30_000),
        lambda size: vectors(300, size, 3),
        {**VECTOR_METHODS, "GMLVQ": lambda size: GMLVQ(random_state=0)},
        {"LDA": lda, "SVC": svc, "PCA(299)": lambda size: PCA(min(299, size))},
    ),
    "classes": Panel(
        "classes, 100 samples each, 64 features",
        (3, 10, 30, 100, 300, 1_000),
        lambda size: vectors(100 * size, 64, size),
        {
            "SQFA(8)": lambda size: SQFA(8, random_state=0),
            **{name: VECTOR_METHODS[name] for name in ("KDA", "RSLVQ")},
        },
        {"LDA": lda, "SVC": svc},
    ),
    "matrices": Panel(
        "matrices of 8 x 8, 4 classes",
        (100, 300, 1_000, 3_000, 10_000),
        lambda size: matrices(size, 8),
        MATRIX_METHODS,
        PLAIN_MATRICES,
    ),
    "channels": Panel(
        "channels, 400 matrices, 4 classes",
        (4, 8, 16, 32, 64),
        lambda size: matrices(400, size),
        MATRIX_METHODS,
        PLAIN_MATRICES,
    ),
    "prototypes": Panel(
        "prototypes a class, 1,000 matrices of 8 x 8",
        (1, 2, 4, 8, 16),
        lambda size: matrices(1_000, 8),
        {
            "PLRSQ": lambda size: PLRSQ(size, metric="riemann", random_state=0),
            "PLRSQ, tangent": lambda size: PLRSQ(
                size, metric="tangent", random_state=0
            ),
            "PLRSQ, sgd": lambda size: PLRSQ(
                size, metric="riemann", solver="sgd", random_state=0
            ),
            "GLRSQ": lambda size: GLRSQ(size, metric="riemann", random_state=0),
        },
        PLAIN_MATRICES,
    ),
}
FIGURES = {
    "growth_vectors": ("samples", "features", "classes"),
    "growth_matrices": ("matrices", "channels", "prototypes"),
}


# One fit


def resident(field):
    """Memory of this process in MB: ``VmRSS``, now, or ``VmHWM``, its peak."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise ValueError(field)


def forget_peak():
    Path("/proc/self/clear_refs").write_text("5")


def measure(panel, method, size):
    """Median seconds of a fit, and its memory in MB, or None if unknown."""
    panel = PANELS[panel]
    make = (panel.methods | panel.plain)[method]
    warnings.simplefilter("ignore")
    make(panel.sizes[0]).fit(*panel.make(panel.sizes[0]))
    X, y = panel.make(size)
    megabytes = None
    if sys.platform == "linux":
        forget_peak()
        before = resident("VmRSS")
    seconds = []
    while not seconds or (sum(seconds) < ENOUGH and len(seconds) < 5):
        start = time.perf_counter()
        make(size).fit(X, y)
        seconds.append(time.perf_counter() - start)
        if megabytes is None and sys.platform == "linux":
            megabytes = resident("VmHWM") - before
    return {"seconds": statistics.median(seconds), "megabytes": megabytes}


# All fits


def run(file, only):
    known = read_rows(file)
    for name, panel in PANELS.items():
        for method in panel.methods | panel.plain:
            if only not in f"{name}: {method}":
                continue
            for size in panel.sizes:
                key = name, method, size
                if key not in known:
                    known[key] = in_own_process(*key)
                    add_row(file, key, known[key])
                    print(*key, known[key], flush=True)
                if known[key].get("seconds", np.inf) > LIMIT:
                    break


def in_own_process(*key):
    command = [sys.executable, "-m", "benchmarks.bench_growth", "--fit"]
    command.append(json.dumps(key))
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1][:300]}
    return json.loads(done.stdout.splitlines()[-1])


# Figures and table


def curve(results, panel, method, what):
    """Measured sizes and values of a method."""
    points = [
        (size, results[panel, method, size][what])
        for size in PANELS[panel].sizes
        if results.get((panel, method, size), {}).get(what) is not None
    ]
    return tuple(np.array(points).T) if points else (np.empty(0), np.empty(0))


def draw(results, panels, file):
    import matplotlib
    from matplotlib.figure import Figure

    # Store text as text, and write equal files for equal results.
    style = {"svg.fonttype": "none", "svg.hashsalt": "skgeom", "font.size": 9}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(4 * len(panels), 7), layout="constrained")
        axes = figure.subplots(2, len(panels), squeeze=False, sharex="col")
        for column, name in zip(axes.T, panels, strict=True):
            panel = PANELS[name]
            whats = ("seconds", "megabytes")
            for ax, what in zip(column, whats, strict=True):
                for method in panel.methods:
                    points = curve(results, name, method, what)
                    ax.loglog(*points, "o-", ms=3, label=method)
                styles = ("--", "-.", ":")
                for method, line in zip(panel.plain, styles, strict=False):
                    points = curve(results, name, method, what)
                    ax.loglog(*points, "s", ls=line, ms=3, color="0.4", label=method)
                ax.grid(alpha=0.3)
                if panel.sizes[-1] < 100 * panel.sizes[0]:  # too few decades for ticks
                    ax.set_xticks(panel.sizes, panel.sizes)
                    ax.minorticks_off()
            column[1].set_ylim(bottom=1)  # smaller values are noise of the measurement
            column[0].set_title(f"more {panel.label}", fontsize=9)
            column[0].legend(fontsize=7)
            column[1].set_xlabel(f"number of {name}")
        axes[0, 0].set_ylabel("seconds of a fit")
        axes[1, 0].set_ylabel("memory on top of the data, MB")
        figure.savefig(file, metadata={"Date": None})


def power(sizes, values):
    """Exponent of the growth, from the last three points in logarithms."""
    if len(sizes) < 3:
        return ""
    slope, _ = np.polyfit(np.log(sizes[-3:]), np.log(np.maximum(values[-3:], 1e-9)), 1)
    return f"size^{slope:.1f}" if slope > 0.05 else "constant"


def table(results):
    lines = [
        ".. csv-table::",
        '   :header: "", "", "size", "seconds", "grows as", "MB", "grows as"',
        "",
    ]
    for name, panel in PANELS.items():
        for method in panel.methods | panel.plain:
            sizes, seconds = curve(results, name, method, "seconds")
            if not len(sizes):
                continue
            memory_sizes, memory = curve(results, name, method, "megabytes")
            cells = [name, method, f"{sizes[-1]:,.0f}", f"{seconds[-1]:.2g}"]
            cells.append(power(sizes, seconds))
            if len(memory):
                cells.append(f"{memory[-1]:.0f}")
                memory = np.maximum(memory, 1)
                cells.append(power(memory_sizes, memory))
            else:
                cells += ["", ""]
            lines.append("   " + ", ".join(f'"{cell}"' for cell in cells))
    return "\n".join(lines) + "\n"


def write(results, folder):
    text = table(results)
    print(text)
    if folder is not None:
        Path(folder, "growth_benchmark.inc").write_text(text, encoding="utf-8")
        for name, panels in FIGURES.items():
            draw(results, panels, Path(folder, f"{name}.svg"))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", default="growth.jsonl", help="finished rows")
    parser.add_argument("--write", help="folder for the figures and the table")
    parser.add_argument("--only", default="", help="'panel: method' with this text")
    parser.add_argument("--fit", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        print(json.dumps(measure(*options.fit)))
        return
    run(options.results, options.only)
    write(read_rows(options.results), options.write)


if __name__ == "__main__":
    main()
