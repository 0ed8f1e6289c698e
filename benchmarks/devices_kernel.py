"""Rows of bench_devices.py: kernel discriminants, and Hessians of networks.

To run these rows only, with MNIST in the folder that SKGEOM_DATA names::

    python benchmarks/devices_kernel.py --device cpu|cuda [--quick]
"""

import argparse

import numpy as np
from common import interleaved, load
from sklearn import config_context
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score

from skgeom import KernelDiscriminantAnalysis, input_hessian

REPEATS = 3


def rows(device, quick=False):
    """Yield (name, numpy seconds, device seconds, numpy score, device score).

    Samples are copied to the device before the measurement.
    """
    yield from exact(device, 1500 if quick else 10_000)
    yield from landmarks(device, quick)
    yield from hessians(device, quick)


def exact(device, n_samples):
    """Exact solutions with a given penalty, and with the automatic one."""
    X, y = make_classification(
        n_samples + 2000, 50, n_informative=20, n_classes=10, random_state=0
    )
    data = X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:]
    for regularization in (1e-4, "auto"):
        model = KernelDiscriminantAnalysis(
            solver="cholesky", regularization=regularization
        )
        name = f"KDA, {n_samples:,} exact samples, regularization={regularization}"
        yield name, *compare(model, device, *data)


def landmarks(device, quick):
    """MNIST with 2,000 landmarks."""
    X, y, *test = load("mnist.npz")
    if quick:
        X, y, test = X[:3000], y[:3000], [part[:1000] for part in test]
    model = KernelDiscriminantAnalysis(
        solver="nystroem", n_landmarks=200 if quick else 2000, random_state=0
    )
    name = f"KDA, MNIST, {len(y):,} samples, landmarks"
    yield name, *compare(model, device, X, y, *test)


def compare(model, device, X, y, X_test, y_test):
    """Seconds of fit and predict by numpy and on the device, and accuracies."""
    there, test_there = on_device(X, device), on_device(X_test, device)

    def by_numpy():
        return model.fit(X, y).predict(X_test)

    def by_device():
        with config_context(array_api_dispatch=True):
            return model.fit(there, y).predict(test_there).cpu().numpy()

    seconds, predicted = interleaved({"numpy": by_numpy, device: by_device}, REPEATS)
    scores = [accuracy_score(y_test, labels) for labels in predicted.values()]
    return *seconds.values(), *scores


def hessians(device, quick):
    """A network of torch, by its own derivatives and by differences of its outputs.

    The scores are relative errors.
    """
    import torch

    n_samples, n_features = (300, 20) if quick else (2000, 50)
    X, y = make_classification(
        n_samples, n_features, n_informative=10, n_classes=5, random_state=0
    )
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(n_features, 64), torch.nn.Tanh(), torch.nn.Linear(64, 5)
    )
    module.double().to(device)
    there = on_device(X, device)

    def by_differences():
        return input_hessian(module, X, y, derivatives="differences")

    def by_torch():
        with config_context(array_api_dispatch=True):
            return input_hessian(module, there, y).cpu().numpy()

    seconds, results = interleaved(
        {"differences": by_differences, device: by_torch}, REPEATS
    )
    exact = results[device]
    errors = [np.abs(H - exact).max() / np.abs(exact).max() for H in results.values()]
    name = f"Hessian of a network, {n_samples:,} x {n_features}: differences, torch"
    yield name, *seconds.values(), *errors


def on_device(array, device):
    import torch

    return torch.asarray(array, device=device)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--quick", action="store_true")
    for name, host, there, *scores in rows(**vars(parser.parse_args())):
        text = " ".join(f"{score:.4g}" for score in scores)
        print(f"{name}: {host:.2f} s, {there:.2f} s, {host / there:.2f}; {text}")
