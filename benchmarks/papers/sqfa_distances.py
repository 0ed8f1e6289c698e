"""Herrera-Esposito and Burge: how the distances between two Gaussians grow.

The curves of the paper have no printed numbers. They follow from closed forms, from
which the general functions of the package must not differ.
"""

import numpy as np

from benchmarks.papers._runner import Row, reproduces
from benchmarks.papers.sqfa_digits import PAPER
from skgeom import SQFA, ClassStatistics
from skgeom.geometry import (
    distance_calvo_oller,
    distance_fisher_rao,
)


def draw(figure, lines, label):
    """Each measure against a label."""
    axes = figure.subplots()
    for measure in dict.fromkeys(line["measure"] for line in lines):
        own = [line for line in lines if line["measure"] == measure]
        x = [line[label] for line in own]
        axes.plot(x, [float(line["reproduced"]) for line in own], label=measure)
    axes.set_xlabel(label)
    axes.legend()


def bound(mahalanobis):
    """Figure 9: N(0, I) and N(mu, I) in two dimensions."""
    means, eye = np.array([[0.0, 0.0], [mahalanobis, 0.0]]), np.eye(2)
    distance = distance_fisher_rao(means[0], eye, means[1], eye)
    exact = np.sqrt(2) * np.arccosh(1 + mahalanobis**2 / 4)  # eq. 11
    return {
        "Calvo-Oller bound": distance_calvo_oller(means[0], eye, means[1], eye),
        "Fisher-Rao distance": distance,
        "error from closed form": abs(distance - exact),
    }


@reproduces(
    f"{PAPER}, figure 9",
    "The Calvo-Oller bound for equal covariances",
    plot=lambda figure, lines: draw(figure, lines, "mahalanobis"),
)
def sqfa_figure_9(quick):
    for mahalanobis in (
        (0.5, 1, 2, 5, 10) if quick else (0.5, 1, 2, 3, 5, 7, 10, 15, 20)
    ):
        labels = {"mahalanobis": mahalanobis}
        yield Row(labels, bound, labels)


def three_distances(mean, log10_first, log10_second):
    """Between N(0, I) and N((mean, 0), D), as the estimator computes them."""
    variances = 10.0 ** np.array([log10_first, log10_second])
    covariances = np.stack([np.eye(2), np.diag(variances)])
    stats = ClassStatistics([0, 1], [2, 2], [[0, 0], [mean, 0]], covariances)
    values, common = {}, {"regularization": 0, "constraint": "orthonormal"}
    for distance in ("fisher-rao", "hellinger", "bhattacharyya"):
        model = SQFA(2, distance=distance, init=np.eye(2), max_iter=1, **common)
        values[distance] = model.fit_statistics(stats).objective_
    # Eq. 6, and Hellinger's distance from it; the Fisher-Rao distance of equal means.
    exponent = mean**2 / 8 if mean else np.sum(np.log((1 + variances) / 2)) / 2
    exponent -= np.sum(np.log(variances)) / 4
    exact = {
        "bhattacharyya": exponent,
        "hellinger": np.sqrt(1 - np.exp(-exponent)),
    }
    if mean == 0:
        exact["fisher-rao"] = np.sqrt(np.sum(np.log(variances) ** 2) / 2)
    errors = [abs(values[name] - exact[name]) for name in exact]
    return values | {"largest error from closed forms": max(errors)}


@reproduces(
    f"{PAPER}, figure 11",
    "Three distances by the distance of the means",
    plot=lambda figure, lines: draw(figure, lines, "mahalanobis"),
)
def sqfa_figure_11(quick):
    for mean in (1, 4) if quick else (0.5, 1, 2, 3, 4, 6, 8, 10):
        arguments = {"mean": mean, "log10_first": 0, "log10_second": 0}
        yield Row({"mahalanobis": mean}, three_distances, arguments)


@reproduces(
    f"{PAPER}, figure 12", "Three distances by the variances of both dimensions"
)
def sqfa_figure_12(quick):
    for second in (0, 0.56, 1.12):  # the slices of figure 8
        for first in (-1, 1) if quick else (-2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2):
            labels = {"log10_first": first, "log10_second": second}
            yield Row(labels, three_distances, {"mean": 0} | labels)
