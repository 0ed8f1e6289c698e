"""Tests of all linear projections: scikit-learn's checks and unusual inputs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import _array_api

from skgeom.baselines import (
    LOL,
    GeneralizedEigenvectors,
    LocalFisherDiscriminantAnalysis,
    SupervisedPCA,
)
from skgeom.utils.array_api import to_numpy

ESTIMATORS = [
    SupervisedPCA(),
    LOL(),
    GeneralizedEigenvectors(),
    LocalFisherDiscriminantAnalysis(),
    LocalFisherDiscriminantAnalysis(embedding="orthonormalized", regularization=0.1),
]

every_estimator = pytest.mark.parametrize(
    "estimator", ESTIMATORS, ids=[str(estimator) for estimator in ESTIMATORS]
)


@every_estimator
def test_features_are_products_with_components_of_a_fixed_sign(estimator, iris):
    X, y = iris
    fitted = clone(estimator).fit(X, y)
    Z = fitted.transform(X)
    assert_allclose(Z, X @ fitted.components_.T, rtol=1e-14)
    largest = np.abs(fitted.components_).argmax(axis=1)
    assert (fitted.components_[np.arange(len(largest)), largest] > 0).all()


@every_estimator
def test_scale_of_the_samples_does_not_matter(estimator, iris):
    """Very large and very small numbers neither overflow nor underflow."""
    X, y = iris
    Z = clone(estimator).fit(X, y).transform(X)
    for factor in (1e-300, 1e-160, 1e160, 1e300):
        scaled = clone(estimator).fit(factor * X, y).transform(factor * X)
        ratio = np.ptp(scaled) / np.ptp(Z)
        assert_allclose(scaled / ratio, Z, atol=1e-6 * np.abs(Z).max())


@every_estimator
def test_too_many_components(estimator, iris):
    with pytest.raises(ValueError, match="n_components=40"):
        clone(estimator).set_params(n_components=40).fit(*iris)


@every_estimator
def test_constant_features_are_ignored(estimator, iris):
    """Their weights are zero."""
    X, y = iris
    padded = np.insert(X - X.mean(axis=0), [0, 2], 0.0, axis=1)
    plain = clone(estimator).fit(X - X.mean(axis=0), y).components_
    components = clone(estimator).fit(padded, y).components_
    assert_allclose(components[:, [0, 3]], 0, atol=1e-10)
    if not isinstance(estimator, GeneralizedEigenvectors):  # a fraction of a mean
        if not getattr(estimator, "regularization", 0) == 0.1:
            assert_allclose(components[:, [1, 2, 4, 5]], plain, rtol=1e-5, atol=1e-7)


def test_a_class_of_one_sample(iris):
    """As the user guide says."""
    X, y = (array[:101] for array in iris)
    for method in (SupervisedPCA(), LOL(), LocalFisherDiscriminantAnalysis()):
        assert np.isfinite(method.fit(X, y).components_).all()
    assert GeneralizedEigenvectors().fit(X, y).components_.shape == (6, 4)
    with pytest.raises(ValueError, match=r"class 2\b.* is singular"):
        GeneralizedEigenvectors(regularization=0).fit(X, y)


@pytest.mark.parametrize(
    ("model", "noise"),
    [
        (LocalFisherDiscriminantAnalysis(2, regularization=0.1), True),
        (LocalFisherDiscriminantAnalysis(2, embedding="orthonormalized"), False),
        (GeneralizedEigenvectors(2, regularization=0.1), True),
        (LOL(3), False),
        (SupervisedPCA(), False),
    ],
)
def test_fewer_samples_than_features(model, noise, rng):
    """As with as many features as the samples have directions, which are rotated."""
    y = np.repeat([0, 1, 2], 8)
    X = rng.normal(size=(24, 10)) * (1 + rng.random((3, 10)))[y]
    X += rng.normal(size=(3, 10))[y]
    axes, _ = np.linalg.qr(rng.normal(size=(40, 10)))
    wide = clone(model).fit(X @ axes.T, y)
    if noise:  # a part of the mean variance of the features
        model.set_params(regularization=0.1 * 10 / 40)
    narrow = clone(model).fit(X, y)
    assert wide.components_.shape == (len(narrow.components_), 40)
    expected = narrow.components_ @ axes.T
    signs = np.sign((expected * wide.components_).sum(axis=1))[:, None]
    scale = np.abs(expected).max()
    assert_allclose(wide.components_, signs * expected, atol=1e-9 * scale)


@pytest.mark.parametrize(
    "projection",
    [LOL(2), SupervisedPCA(2), GeneralizedEigenvectors(2)],
    ids=lambda projection: type(projection).__name__,
)
def test_moved_to_another_library(library, projection, wine):
    X, y = wine
    with config_context(array_api_dispatch=False):
        expected = projection.fit(X, y).transform(X)
    moved = _array_api.move_estimator_to(projection, library.xp, library.device)
    found = moved.transform(library.array(X))
    assert library.is_mine(found)
    assert library.dtype in str(found.dtype)
    size = np.abs(expected).max()
    assert_allclose(to_numpy(found), expected, rtol=0, atol=library.tolerance * size)
    with pytest.raises(ValueError, match="move_estimator_to"):
        projection.transform(library.array(X))
