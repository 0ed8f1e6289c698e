"""Rows of bench_devices.py: class statistics, filters and Gaussian classifiers.

To run these rows only, with MNIST in the folder that SKGEOM_DATA names::

    python benchmarks/devices_filters.py --device cpu|cuda [--quick]
"""

import argparse
import contextlib
import os
import warnings

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
from common import PEER, has_peer, interleaved, load
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from skgeom import (
    SQFA,
    AMAGauss,
    ClassStatistics,
    GaussianClassifier,
    SecondMomentSQFA,
)
from skgeom.objectives._class_distances import DISTANCES
from skgeom.objectives._pairwise import MeanPairwiseDistance

REPEATS = 3
# With this variance, the package sqfa also converges within its epochs.
REGULARIZATION = 10.0


def rows(device, quick=False):
    """Yield (name, numpy seconds, device seconds, numpy score, device score).

    Samples are copied to the device before the measurement. Scores are the objectives,
    or accuracies for new samples.
    """
    X, y, *test = load("mnist.npz")
    if quick:
        X, y, test = X[:4000], y[:4000], [part[:1000] for part in test]
    n = f"MNIST, {len(y):,} samples"
    yield f"ClassStatistics, {n}", *compare_statistics(device, X, y)
    filters = {
        "SQFA(9)": SQFA(9, random_state=0),
        # The settings of the package sqfa.
        f"SQFA(9), sample covariances, sigma^2 = {REGULARIZATION:g}": SQFA(
            9,
            regularization=REGULARIZATION,
            covariance_estimator=None,
            random_state=0,
        ),
        "SecondMomentSQFA(9)": SecondMomentSQFA(9, random_state=0),
        "AMAGauss(9)": AMAGauss(9, random_state=0),
    }
    for name, model in filters.items():
        if name == "AMAGauss(9)" and not quick and device == "cpu":
            X_part, y_part = X[::10], y[::10]  # otherwise, the fit takes minutes
        else:
            X_part, y_part = X, y
        label = f"{name}, MNIST, {len(y_part):,} samples"
        yield label, *compare_filters(model, device, X_part, y_part)
    if has_peer():
        yield f"{PEER}, {n}", *compare_peer(device, X, y)
    model = GaussianClassifier(regularization=0.1)
    yield f"GaussianClassifier, {n}", *compare_classifier(model, device, X, y, *test)
    sizes = (5, 60) if quick else (41, 450)
    X, y = many_classes(*sizes)
    name = "SQFA(9), {} classes of {} features".format(*sizes)
    yield name, *compare_filters(SQFA(9, random_state=0), device, X, y)
    if not quick and device != "cpu":
        sizes = 50, 2048
        X, y = many_classes(*sizes)
        name = "SQFA(9), {} classes of {} features".format(*sizes)
        yield name, *compare_filters(SQFA(9, random_state=0), device, X, y)


def many_classes(n_classes, n_features):
    """Classes whose covariances have decreasing spectra along different axes."""
    rng = np.random.default_rng(0)
    n_samples = 2 * n_features
    deviations = 1 / np.sqrt(1 + np.arange(n_features))
    X = np.empty((n_classes * n_samples, n_features), np.float32)
    y = np.repeat(np.arange(n_classes), n_samples)
    common = rng.normal(size=(n_features, n_features)) / np.sqrt(n_features)
    for k in range(n_classes):
        own = rng.normal(size=(n_features, n_features)) / np.sqrt(n_features)
        noise = rng.normal(size=(n_samples, n_features)) * deviations
        means = 0.3 * rng.normal(size=n_features) * deviations
        X[y == k] = (noise + means) @ (common + 0.5 * own)
    return X, y


def compare_statistics(device, X, y):
    there = on_device(X, device)

    def by_device():
        with config_context(array_api_dispatch=True):
            statistics = ClassStatistics.from_data(there, y)
        return finished(statistics.covariances, device)

    jobs = {"numpy": lambda: ClassStatistics.from_data(X, y), device: by_device}
    seconds, results = interleaved(jobs, REPEATS)
    traces = [
        float(covariances.trace())
        for covariances in (
            results["numpy"].covariances.mean(axis=0),
            results[device].mean(axis=0),
        )
    ]
    return *seconds.values(), *traces


def compare_filters(model, device, X, y):
    """Seconds of fit, and objectives."""
    there = on_device(X, device)

    def by_device():
        with config_context(array_api_dispatch=True):
            return finished(model.fit(there, y).objective_, device)

    jobs = {"numpy": lambda: model.fit(X, y).objective_, device: by_device}
    seconds, objectives = interleaved(jobs, REPEATS)
    return *seconds.values(), *objectives.values()


def compare_peer(device, X, y):
    """Seconds of sqfa in CPU memory and on the device, and of skgeom, from samples.

    Scores are the objective of skgeom at the filters of sqfa.
    """
    import sqfa
    import torch

    labels = torch.asarray(y)

    def fit(place):
        model = sqfa.model.SQFA(
            n_dim=X.shape[1],
            n_filters=9,
            feature_noise=REGULARIZATION,
            distance_fun=sqfa.distances.fisher_rao_lower_bound,
        ).to(place)
        samples, classes = on_device(X, place), labels.to(place)
        with contextlib.redirect_stdout(None):
            model.fit_pca(samples)
            model.fit(samples, classes, pairwise=False, show_progress=False)
        return finished(model.filters, place).detach().cpu().numpy()

    jobs = {"host": lambda: fit("cpu"), device: lambda: fit(device)}
    seconds, filters = interleaved(jobs, REPEATS)
    statistics = ClassStatistics.from_data(X, y)
    objective = MeanPairwiseDistance(
        statistics.means,
        statistics.covariances,
        REGULARIZATION,
        DISTANCES["fisher-rao"],
    )
    scores = [objective(found.astype(float).T)[0] for found in filters.values()]
    host, *there = seconds.values()
    return host, *(there or [host]), scores[0], scores[-1]


def compare_classifier(model, device, X, y, X_test, y_test):
    """Seconds of fit and predict, and accuracies."""
    there, test_there = on_device(X, device), on_device(X_test, device)

    def by_device():
        with config_context(array_api_dispatch=True):
            return model.fit(there, y).predict(test_there).cpu().numpy()

    jobs = {"numpy": lambda: model.fit(X, y).predict(X_test), device: by_device}
    seconds, labels = interleaved(jobs, REPEATS)
    return *seconds.values(), *(np.mean(found == y_test) for found in labels.values())


def on_device(array, device):
    import torch

    return torch.asarray(array, device=device)


def finished(result, device):
    """The result, after the device has completed all operations."""
    import torch

    if device != "cpu":
        torch.cuda.synchronize()
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--quick", action="store_true")
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name, host, there, *scores in rows(**vars(parser.parse_args())):
        text = " ".join(f"{score:.5g}" for score in scores)
        line = f"{name}: {host:.3f} s, {there:.3f} s, {host / there:.2f}; {text}"
        print(line, flush=True)
