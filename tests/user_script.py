"""Code of a user, for type checkers: it is checked, and never run.

mypy --strict and pyright accept it; a line with ``# type: ignore`` holds a misspelling
that both must reject, or they report an ignore that nothing needs.
"""

import numpy as np
from numpy.typing import NDArray

import skgeom
from skgeom import SQFA, GaussianClassifier, SecondMomentSQFA, baselines, plotting
from skgeom.objectives import StudentT

X = np.zeros((6, 4))
y = np.array([0, 1, 0, 1, 0, 1])
COVARIANCES = np.zeros((6, 4, 4))


def transformers() -> list[NDArray[np.float64]]:
    SecondMomentSQFA(2).fit(X, y).get_feature_names_out()
    SQFA(2, distance=StudentT(3.0), init=X[:2]).fit(X, y).fit_transform(X, y)
    return [
        SQFA(distance="fisher-rao", n_init="auto", optimizer="lbfgs")
        .fit(X, y)
        .transform(X),
        skgeom.CovarianceHessianProjection().fit(X, y).transform(X),
        skgeom.LandmarkKernelPCA(3, kernel="rbf").fit(X).transform(X),
        skgeom.Recentering(metric="riemann").fit(COVARIANCES).transform(COVARIANCES),
        skgeom.RegionCovariance("color").fit(COVARIANCES).transform(COVARIANCES),
        baselines.GeneralizedEigenvectors(2).fit(X, y).transform(X),
        baselines.GeometryAwarePCA(2).fit(X).transform(X),
        baselines.LOL(2).fit(X, y).transform(X),
        baselines.LocalFisherDiscriminantAnalysis(2).fit(X, y).transform(X),
        baselines.SupervisedPCA(2).fit(X, y).transform(X),
    ]


def classifiers() -> list[NDArray[np.float64]]:
    gaussian = GaussianClassifier(priors="uniform").fit(X, y)
    gaussian.partial_fit(X, y, classes=[0, 1]).predict_proba(X)
    return [
        gaussian.predict(X),
        skgeom.GaussianRegressor(5).fit(X, X[:, 0]).predict_interval(X)[0],
        skgeom.GLRSQ(metric="riemann").fit(COVARIANCES, y).predict(COVARIANCES),
        skgeom.GMLVQ(class_weight={0: 2.0}).fit(X, y).predict(X),
        skgeom.KernelDiscriminantAnalysis(
            gamma=0.1, calibration=skgeom.Calibration(temperature=2.0)
        ).predict_proba(X),
        skgeom.PLRSQ(sigma2="learn").fit(COVARIANCES, y).predict_proba(COVARIANCES),
        skgeom.RSLVQ(2).fit(X, y).predict_log_proba(X),
        skgeom.RejectionClassifier(gaussian, rejection_rate=0.1).fit(X, y).predict(X),
        skgeom.TransferDiscriminantAnalysis().fit(COVARIANCES, y).adapt(X).predict(X),
        baselines.ClusterClassifier(gaussian).fit(X, y).predict(X),
    ]


def functions() -> float:
    matrices, labels = skgeom.datasets.make_spd_classes()
    matrices, labels, means = skgeom.datasets.make_spd_classes(return_means=True)
    statistics: skgeom.ClassStatistics = skgeom.ClassStatistics.from_data(X, y)
    X_drawn, y_drawn = skgeom.datasets.make_gaussian_classes(statistics + statistics)
    plotting.ClassEllipsesDisplay.from_statistics(statistics)
    coverage, error, _ = skgeom.accuracy_rejection_curve(y, X)
    skgeom.activation_patterns(X, COVARIANCES[0])
    skgeom.input_hessian(GaussianClassifier().fit(X_drawn, y_drawn), X, y)
    skgeom.optim.RiemannianLBFGS(memory=5)
    filters, _ = skgeom.spatial_filters(COVARIANCES[0], COVARIANCES[1])
    selection: skgeom.Selection | None = GaussianClassifier().fit(X, y).selection_
    conditions: skgeom.ProjectionConditions
    conditions = skgeom.CovarianceHessianProjection().fit(X, y).conditions_
    grid: skgeom.SeparationGrid = skgeom.CovarianceHessianProjection().separation(X, y)
    skgeom.geometry.logm(matrices).sum()
    labels.sum()
    means.sum()
    skgeom.bayes_error(statistics, priors="uniform")
    skgeom.geometry.distance_fisher_rao(
        X[0], COVARIANCES[0], X[1], COVARIANCES[1]
    ).sum()
    total: float = conditions.mean_alignment + coverage.sum() + error.sum()
    total += grid.ratio.max() + filters.max()
    if selection is not None:
        total += selection.temperature
    return total


def misspellings() -> None:
    SQFA(distance="fisher_raoo")  # type: ignore[arg-type]
    SQFA(regularisation=1.0)  # type: ignore[call-arg]
    skgeom.AMAGauss(priors="unifrom")  # type: ignore[arg-type]
    skgeom.KernelDiscriminantAnalysis(kernel="rfb")  # type: ignore[arg-type]
    skgeom.GMLVQ(class_weight="balance")  # type: ignore[arg-type]
    skgeom.datasets.fetch_mnist(subset="training")  # type: ignore[arg-type]
    baselines.LocalFisherDiscriminantAnalysis(embedding="w")  # type: ignore[arg-type]
    skgeom.RegionCovariance("colour")  # type: ignore[arg-type]
    GaussianClassifier("ful")  # type: ignore[arg-type]
    skgeom.RejectionClassifier(GaussianClassifier(), treshold=1)  # type: ignore[call-arg]
    baselines.LOL(2, center=True)  # type: ignore[call-arg]
