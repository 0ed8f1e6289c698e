"""Tang et al.: the synthetic SPD matrices SynI and SynII.

In the paper, the validation set of each of 30 runs selects prototypes, epochs and
sigma2. Here, the validation sets of the first two runs select prototypes and sigma2
once for each method and data set. There are 50 epochs.
"""

from functools import cache

import numpy as np
from pyriemann.classification import MDM
from scipy.stats import wilcoxon
from sklearn.model_selection import ParameterGrid

from benchmarks.papers._annealing import (
    AlgorithmOne,
    AnnealedPLRSQ,
    AnnealedRSLVQ,
    annealed,
)
from benchmarks.papers._annealing import epochs as epochs_of
from benchmarks.papers._data import synthetic
from benchmarks.papers._runner import Row, reproduces
from skgeom import GMLVQ, PLRSQ

PAPER = "Tang et al. 2021"
DATA = "SynI", "SynII"
EPOCHS = 50
# Tables 3 and 4, for SynI and SynII.
PUBLISHED = {
    "MDRM": (0.9737, 0.9074),
    "PLRSQ-Const": (0.9765, 0.9051),
    "PLRSQ-AN": (0.9770, 0.9211),
    "RSLVQ": (0.9407, 0.7752),
    "GMLVQ": (0.9361, 0.8191),
}
# Different versions of MDRM, and methods that are not in the paper.
TRAINING_ONLY, LOG_MEANS = "MDRM, training set only", "MDRM, log-Euclidean means"
# The predicted classes do not depend on the temperature.
UNIFORM = {"priors": "uniform", "temperature": 1.0}
OURS = "PLRSQ, L-BFGS", "PLRSQ, L-BFGS, log-Euclidean"
# Table B.7: means of what the validation sets chose.
CHOSEN = {
    "PLRSQ-Const": {"n_prototypes": (2.57, 2.57), "sigma2": (8.00, 0.53)},
    "PLRSQ-AN": {"n_prototypes": (2.43, 1.57), "sigma2": (8.82, 0.45)},
    "RSLVQ": {"n_prototypes": (2.87, 1.87), "sigma2": (1.98, 1.39)},
    "GMLVQ": {"n_prototypes": (2.40, 2.70), "max_iter": (57.67, 31.67)},
}
# Table 2, percent, by what divides n and the prototypes a class in the rate.
RATES = {
    "SynI": {50: 97.50, 100: 97.43, 200: 97.41},
    "SynII": {50: 89.78, 100: 89.49, 200: 88.78},
}


def grid(method, data):
    """The settings from which the validation sets select, around table B.7."""
    if method == "GMLVQ":
        return {"n_prototypes": [1, 2, 3], "max_iter": [20, 30, 100]}
    if method == "RSLVQ":
        return {"n_prototypes": [1, 2, 3], "sigma2": [1.0, 2.0]}
    if method in ("PLRSQ-Const", "PLRSQ-AN"):
        sigma2 = {"SynI": [2.0, 8.0], "SynII": [0.45, 1.5]}[data]
        return {"n_prototypes": [1, 2], "sigma2": sigma2}
    return {"sigma2": [2.0, 8.0, 32.0], "representability": [0.03, 0.3, 3.0]}


def estimator(method, seed, **settings):
    settings["random_state"] = seed
    if method == "GMLVQ":
        return GMLVQ(tol=1e-4, **settings)
    settings |= UNIFORM
    if method == "PLRSQ, L-BFGS":
        return PLRSQ(metric="riemann", tol=1e-4, **settings)
    if method == "PLRSQ, L-BFGS, log-Euclidean":
        return PLRSQ(metric="logeuclid", tol=1e-4, **settings)
    settings |= {"solver": "sgd", "max_iter": EPOCHS}
    if method == "RSLVQ":
        return AnnealedRSLVQ(**settings)
    estimator = AnnealedPLRSQ if method == "PLRSQ-AN" else PLRSQ
    return estimator(metric="riemann", **settings)


