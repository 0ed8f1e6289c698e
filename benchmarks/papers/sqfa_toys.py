"""Herrera-Esposito and Burge: subspaces that the filters of the toy problems select.

The figures show filters as arrows, and the text states which pair of dimensions a
method selects. The measure is the fraction of the squared weights of the two unit-norm
filters in each pair of dimensions.
"""

import numpy as np
from scipy.linalg import eigh

from benchmarks.papers._runner import Row, reproduces
from benchmarks.papers.sqfa_digits import PAPER
from skgeom import SQFA, SecondMomentSQFA
from skgeom.datasets import sqfa_toy_statistics

PREPRINT = "Herrera-Esposito and Burge, preprint"


# sigma2 of the paper.
TOYS = {"covariances": 0.002, "means": 0.001, "distances": 0.001}


def population_filters(method, stats):
    """PCA and LDA of the statistics themselves, classes of one weight."""
    within = stats.covariances.mean(axis=0)
    centred = stats.means - stats.means.mean(axis=0)
    between = centred.T @ centred / len(centred)
    if method == "PCA":
        return np.linalg.eigh(within + between)[1][:, -2:].T
    return eigh(between, within)[1][:, -2:].T


def parts(toy, method, distance, n_starts):
    """Part of the filters in each pair of dimensions, and the objective."""
    stats, rows, objectives = sqfa_toy_statistics(toy), [], []
    for seed in range(n_starts):
        if method in ("PCA", "LDA"):
            components = population_filters(method, stats)
        else:
            estimator = {"SQFA": SQFA, "smSQFA": SecondMomentSQFA}[method](
                2,
                distance=distance,
                regularization=TOYS[toy],
                init="random",
                n_init=1,
                random_state=seed,
            ).fit_statistics(stats)
            components = estimator.components_
            objectives.append(estimator.objective_)
        unit = components / np.linalg.norm(components, axis=1, keepdims=True)
        rows.append((unit**2).reshape(2, -1, 2).sum(axis=2).mean(axis=0))
    names = [f"dimensions {2 * i + 1}-{2 * i + 2}" for i in range(len(rows[0]))]
    result = dict(zip(names, np.transpose(rows), strict=True))
    return result | ({"objective": objectives} if objectives else {})


def rows_of(toy, methods, quick):
    """A row for each method, (label, estimator, distance, selected pair or None)."""
    for label, method, distance, selected in methods:
        arguments = {
            "toy": toy,
            "method": method,
            "distance": distance,
            "n_starts": 1 if distance is None else 3 if quick else 20,
        }
        published = {f"dimensions {selected}": 1} if selected else {}
        yield Row({"method": label}, parts, arguments, published)


@reproduces(f"{PAPER}, figure 2", "Toy 1: dimensions of SQFA, LDA, PCA", median=True)
def sqfa_figure_2(quick):
    methods = [
        ("SQFA", "SQFA", "fisher-rao", "1-2"),
        ("LDA", "LDA", None, "3-4"),
        ("PCA", "PCA", None, "5-6"),
    ]
    yield from rows_of("covariances", methods, quick)


@reproduces(f"{PAPER}, figure 3", "Toy 2: dimensions of SQFA and smSQFA", median=True)
def sqfa_figure_3(quick):
    methods = [
        ("SQFA", "SQFA", "fisher-rao", "1-2"),
        ("smSQFA", "smSQFA", "affine-invariant", "3-4"),
    ]
    yield from rows_of("means", methods, quick)


@reproduces(f"{PREPRINT}, figure 7", "Toy 3: dimensions of five distances", median=True)
def sqfa_preprint_figure_7(quick):
    selected = {
        "affine-invariant": "1-2",
        "log-euclidean": "1-2",
        "wasserstein": "3-4",
        "euclidean": "3-4",
        "jeffreys": "3-4",
        "bhattacharyya": None,
        "hellinger": None,
    }
    methods = [(name, "smSQFA", name, pair) for name, pair in selected.items()]
    yield from rows_of("distances", methods, quick)
