"""Nonlinear filters: kernel principal components of landmarks, and SQFA.

    python -m benchmarks.bench_kernel_features [--sizes 2000/1000] [--repeats 3]

The data are all 60,000 images of MNIST, with nine filters. For each size (q landmarks
and p components; 0/784 are the pixels), the rows are SQFA with the Hellinger distance
and the automatic regularization, with the Fisher-Rao bound and the automatic
regularization, and with the Hellinger distance and a hundredth of the automatic
regularization. The table contains the accuracy of a Gaussian classifier of the filter
outputs on the test images, the median wall-clock and processor times of all fits
together (components, filters, classifier), and the peak memory of the process so far.
"""

import argparse
import resource
import statistics
import time
import warnings

import numpy as np

from benchmarks.suite import mnist
from skgeom import SQFA, GaussianClassifier, LandmarkKernelPCA

N_FILTERS = 9


def filters_by_name():
    common = {"distance": "hellinger", "random_state": 0}
    return {
        "Fisher-Rao": SQFA(N_FILTERS, random_state=0),
        "Hellinger": SQFA(N_FILTERS, **common),
        "Hellinger, /100": SQFA(N_FILTERS, **common),
    }


def kernel_components(n_landmarks, n_components, X, X_test):
    """Features of training and test images."""
    if not n_landmarks:
        return X, X_test
    features = LandmarkKernelPCA(n_components, n_landmarks=n_landmarks, random_state=0)
    return features.fit(X).transform(X), features.transform(X_test)


def timed(function, *arguments):
    start, cpu = time.perf_counter(), time.process_time()
    result = function(*arguments)
    return result, np.array([time.perf_counter() - start, time.process_time() - cpu])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = ["0/784", "500/250", "1000/500", "2000/1000", "4000/2000", "5000/2500"]
    parser.add_argument("--sizes", nargs="*", default=sizes)
    parser.add_argument("--filters", nargs="*", default=list(filters_by_name()))
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = mnist()
    X, X_test = (np.asarray(part / 255.0, np.float32) for part in (X, X_test))
    print(f"{'q/p':>10} {'filters':15} accuracy  noise      seconds      cpu     MiB")
    for size in options.sizes:
        sizes = [int(part) for part in size.split("/")]
        seconds = {name: [] for name in options.filters}
        scores = {}
        for _ in range(options.repeats):
            (Z, Z_test), of_features = timed(kernel_components, *sizes, X, X_test)
            for name in options.filters:
                filters = filters_by_name()[name]
                if name.endswith("/100"):
                    _, automatic = scores["Hellinger"]
                    filters.set_params(regularization=automatic / 100)
                _, of_filters = timed(filters.fit, Z, y)
                classifier, of_classifier = timed(
                    GaussianClassifier().fit, filters.transform(Z), y
                )
                score = classifier.score(filters.transform(Z_test), y_test)
                scores[name] = score, filters.regularization_
                seconds[name].append(of_features + of_filters + of_classifier)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        for name, (score, noise) in scores.items():
            wall, cpu = map(statistics.median, zip(*seconds[name], strict=True))
            print(
                f"{size:>10} {name:15} {score:.4f}    {noise:8.2g} {wall:9.1f} "
                f"{cpu:9.1f} {peak:7.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
