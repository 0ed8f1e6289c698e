"""Every public estimator: how to make one, data for it, and what its fits must hold.

Tests of all estimators use this table; ``tools/many_fits.py`` does so as well.
"""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import skgeom
from skgeom import baselines


class Case(NamedTuple):
    """An estimator, its kind of data, and how its outcomes are to be compared."""

    make: callable
    data: str = "vectors"
    rtol: float = 1e-3  # searches end where ``tol`` says
    holds: frozenset = frozenset()


# What has to hold.
SCALE = "a factor of X changes nothing"
SHIFT = "a constant added to X changes nothing"
ROTATION = "an orthogonal map of X changes nothing"
CONGRUENCE = "a congruence of all matrices changes nothing"
WEIGHTS = "weights stand for repeated samples"
NAMES = "other names of the classes, in another order, change nothing else"
ORDER = "the order of the samples does not matter"

LINEAR = frozenset({SCALE, ROTATION, NAMES, ORDER})
OF_MATRICES = frozenset({SCALE, ROTATION, NAMES, ORDER})

GIVEN = {"regularization": 0.5, "covariance_estimator": None, "random_state": 0}
GIVEN_HOLDS = frozenset({ROTATION, NAMES, ORDER})

ESTIMATORS = {
    # The folds that select shrinkage and regularization follow the order of the samples
    # along the axes, so that rotations hold for given values.
    "SQFA": Case(
        lambda: skgeom.SQFA(2, random_state=0),
        holds=(LINEAR | {SHIFT, WEIGHTS}) - {ROTATION},
    ),
    "SQFA, given": Case(
        lambda: skgeom.SQFA(2, **GIVEN), holds=GIVEN_HOLDS | {SHIFT, WEIGHTS}
    ),
    "SecondMomentSQFA": Case(
        lambda: skgeom.SecondMomentSQFA(2, random_state=0),
        holds=(LINEAR | {WEIGHTS}) - {ROTATION},
    ),
    "SecondMomentSQFA, given": Case(
        lambda: skgeom.SecondMomentSQFA(2, **GIVEN), holds=GIVEN_HOLDS | {WEIGHTS}
    ),
    "AMAGauss": Case(
        lambda: skgeom.AMAGauss(2, random_state=0),
        holds=(LINEAR | {SHIFT}) - {ROTATION},
    ),
    "AMAGauss, given": Case(
        lambda: skgeom.AMAGauss(2, **GIVEN), holds=GIVEN_HOLDS | {SHIFT}
    ),
    "CovarianceHessianProjection": Case(
        lambda: skgeom.CovarianceHessianProjection(LinearDiscriminantAnalysis()),
        holds=LINEAR | {SHIFT},
    ),
    # The pooled covariance is shrunk towards its diagonal, so that units do not matter.
    "GaussianClassifier": Case(
        skgeom.GaussianClassifier,
        holds=(LINEAR | {SHIFT, WEIGHTS}) - {ROTATION},
    ),
    "GaussianClassifier, regularization": Case(
        lambda: skgeom.GaussianClassifier(regularization=0),
        holds=LINEAR | {SHIFT, WEIGHTS},
    ),
    "GaussianRegressor": Case(
        skgeom.GaussianRegressor, holds=frozenset({SCALE, SHIFT, ORDER, WEIGHTS})
    ),
    "KernelDiscriminantAnalysis": Case(
        skgeom.KernelDiscriminantAnalysis, holds=LINEAR | {SHIFT, WEIGHTS}
    ),
    "RejectionClassifier": Case(
        lambda: skgeom.RejectionClassifier(LinearDiscriminantAnalysis(), threshold=0.6),
        holds=LINEAR | {SHIFT},
    ),
    "RSLVQ": Case(
        lambda: skgeom.RSLVQ(random_state=0),
        rtol=0.02,
        holds=LINEAR | {SHIFT, WEIGHTS},
    ),
    "GMLVQ": Case(
        lambda: skgeom.GMLVQ(random_state=0),
        rtol=0.02,
        holds=frozenset({SCALE, SHIFT, NAMES, ORDER, WEIGHTS}),
    ),
    "PLRSQ": Case(
        lambda: skgeom.PLRSQ(random_state=0),
        "matrices",
        rtol=0.02,
        holds=OF_MATRICES | {CONGRUENCE, WEIGHTS},
    ),
    "GLRSQ": Case(
        lambda: skgeom.GLRSQ(random_state=0),
        "matrices",
        rtol=0.02,
        holds=OF_MATRICES | {CONGRUENCE, WEIGHTS},
    ),
    "LandmarkKernelPCA": Case(
        lambda: skgeom.LandmarkKernelPCA(3, random_state=0),
        holds=frozenset({SCALE, SHIFT, ROTATION}),
    ),
    "Recentering": Case(
        skgeom.Recentering, "matrices", holds=frozenset({SCALE, ROTATION, ORDER})
    ),
    "TransferDiscriminantAnalysis": Case(
        skgeom.TransferDiscriminantAnalysis, "matrices", holds=OF_MATRICES
    ),
    "RegionCovariance": Case(
        lambda: skgeom.RegionCovariance(), "images", holds=frozenset({ORDER})
    ),
    "LOL": Case(lambda: baselines.LOL(3), holds=LINEAR | {SHIFT}),
    "GeneralizedEigenvectors": Case(
        lambda: baselines.GeneralizedEigenvectors(2), holds=LINEAR
    ),
    "LocalFisherDiscriminantAnalysis": Case(
        lambda: baselines.LocalFisherDiscriminantAnalysis(2),
        holds=LINEAR | {SHIFT},
    ),
    "SupervisedPCA": Case(lambda: baselines.SupervisedPCA(2), holds=LINEAR | {SHIFT}),
    "GeometryAwarePCA": Case(
        lambda: baselines.GeometryAwarePCA(2), "matrices", holds=frozenset({ORDER})
    ),
    # Names break ties of classes in a cluster.
    "ClusterClassifier": Case(
        lambda: baselines.ClusterClassifier(KMeans(3, n_init=2, random_state=0))
    ),
    "mdrm": Case(baselines.mdrm, "matrices", holds=OF_MATRICES | {CONGRUENCE}),
    # shrinkage="auto" is scikit-learn's, of features in units of their own.
    "tslda": Case(baselines.tslda, "matrices", holds=frozenset({SCALE, NAMES, ORDER})),
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
    features = features.reshape(len(X), -1)
    products = features @ features.T
    return products / np.abs(products).max()
