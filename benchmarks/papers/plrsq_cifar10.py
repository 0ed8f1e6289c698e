"""Tang et al.: learning with few samples, 9 x 9 descriptors of CIFAR-10 images.

The paper shows curves without numbers, for PLRSQ and for a deep network (VGG). Here a
small network replaces VGG, and 7,000 + 3,000 images replace 50,000 + 10,000 images. The
images were compressed as JPEG, so accuracies are not comparable with the paper.
"""

import time
from functools import cache

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.papers._data import arrays
from benchmarks.papers._runner import Row, reproduces
from skgeom import PLRSQ, RegionCovariance
from skgeom.baselines import mdrm, tslda


@cache
def images():
    """Pixels, descriptors, labels, and the number of training images.

    A few images are gray, so their channels are linearly dependent: a small variance
    is added.
    """
    data = arrays("cifar10_subset.npz")
    descriptors = RegionCovariance("color", regularization=1e-3).transform(data["X"])
    pixels = data["X"].reshape(len(data["X"]), -1).astype(np.float32) / 255
    return pixels, descriptors, data["y"].astype(int), int(data["n_train"])


def estimator(method, seed, epochs):
    if method == "PLRSQ":
        return PLRSQ(
            3,
            metric="riemann",
            sigma2=0.5,
            priors="uniform",
            temperature=1.0,
            solver="sgd",
            max_iter=epochs,
            random_state=seed,
        )
    if method == "PLRSQ, log-Euclidean, by cross-validation":
        folds = StratifiedKFold(3, shuffle=True, random_state=seed)
        model = PLRSQ(
            metric="logeuclid",
            representability=0.03,
            priors="uniform",
            temperature=1.0,
            tol=1e-4,
            random_state=seed,
        )
        return GridSearchCV(model, {"n_prototypes": [1, 3, 5]}, cv=folds)
    if method == "network of pixels":
        network = MLPClassifier((100,), alpha=1.0, random_state=seed)
        return make_pipeline(StandardScaler(), network)
    return {"MDRM": mdrm, "TSLDA": tslda}[method]()


def accuracy(method, n_samples, n_repeats, epochs=None):
    """Accuracy in percent on 3,000 test images, for random training images."""
    pixels, descriptors, y, n_train = images()
    X = pixels if method == "network of pixels" else descriptors
    scores = []
    for seed in range(n_repeats):
        rng = np.random.default_rng(seed)
        own = [np.flatnonzero(y[:n_train] == label) for label in range(10)]
        index = np.concatenate([rng.choice(i, n_samples // 10, False) for i in own])
        model = estimator(method, seed, epochs).fit(X[index], y[index])
        scores.append(100 * model.score(X[n_train:], y[n_train:]))
    return {"accuracy": scores}


def draw(figure, lines):
    axes = figure.subplots()
    for method in dict.fromkeys(line["method"] for line in lines):
        own = [line for line in lines if line["method"] == method]
        x = [line["training images"] for line in own]
        axes.semilogx(x, [float(line["reproduced"]) for line in own], label=method)
    axes.set(xlabel="training images", ylabel="accuracy, percent")
    axes.legend()


@reproduces(
    "Tang et al. 2021, figure 6",
    "Learning with few images of CIFAR-10",
    version=3,
    plot=draw,
)
def plrsq_figure_6(quick):
    methods = "MDRM", "TSLDA", "network of pixels", "PLRSQ"
    methods += ("PLRSQ, log-Euclidean, by cross-validation",)
    for n_samples in [200] if quick else [200, 500, 1000, 5000]:
        for method in methods:
            few = quick or (method == "PLRSQ" and n_samples == 5000)
            arguments = {
                "method": method,
                "n_samples": n_samples,
                "n_repeats": 1 if few else 5,
            }
            if method == "PLRSQ":
                arguments["epochs"] = 20 if few else 100
            labels = {"training images": n_samples, "method": method}
            yield Row(labels, accuracy, arguments)


def epoch_seconds(n_samples, n_prototypes):
    """Processor time of an epoch of PLRSQ, and of a network of pixels."""
    pixels, descriptors, y, n_train = images()
    index = np.random.default_rng(0).choice(n_train, n_samples, replace=False)
    X, labels = descriptors[index], y[index]
    model = PLRSQ(
        n_prototypes,
        metric="riemann",
        sigma2=0.5,
        priors="uniform",
        temperature=1.0,
        solver="sgd",
        max_iter=1,
        random_state=0,
    )
    network = MLPClassifier((100,), max_iter=1, random_state=0)
    few = np.concatenate([np.flatnonzero(labels == k)[:10] for k in range(10)])
    model.fit(X[few], labels[few])  # with its first prototypes
    seconds = []
    for fit in (
        lambda: model.partial_fit(X, labels),
        lambda: network.fit(pixels[index], labels),
    ):
        start = time.process_time()
        fit()
        seconds.append(time.process_time() - start)
    return {
        "seconds of an epoch": seconds[0],
        "milliseconds of an image": 1000 * seconds[0] / n_samples,
        "seconds of an epoch, network of pixels": seconds[1],
    }


@reproduces(
    "Tang et al. 2021, figure 7", "Processor time of an epoch on CIFAR-10", version=2
)
def plrsq_figure_7(quick):
    for n_samples in [200] if quick else [200, 500, 1000, 5000]:
        labels = {"training images": n_samples}
        arguments = {"n_samples": n_samples, "n_prototypes": 5}
        yield Row(labels, epoch_seconds, arguments)