@cache
def choose(method, data, n_runs=2):
    """The settings with the best mean accuracy on validation sets."""

    def validated(settings):
        scores = []
        for seed in range(n_runs):
            train, validation, _ = synthetic(data, seed)
            model = estimator(method, seed, **settings).fit(*train)
            scores.append(model.score(*validation))
        return np.mean(scores)

    return max(ParameterGrid(grid(method, data)), key=validated)


@cache
def minimum_distance(data, n_runs, with_validation, mean="riemann"):
    """Test accuracies of MDRM, which chooses nothing: both other sets may train it."""
    model, scores = MDM(metric={"mean": mean, "distance": "riemann"}), []
    for seed in range(n_runs):
        train, validation, test = synthetic(data, seed)
        if with_validation:
            train = map(np.concatenate, zip(train, validation, strict=True))
        scores.append(model.fit(*train).score(*test))
    return scores


def accuracy(method, data, n_runs):
    """Test accuracy, and p of a signed-rank test of its being above MDRM."""
    if method.startswith("MDRM"):
        mean = "logeuclid" if method == LOG_MEANS else "riemann"
        scores = minimum_distance(data, n_runs, method != TRAINING_ONLY, mean)
        return {"accuracy": scores}
    scores = []
    for seed in range(n_runs):
        train, _, test = synthetic(data, seed)
        model = estimator(method, seed, **choose(method, data))
        scores.append(model.fit(*train).score(*test))
    if not method.startswith("PLRSQ"):
        return {"accuracy": scores}
    reference = minimum_distance(data, n_runs, True)
    test = wilcoxon(scores, reference, alternative="greater")
    return {"accuracy": scores, "p above MDRM": test.pvalue}


def slow(method):
    return method in ("PLRSQ-Const", "PLRSQ-AN", "RSLVQ", "PLRSQ, L-BFGS")


@reproduces(f"{PAPER}, tables 3 and 4", "Accuracy on SynI and SynII", version=3)
def plrsq_table_3(quick):
    for column, data in enumerate(DATA):
        for method in [*PUBLISHED, TRAINING_ONLY, LOG_MEANS, *OURS]:
            if quick and slow(method):
                continue
            n_runs = 2 if quick else 30
            printed = PUBLISHED.get(method)
            yield Row(
                {"data": data, "method": method},
                accuracy,
                {"method": method, "data": data, "n_runs": n_runs},
                {"accuracy": printed and printed[column]},
            )


@reproduces(f"{PAPER}, table B.7", "Selected parameters on SynI and SynII", version=2)
def plrsq_table_b7(quick):
    for column, data in enumerate(DATA):
        for method in [*CHOSEN, *OURS]:
            if not (quick and slow(method)):
                yield Row(
                    {"data": data, "method": method},
                    choose,
                    {"method": method, "data": data},
                    {n: both[column] for n, both in CHOSEN.get(method, {}).items()},
                )


def one_prototype(data, epochs, annealing, seed, **options):
    """Accuracy in percent on the test set of a run, with one prototype a class."""
    train, _, test = synthetic(data, seed)
    options |= {**UNIFORM, "random_state": seed}
    options |= {"metric": "riemann", "solver": "sgd", "max_iter": epochs}
    model = (AnnealedPLRSQ if annealing else PLRSQ)(**options)
    return {"accuracy": 100 * model.fit(*train).score(*test)}


@reproduces(f"{PAPER}, table 2", "Learning rates of SynI and SynII, percent", version=2)
def plrsq_table_2(quick):
    for data, printed in RATES.items():
        for divisor in [100] if quick else printed:
            arguments = {
                "data": data,
                "epochs": 10 if quick else 100,
                "annealing": False,
                "sigma2": 1.5,
                "learning_rate": 10 / divisor,  # matrices of 10 x 10
            }
            labels = {"data": data, "rate": f"n / {divisor}"}
            published = {"accuracy": None if quick else printed[divisor]}
            n_runs = 1 if quick else 30
            yield Row(labels, one_prototype, arguments, published, n_runs)


