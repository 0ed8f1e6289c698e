"""Time of the input Hessian of a network, compared with per-sample autograd::

    python benchmarks/bench_covariance_hessian.py

benchmarks/papers/hartoyo.py computes the tables of the paper.
"""

import time

import autograd.numpy as anp
import numpy as np
from autograd import hessian
from sklearn.neural_network import MLPClassifier

from skgeom import input_hessian


def speed(n_samples=512, n_features=30, repeats=7):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_samples, n_features)), np.arange(n_samples) % 2
    for activation in ("relu", "tanh"):
        network = MLPClassifier((32, 16, 8), activation=activation, random_state=0)
        network.partial_fit(X, y, classes=[0, 1])
        function = {"relu": lambda a: anp.maximum(a, 0), "tanh": anp.tanh}[activation]

        def loss(x, label, network=network, function=function):
            layers = list(zip(network.coefs_, network.intercepts_, strict=True))
            for coef, bias in layers[:-1]:
                x = function(anp.dot(x, coef) + bias)
            z = (anp.dot(x, layers[-1][0]) + layers[-1][1])[0]
            return anp.logaddexp(0, -z if label else z)

        start = time.perf_counter()
        reference = np.mean(
            [hessian(loss)(x, label) for x, label in zip(X, y, strict=True)], axis=0
        )
        by_autograd = time.perf_counter() - start
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            H = input_hessian(network, X, y)
            seconds.append(time.perf_counter() - start)
        gap = np.abs(H - reference).max() / np.abs(reference).max()
        ours = np.median(seconds)
        print(
            f"{activation}: {1e3 * ours:.1f} ms, autograd {by_autograd:.2f} s, "
            f"{by_autograd / ours:.0f} times; relative difference {gap:.1e}"
        )


if __name__ == "__main__":
    speed()
