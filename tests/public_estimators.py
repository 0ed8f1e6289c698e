"""Every public estimator: how to make one, data for it, and what its fits must hold.

Tests of all estimators use this table; ``tools/many_fits.py`` does so as well.
"""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skgeom
from skgeom import baselines


class Case(NamedTuple):
    """An estimator, its kind of data, and how its outcomes are to be compared.

    A function makes the estimator where making it imports pyriemann.
    """

    estimator: BaseEstimator | Callable
    data: str = "vectors"
    rtol: float = 1e-3  # searches end where ``tol`` says
    holds: set = frozenset()

    def make(self):
        given = self.estimator
        return clone(given) if isinstance(given, BaseEstimator) else given()


# What has to hold.
SCALE = "a factor of X changes nothing"
SHIFT = "a constant added to X changes nothing"
ROTATION = "an orthogonal map of X changes nothing"
CONGRUENCE = "a congruence of all matrices changes nothing"
WEIGHTS = "weights stand for repeated samples"
NAMES = "other names of the classes, in another order, change nothing else"
ORDER = "the order of the samples does not matter"

LINEAR = {SCALE, ROTATION, NAMES, ORDER}
OF_MATRICES = {SCALE, ROTATION, NAMES, ORDER}

GIVEN = {"regularization": 0.5, "covariance_estimator": None, "random_state": 0}
GIVEN_HOLDS = {ROTATION, NAMES, ORDER}

ESTIMATORS = {
    # The folds that select shrinkage and regularization follow the order of the samples
    # along the axes, so that rotations hold for given values.
    "SQFA": Case(
        skgeom.SQFA(2, random_state=0), holds=(LINEAR | {SHIFT, WEIGHTS}) - {ROTATION}
    ),
    "SQFA, given": Case(skgeom.SQFA(2, **GIVEN), holds=GIVEN_HOLDS | {SHIFT, WEIGHTS}),
    "SecondMomentSQFA": Case(
        skgeom.SecondMomentSQFA(2, random_state=0),
        holds=(LINEAR | {WEIGHTS}) - {ROTATION},
    ),
    "SecondMomentSQFA, given": Case(
        skgeom.SecondMomentSQFA(2, **GIVEN), holds=GIVEN_HOLDS | {WEIGHTS}
    ),
    "AMAGauss": Case(
        skgeom.AMAGauss(2, random_state=0),
        holds=(LINEAR | {SHIFT, WEIGHTS}) - {ROTATION},
    ),
    "AMAGauss, given": Case(
        skgeom.AMAGauss(2, **GIVEN), holds=GIVEN_HOLDS | {SHIFT, WEIGHTS}
    ),
    "CovarianceHessianProjection": Case(
        skgeom.CovarianceHessianProjection(LinearDiscriminantAnalysis()),
        holds=LINEAR | {SHIFT},
    ),
    # LinearDiscriminantAnalysis does not accept weights.
    "CovarianceHessianProjection, LogisticRegression": Case(
        skgeom.CovarianceHessianProjection(
            make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8))
        ),
        holds={WEIGHTS, SHIFT},
    ),
    # The pooled covariance is shrunk towards its diagonal, so that units do not matter.
    "GaussianClassifier": Case(
        skgeom.GaussianClassifier(), holds=(LINEAR | {SHIFT, WEIGHTS}) - {ROTATION}
    ),
    "GaussianClassifier, regularization": Case(
        skgeom.GaussianClassifier(regularization=0), holds=LINEAR | {SHIFT, WEIGHTS}
    ),
    "GaussianRegressor": Case(
        skgeom.GaussianRegressor, holds=frozenset({SCALE, SHIFT, ORDER, WEIGHTS})
    ),
    "KernelDiscriminantAnalysis": Case(
        skgeom.KernelDiscriminantAnalysis(), holds=LINEAR | {SHIFT, WEIGHTS}
    ),
    "RejectionClassifier": Case(
        skgeom.RejectionClassifier(LinearDiscriminantAnalysis(), threshold=0.6),
        holds=LINEAR | {SHIFT},
    ),
    "RSLVQ": Case(
        skgeom.RSLVQ(random_state=0), rtol=0.02, holds=LINEAR | {SHIFT, WEIGHTS}
    ),
    "GMLVQ": Case(
        skgeom.GMLVQ(random_state=0),
        rtol=0.02,
        holds={SCALE, SHIFT, NAMES, ORDER, WEIGHTS},
    ),
    "PLRSQ": Case(
        skgeom.PLRSQ(random_state=0),
        "matrices",
        rtol=0.02,
        holds=OF_MATRICES | {CONGRUENCE, WEIGHTS},
    ),
    "GLRSQ": Case(
        skgeom.GLRSQ(random_state=0),
        "matrices",
        rtol=0.02,
        holds=OF_MATRICES | {CONGRUENCE, WEIGHTS},
    ),
    "LandmarkKernelPCA": Case(
        skgeom.LandmarkKernelPCA(3, random_state=0), holds={SCALE, SHIFT, ROTATION}
    ),
    "Recentering": Case(
        skgeom.Recentering(), "matrices", holds={SCALE, ROTATION, ORDER, WEIGHTS}
    ),
    "TransferDiscriminantAnalysis": Case(
        skgeom.TransferDiscriminantAnalysis(), "matrices", holds=OF_MATRICES | {WEIGHTS}
    ),
    "RegionCovariance": Case(skgeom.RegionCovariance(), "images", holds={ORDER}),
    "LOL": Case(baselines.LOL(3), holds=LINEAR | {SHIFT}),
    "GeneralizedEigenvectors": Case(baselines.GeneralizedEigenvectors(2), holds=LINEAR),
    "LocalFisherDiscriminantAnalysis": Case(
        baselines.LocalFisherDiscriminantAnalysis(2), holds=LINEAR | {SHIFT}
    ),
    "SupervisedPCA": Case(baselines.SupervisedPCA(2), holds=LINEAR | {SHIFT}),
    "GeometryAwarePCA": Case(baselines.GeometryAwarePCA(2), "matrices", holds={ORDER}),
    # Names break ties of classes in a cluster.
    "ClusterClassifier": Case(
        baselines.ClusterClassifier(KMeans(3, n_init=2, random_state=0))
    ),
    "mdrm": Case(baselines.mdrm, "matrices", holds=OF_MATRICES | {CONGRUENCE}),
    # shrinkage="auto" is scikit-learn's, of features in units of their own.
    "tslda": Case(baselines.tslda, "matrices", holds={SCALE, NAMES, ORDER}),
}

