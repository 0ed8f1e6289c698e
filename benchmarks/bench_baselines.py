"""Linear projections: accuracy of the features, and fit time.

The digits of scikit-learn are split into halves for training and testing, centered, and
divided by the training standard deviation. Each method computes nine features, which a
quadratic discriminant and three nearest neighbors classify::

    python benchmarks/bench_baselines.py

The script requires scikit-learn >= 1.8, for a quadratic discriminant with shrinkage.
"""

import time
import warnings

import numpy as np
from common import load
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

from skgeom import SQFA, ClassStatistics
from skgeom.baselines import (
    LOL,
    GeneralizedEigenvectors,
    GeometryAwarePCA,
    LocalFisherDiscriminantAnalysis,
    SupervisedPCA,
)

N_COMPONENTS = 9


def filters_of_lda(X, y):
    lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1).fit(X, y)
    return lda.scalings_.T[:N_COMPONENTS]


def filters_of_gapca(X, y):
    """gaPCA of the second moments of the classes, regularized like SQFA."""
    moments = ClassStatistics.from_data(X, y).second_moments
    noise = 0.1 * np.eye(X.shape[1])
    return GeometryAwarePCA(N_COMPONENTS).fit(moments + noise).components_


def filters_of_ssdr(X, y, ridge=0.6):
    """Stabilized sufficient dimension reduction (arXiv 2506.19192).

    Left singular vectors of the coefficients of the quadratic discriminant functions,
    relative to those of the first class, with class covariances shrunk to the identity.
    """
    statistics = ClassStatistics.from_data(X, y)
    within = np.average(statistics.covariances, axis=0, weights=statistics.counts)
    target = np.trace(within) / len(within) * np.eye(len(within))
    precisions = np.linalg.inv((1 - ridge) * statistics.covariances + ridge * target)
    linear = np.einsum("kij,kj->ki", precisions, statistics.means)
    quadratic = precisions[1:] - precisions[0]
    coefficients = np.vstack([linear[1:] - linear[0], *quadratic])
    return np.linalg.svd(coefficients, full_matrices=False)[2][:N_COMPONENTS]


def filters_of(estimator):
    return lambda X, y: estimator.fit(X, y).components_


def methods():
    yield "PCA", filters_of(PCA(N_COMPONENTS))
    yield "LDA, shrinkage 0.1", filters_of_lda
    for init in ("auto", "pca"):
        nca = NeighborhoodComponentsAnalysis(N_COMPONENTS, init=init)
        yield f"NCA, from {init}", filters_of(nca)
    lfda = LocalFisherDiscriminantAnalysis(N_COMPONENTS, n_neighbors=5)
    yield "LFDA, k = 5", filters_of(lfda)
    yield "supervised PCA", filters_of(SupervisedPCA(N_COMPONENTS))
    yield "LOL", filters_of(LOL(N_COMPONENTS))
    for regularization in (0.01, 0.1):
        gem = GeneralizedEigenvectors(N_COMPONENTS, regularization=regularization)
        yield f"GEM, {regularization}", filters_of(gem)
    yield "gaPCA of second moments", filters_of_gapca
    yield "SSDR, shrinkage 0.6", filters_of_ssdr
    for distance in ("fisher-rao", "hellinger"):
        sqfa = SQFA(N_COMPONENTS, distance=distance, regularization=0.1, random_state=0)
        yield f"SQFA, {distance}, 0.1", filters_of(sqfa)


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    X_train, y_train, X_test, y_test = load(None)
    X_train, X_test = X_train.astype(float), X_test.astype(float)
    classifiers = (
        QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=1e-5, tol=1e-7),
        KNeighborsClassifier(3),
    )
    print(f"{'method':30s} QDA    3-NN   seconds")
    for name, learn in methods():
        start = time.perf_counter()
        filters = learn(X_train, y_train)
        seconds = time.perf_counter() - start
        scores = [
            classifier.fit(X_train @ filters.T, y_train).score(
                X_test @ filters.T, y_test
            )
            for classifier in classifiers
        ]
        print(f"{name:30s} {scores[0]:.4f} {scores[1]:.4f} {seconds:.2f}", flush=True)


if __name__ == "__main__":
    main()
