"""SQFA and its variants compared with the package sqfa: classes and distances.

The tables contain medians, ratios, and objectives. Run the script on an otherwise idle
machine::

    python benchmarks/bench_sqfa_family.py --data mnist.npz

benchmarks/papers/sqfa_digits.py computes the accuracies of all methods on MNIST.

The script fits filters to given class statistics: of the training data of ``--data``
(10 classes x 784 for MNIST); of 41 speeds of a moving texture with 450 features, with
filters in pairs and several initializations; and of 100 classes of 512 features. Except
for the pairs, both packages start from the principal axes. The installed version of
sqfa is measured: the version of the extra ``bench`` (install a CPU build of torch
first) or the newest source.
"""

import argparse
import warnings
from functools import partial

import numpy as np
from common import PEER, has_peer, interleaved, load, peer_fit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skgeom import SQFA, ClassStatistics, SecondMomentSQFA


def moving_textures(n_speeds=41, n_positions=30, n_frames=15):
    """Exact statistics of a line of texture that moves at some speed.

    The texture has a Gaussian correlation over 1.5 pixels, and a window in space and
    time; the speeds are -2 to 2 pixels a frame. All class means are zero, and the
    total variance is 1, as for videos of normalized contrast, plus weak noise.
    """
    position, frame = (
        array.ravel()
        for array in np.meshgrid(np.arange(n_positions), np.arange(n_frames))
    )
    window = np.sin(np.pi * (position + 0.5) / n_positions) ** 2
    window *= np.sin(np.pi * (frame + 0.5) / n_frames)
    covariances = []
    for speed in np.linspace(-2, 2, n_speeds):
        place = position - speed * frame
        correlation = np.exp(-((place[:, None] - place) ** 2) / (2 * 1.5**2))
        covariances.append(window[:, None] * correlation * window)
    covariances = np.stack(covariances) / (window**2).sum()
    covariances += 1e-5 * np.eye(len(position))
    means = np.zeros((n_speeds, len(position)))
    return ClassStatistics(range(n_speeds), [500] * n_speeds, means, covariances)


def many_classes(n_classes=100, n_features=512):
    """Classes with a common decreasing spectrum, and different leading directions."""
    rng = np.random.default_rng(0)
    deviations = np.arange(1, n_features + 1) ** -0.5
    means = rng.normal(size=(n_classes, n_features)) * deviations
    own = rng.normal(size=(n_classes, n_features, 20)) * deviations[:, None]
    covariances = own @ own.mT / 20 + np.diag(deviations**2) / 4
    return ClassStatistics(range(n_classes), [500] * n_classes, means, covariances)


def compare_speed(data, repeats):
    X_train, y_train, *_ = data
    problems = {
        "data": (ClassStatistics.from_data(X_train, y_train), 9, 1.0, None),
        "41 speeds": (moving_textures(), 8, 0.001, 2),
        "100 classes": (many_classes(), 16, 0.1, None),
    }
    print(f"From class statistics (medians of {repeats}):")
    print("problem      distance          method      seconds   objective   ratio")
    for problem, (stats, n_components, noise, group_size) in problems.items():
        for distance in ("fisher-rao", "affine-invariant", "log-euclidean"):
            estimator = (SQFA if distance == "fisher-rao" else SecondMomentSQFA)(
                n_components,
                distance=distance,
                regularization=noise,
                group_size=group_size,
                # The first pair of filters determines all later pairs.
                init="auto" if group_size else "pca",
                random_state=0,
            )
            settings = n_components, noise, distance, group_size is not None
            jobs = {}
            if has_peer():
                jobs[PEER] = partial(peer_fit, stats, *settings)
            jobs["skgeom"] = partial(estimator.fit_statistics, stats)
            seconds, results = interleaved(jobs, repeats)
            for name in jobs:
                filters = results[name]
                if name == "skgeom":
                    filters = filters.components_
                value = objective_of(estimator, stats, filters)
                ratio = seconds[name] and seconds.get(PEER, np.nan) / seconds[name]
                print(
                    f"{problem:12s} {distance:17s} {name:10s} {seconds[name]:8.3f} "
                    f"{value:11.5f} {ratio:7.1f}",
                    flush=True,
                )


def objective_of(estimator, stats, filters):
    """The objective of an estimator at given filters, in double precision."""
    settled = clone(estimator).set_params(
        init=filters, n_init=1, max_iter=1, tol=1.0, group_size=None
    )
    settled.fit_statistics(stats)
    settled.statistics_ = stats.project(
        filters / np.linalg.norm(filters, axis=1, keepdims=True)
    )
    matrix = settled.class_distances()
    return matrix[np.triu_indices(len(matrix), 1)].mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="an .npz file with X, y, n_train")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", ConvergenceWarning)
    data = load(arguments.data)
    compare_speed(data, arguments.repeats)


if __name__ == "__main__":
    main()
