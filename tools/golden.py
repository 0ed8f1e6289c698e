"""Update ``tests/golden.json``, the reference results for all platforms.

    python tools/golden.py

Update the file only if results are intended to change, and check the difference.
``tests/test_golden.py`` compares results with this file, and explains the tolerances.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import skgeom
from skgeom import baselines, geometry
from skgeom.datasets import make_gaussian_classes, make_spd_classes, sqfa_toy_statistics

PATH = Path(__file__).parents[1] / "tests" / "golden.json"
TOYS = {"covariances": 2, "means": 2, "distances": 2, "lda": 1}


def angles(components):
    """Smallest angle between each axis and the filters, in degrees.

    They do not depend on the order and the signs of the filters.
    """
    components = components / np.linalg.norm(components, axis=1, keepdims=True)
    return np.rad2deg(np.arccos(np.minimum(np.abs(components), 1))).min(axis=0)


def of_toys():
    for name, n_components in TOYS.items():
        statistics = sqfa_toy_statistics(name)
        for cls in (skgeom.SQFA, skgeom.SecondMomentSQFA):
            sqfa = cls(n_components, regularization=0.01, random_state=0)
            key = f"{name}, {cls.__name__}"
            yield f"objective, {key}", sqfa.fit_statistics(statistics).objective_
            if cls is skgeom.SQFA:
                yield f"angles, {key}", angles(sqfa.components_)
        error = skgeom.bayes_error(statistics, regularization=0.01, tol=1e-3)
        yield f"probability, Bayes error of {name}", error.value


def of_samples(name, X, y):
    """Objectives of fits to every second sample, errors on the remaining samples."""
    X_train, y_train, X_test, y_test = X[::2], y[::2], X[1::2], y[1::2]
    n_components = min(4, X.shape[1] - 1)
    filters = {
        "SQFA": skgeom.SQFA(n_components, random_state=0),
        "SQFA, Hellinger": skgeom.SQFA(
            n_components, distance="hellinger", random_state=0
        ),
        "SecondMomentSQFA": skgeom.SecondMomentSQFA(n_components, random_state=0),
        "AMAGauss": skgeom.AMAGauss(n_components, random_state=0),
    }
    others = {
        "CovarianceHessianProjection": skgeom.CovarianceHessianProjection(
            LogisticRegression(C=0.01, tol=1e-8, max_iter=5000)
        ),
        "LocalFisherDiscriminantAnalysis": baselines.LocalFisherDiscriminantAnalysis(
            n_components
        ),
        "LOL": baselines.LOL(n_components),
    }
    for key, model in (filters | others).items():
        qda = make_pipeline(model, skgeom.GaussianClassifier())
        wrong = qda.fit(X_train, y_train).predict(X_test) != y_test
        yield f"errors, {name}, {key} and QDA", wrong.sum()
        if key in filters:
            kind = "posterior" if key == "AMAGauss" else "objective"
            yield f"{kind}, {name}, {key}", qda[0].objective_
    classifiers = {
        "GaussianClassifier": skgeom.GaussianClassifier(),
        "KernelDiscriminantAnalysis": skgeom.KernelDiscriminantAnalysis(),
        "RSLVQ": skgeom.RSLVQ(random_state=0),
        "GMLVQ": skgeom.GMLVQ(random_state=0),
    }
    for key, model in classifiers.items():
        wrong = model.fit(X_train, y_train).predict(X_test) != y_test
        yield f"errors, {name}, {key}", wrong.sum()


def of_matrices():
    X, y = make_spd_classes(3, 60, 4, separation=0.5, random_state=0)
    models = {
        "PLRSQ": skgeom.PLRSQ(metric="riemann", random_state=0),
        "PLRSQ, tangent": skgeom.PLRSQ(metric="tangent", random_state=0),
        "GLRSQ": skgeom.GLRSQ(random_state=0),
        "mdrm": baselines.mdrm(),
        "tslda": baselines.tslda(),
    }
    for key, model in models.items():
        wrong = model.fit(X[::2], y[::2]).predict(X[1::2]) != y[1::2]
        yield f"errors, matrices, {key}", wrong.sum()
    a, b = X[:3], X[3:6]
    yield "closed, affine-invariant", geometry.distance_affine_invariant(a, b)
    yield "closed, mean", geometry.mean_affine_invariant(X).ravel()
    means = np.arange(12.0).reshape(3, 4) / 10
    arguments = means, a, means[::-1], b
    yield "closed, Calvo-Oller", geometry.distance_calvo_oller(*arguments)
    yield "closed, Fisher-Rao", geometry.distance_fisher_rao(*arguments)


def results():
    """All results: lists of numbers, by name."""
    digits, digit_labels = load_digits(return_X_y=True)
    iris = load_iris(return_X_y=True)
    X, y = make_gaussian_classes(sqfa_toy_statistics("distances"), random_state=0)
    found = dict(of_toys())
    found.update(of_samples("iris", *iris))
    # Not 0, because some pixels are constant.
    found.update(of_samples("digits", digits[:, digits.std(axis=0) > 1], digit_labels))
    found.update(of_samples("toy", X, y))
    found.update(of_matrices())
    return {key: np.atleast_1d(value).tolist() for key, value in found.items()}


if __name__ == "__main__":
    text = json.dumps(results(), indent=1)
    PATH.write_text(text + "\n", encoding="utf-8")
