"""Herrera-Esposito and Burge: distances between two Gaussians against their parameters.

The curves of the paper have no printed numbers, but follow from closed forms, with
which the general functions of the package are compared.
"""

import numpy as np
from scipy.stats import norm

from benchmarks.papers._runner import Row, reproduces
from benchmarks.papers.sqfa_digits import PAPER
from skgeom import SQFA, ClassStatistics, bayes_error
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


def discriminability(log10_variances):
    """Figures 7 and 8: N(0, I) and N(0, D), by the package and by simulation.

    As in the paper, 100,000 samples of each class are simulated.
    """
    variances = 10.0 ** np.array(log10_variances)
    eye, means = np.eye(len(variances)), np.zeros((2, len(variances)))
    stats = ClassStatistics([0, 1], [2, 2], means, np.stack([eye, np.diag(variances)]))
    error = bayes_error(stats, priors="uniform", tol=1e-3).value
    rng, hits = np.random.default_rng(0), []
    for label, deviations in enumerate([np.ones_like(variances), np.sqrt(variances)]):
        x = rng.normal(size=(100_000, len(variances))) * deviations
        wider = np.sum(x**2 * (1 - 1 / variances) - np.log(variances), axis=1) > 0
        hits.append(np.mean(wider == label))
    return {
        "accuracy": 1 - error,
        "log-odds": np.log(1 / error - 1),
        "Fisher-Rao distance": distance_fisher_rao(
            means[0], eye, means[1], np.diag(variances)
        ),
        "accuracy of 200,000 samples": np.mean(hits),
    }


def accuracy_in_closed_form(log10_variance):
    """Of the Bayes classifier of N(0, 1) and N(0, variance)."""
    variance = 10.0**log10_variance
    limit = np.sqrt(np.log(variance) / (1 - 1 / variance))
    inside = [2 * norm.cdf(limit / scale) - 1 for scale in (1, np.sqrt(variance))]
    return (1 + abs(inside[0] - inside[1])) / 2


@reproduces(f"{PAPER}, figure 7", "Bayes error of two Gaussians in one dimension")
def sqfa_figure_7(quick):
    for log10 in (-1, 1) if quick else (-2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2):
        published = {
            "accuracy": accuracy_in_closed_form(log10),
            "Fisher-Rao distance": abs(log10) * np.log(10) / np.sqrt(2),  # eq. 9
        }
        arguments = {"log10_variances": [log10]}
        yield Row({"log10_variance": log10}, discriminability, arguments, published)


@reproduces(f"{PAPER}, figure 8", "Bayes error of two Gaussians in two dimensions")
def sqfa_figure_8(quick):
    for second in (0, 0.56, 1.12):  # the slices of the figure
        for first in (-1, 1) if quick else (-2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2):
            labels = {"log10_first": first, "log10_second": second}
            distance = np.hypot(first, second) * np.log(10) / np.sqrt(2)  # eq. 9
            arguments = {"log10_variances": [first, second]}
            published = {"Fisher-Rao distance": distance}
            yield Row(labels, discriminability, arguments, published)


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
        yield Row(labels, bound, labels, {"error from closed form": 0})


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
        published = {"largest error from closed forms": 0}
        yield Row({"mahalanobis": mean}, three_distances, arguments, published)


@reproduces(
    f"{PAPER}, figure 12", "Three distances by the variances of both dimensions"
)
def sqfa_figure_12(quick):
    for second in (0, 0.56, 1.12):  # the slices of figure 8
        for first in (-1, 1) if quick else (-2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2):
            labels = {"log10_first": first, "log10_second": second}
            published = {"largest error from closed forms": 0}
            yield Row(labels, three_distances, {"mean": 0} | labels, published)
