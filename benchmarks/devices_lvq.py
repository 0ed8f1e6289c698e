"""Rows of bench_devices.py: prototypes of SPD matrices.

To run these rows only, with the matrices of BCI IV 2a and ETH-80 in the folder that
SKGEOM_DATA names::

    python benchmarks/devices_lvq.py --device cpu|cuda [--quick]
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
from bench_lvq import load_bci, load_eth
from common import interleaved
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from skgeom import GLRSQ, PLRSQ
from skgeom.datasets import make_spd_classes


def rows(device, quick=False):
    """Yield (name, numpy seconds, device seconds, numpy score, device score).

    Samples are copied to the device before the measurement.
    """
    folder, repeats = Path(os.environ["SKGEOM_DATA"]), 1 if quick else 5
    data = {
        "ETH-80": load_eth(folder, 8, 0),
        "BCI, subject 1": load_bci(folder, 1),
        "20,000 of 16 x 16": many_matrices(1_000 if quick else 20_000),
    }
    models = [
        ("ETH-80", PLRSQ(6, random_state=0)),
        ("ETH-80", PLRSQ(6, metric="logdet", random_state=0)),
        ("ETH-80", GLRSQ(6, metric="riemann", random_state=0)),
        ("BCI, subject 1", PLRSQ()),
        ("BCI, subject 1", PLRSQ(metric="logdet")),
        (
            "BCI, subject 1",
            PLRSQ(solver="sgd", max_iter=20, random_state=0),
        ),
        ("20,000 of 16 x 16", PLRSQ()),
    ]
    for name, model in models:
        label = f"{name}, {' '.join(repr(model).split())}"
        fits, predictions = compare(model, device, *data[name], repeats)
        yield f"{label}, fit", *fits
        yield f"{label}, predict", *predictions


def many_matrices(n_samples):
    X, y = make_spd_classes(5, n_samples // 4, 16, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:n_samples], order[n_samples:]
    return X[train], y[train], X[test], y[test]


def compare(model, device, X, y, X_test, y_test, repeats):
    """Seconds and accuracies of fit, and of predict, by numpy and on the device."""
    import torch
    from sklearn.base import clone

    there, test_there = (torch.asarray(part, device=device) for part in (X, X_test))
    models = {"numpy": clone(model), device: clone(model)}

    def by_device(method, *data):
        with config_context(array_api_dispatch=True):
            result = getattr(models[device], method)(*data)
            # Wait for results that the device computes asynchronously.
            return result.cpu().numpy() if method == "predict" else result

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        jobs = {
            "numpy": lambda: models["numpy"].fit(X, y),
            device: lambda: by_device("fit", there, y),
        }
        fits, _ = interleaved(jobs, repeats)
    jobs = {
        "numpy": lambda: models["numpy"].predict(X_test),
        device: lambda: by_device("predict", test_there),
    }
    predictions, labels = interleaved(jobs, repeats)
    scores = [np.mean(found == y_test) for found in labels.values()]
    return [(*seconds.values(), *scores) for seconds in (fits, predictions)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--quick", action="store_true")
    for name, host, there, *scores in rows(**vars(parser.parse_args())):
        text = " ".join(f"{score:.4f}" for score in scores)
        print(f"{name}: {host:.3f} s, {there:.3f} s, {host / there:.2f}; {text}")