@reproduces(
    f"{PAPER}, figure 2", "Accuracy by sigma2, SynI and SynII, percent", version=2
)
def plrsq_figure_2(quick):
    for data in ("SynI", "SynII"):
        for sigma2 in [0.5] if quick else [0.45, 0.6, 1.5, 8, 50]:
            for name, annealing in {"Const": False, "AN": True}.items():
                arguments = {
                    "data": data,
                    "epochs": 5 if quick else EPOCHS,
                    "annealing": annealing,
                    "sigma2": sigma2,
                }
                labels = {"data": data, "sigma2": sigma2, "PLRSQ": name}
                yield Row(labels, one_prototype, arguments, seeds=1 if quick else 30)
        labels = {"data": data, "sigma2": "none", "PLRSQ": "MDRM"}
        arguments = {"data": data, "n_runs": 2 if quick else 30}
        yield Row(labels, percent_of_mdrm, arguments)


def percent_of_mdrm(data, n_runs):
    return {"accuracy": 100 * np.array(minimum_distance(data, n_runs, True))}


MARKS = 1, 2, 5, 10, 20, 30, 50, 70, 100


def convergence(data, epochs, sigma2, schedule, exact=False):
    """The cost that the samples of an epoch meet, and the errors after it.

    ``exact`` is algorithm 1 without the bounds of PLRSQ.
    """
    scales = {
        "Const": [sigma2] * epochs,
        "AN": annealed(sigma2, epochs),
        "slower": annealed(sigma2, epochs, power=1),
    }[schedule]
    train, _, test = synthetic(data, 0)
    if exact:
        model = AlgorithmOne(sigma2=scales, max_iter=epochs, random_state=0)
        costs = model.epochs(*train)
    else:
        model = PLRSQ(metric="riemann", solver="sgd", max_iter=epochs, **UNIFORM)
        model.set_params(random_state=np.random.RandomState(0))
        costs = epochs_of(model, *train, scales)
    cost, curves = [], {}
    for epoch, value in enumerate(costs, 1):
        cost.append(value)
        if epoch in MARKS:
            curves[f"training error of epoch {epoch}"] = 1 - model.score(*train)
            curves[f"test error of epoch {epoch}"] = 1 - model.score(*test)
    marks = [mark for mark in MARKS if mark <= epochs]
    costs = {f"cost of epoch {mark}": cost[mark - 1] for mark in marks}
    return costs | {"largest rise": max(0, np.diff(cost).max())} | curves


def with_exact(labels, arguments):
    """Rows of PLRSQ, and of algorithm 1 without bounds."""
    yield Row(labels, convergence, arguments)
    labels = labels | {"PLRSQ": f"{labels['PLRSQ']}, algorithm 1"}
    yield Row(labels, convergence, arguments | {"exact": True})


@reproduces(f"{PAPER}, figure 3", "Convergence on SynI and SynII", version=2)
def plrsq_figure_3(quick):
    sigma2 = {"SynI": (8.0, 8.0), "SynII": (0.5, 0.45)}
    for data, both in sigma2.items():
        for schedule, value in zip(("Const", "AN"), both, strict=True):
            arguments = {"data": data, "sigma2": value, "schedule": schedule}
            arguments["epochs"] = 10 if quick else 100
            yield from with_exact({"data": data, "PLRSQ": schedule}, arguments)


@reproduces(
    f"{PAPER}, figure 4", "Convergence on SynII by schedule of sigma^2", version=2
)
def plrsq_figure_4(quick):
    for schedule in ("AN", "slower"):
        arguments = {"data": "SynII", "sigma2": 0.45, "schedule": schedule}
        arguments["epochs"] = 10 if quick else 100
        yield from with_exact({"PLRSQ": schedule}, arguments)