# Parameters that lead through other code.
VARIANTS = {
    "SQFA, squared": Case(
        skgeom.SQFA(distance="hellinger", squared=True, **GIVEN),
        holds={NAMES},
    ),
    "GaussianClassifier, shared": Case(
        skgeom.GaussianClassifier("shared"), holds={NAMES}
    ),
    "KernelDiscriminantAnalysis, poly": Case(
        skgeom.KernelDiscriminantAnalysis(kernel="poly", degree=2), holds={NAMES}
    ),
    "KernelDiscriminantAnalysis, nystroem": Case(
        skgeom.KernelDiscriminantAnalysis(solver="nystroem", random_state=0),
        holds={NAMES},
    ),
    "KernelDiscriminantAnalysis, learned": Case(
        skgeom.KernelDiscriminantAnalysis(
            metric="learned", gamma="scale", regularization=1e-3
        ),
        holds={NAMES, SHIFT},
    ),
    "LandmarkKernelPCA, poly": Case(
        skgeom.LandmarkKernelPCA(3, kernel="poly", degree=2, random_state=0)
    ),
    "RSLVQ, sgd": Case(
        skgeom.RSLVQ(solver="sgd", max_iter=5, random_state=0), holds={NAMES}
    ),
    "GMLVQ, 2": Case(skgeom.GMLVQ(n_components=2, random_state=0), holds={NAMES}),
} | {
    f"PLRSQ, {name}": Case(
        skgeom.PLRSQ(**options, random_state=0), "matrices", holds={NAMES}
    )
    for name, options in {
        "2": {"n_components": 2, "metric": "logeuclid"},
        "logdet": {"metric": "logdet"},
        "tangent": {"metric": "tangent"},
        "mahalanobis": {"metric": "mahalanobis"},
        "sgd": {"solver": "sgd", "max_iter": 5},
    }.items()
}


def data_of(case, seed, n_per_class=12, power=1):
    """Three classes that overlap a little, in units far from one another or not."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], n_per_class)
    if case.data == "images":
        return rng.uniform(size=(len(y), 12, 12, 3)), y
    directions = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    units = 10.0 ** (power * np.linspace(-0.5, 0.5, 4))
    if case.data == "vectors":
        spread = 1 + rng.uniform(size=(3, 4))
        X = rng.normal(size=(len(y), 4)) * spread[y] + rng.normal(size=(3, 4))[y] * 3
        return (X * units) @ directions, y
    louder = 1 + rng.uniform(0, 1.5, size=(3, 4))
    signals = rng.normal(size=(len(y), 4, 20)) * louder[y][:, :, None]
    X = (directions.T * units**0.5) @ (signals @ signals.mT / 20)
    X = X @ (units[:, None] ** 0.5 * directions)
    return (X + X.mT) / 2, y


def fitted(case, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return case.make().fit(X, y, **options)


def outcome(model, X):
    """What a model says of samples, in a form that can be compared.

    Filters may come in another order, with other signs, and of a rotated set of them
    each is as good: products of the features of samples are what remains the same.
    """
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    if hasattr(model, "decision_function"):
        decisions = model.decision_function(X)
        return decisions / np.abs(decisions).max()
    if hasattr(model, "predict"):
        return model.predict(X)
    features = model.transform(X)
    features = features - features.mean(axis=0)
    features = features.reshape(len(features), -1)
    products = features @ features.T
    return products / np.abs(products).max()
