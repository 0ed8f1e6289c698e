"""Generators of classes of symmetric positive definite matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import train_test_split

from skgeom.baselines import mdrm
from skgeom.datasets import make_spd_classes, make_syn_spd
from skgeom.geometry import distance_affine_invariant, logm, whiten


def spectrum(values):
    return values / values.mean()


J = np.arange(1, 11)
SPECTRA = [
    spectrum(13.0 - J),
    spectrum(1 + 100 * np.exp(-J / 2)),
    spectrum(13 - J / 2),
    spectrum(1 / J),
]


@pytest.mark.parametrize(
    ("name", "spectra"), [("SynI", [0, 0, 1, 1]), ("SynII", [0, 1, 2, 3])]
)
def test_syn_without_noise_in_the_eigenvectors(name, spectra):
    X, y = make_syn_spd(
        name, 20, eigenvector_noise=0.0, eigenvalue_noise=0.0, random_state=0
    )
    assert X.shape == (80, 10, 10) and X.dtype == np.float64
    assert_array_equal(np.bincount(y), [20] * 4)
    eigenvalues = np.linalg.eigvalsh(X)
    assert_allclose(eigenvalues[:, ::-1], np.array(SPECTRA)[spectra][y], rtol=1e-10)
    means = np.array([X[y == k][0] for k in range(4)])
    commute = [[np.allclose(a @ b, b @ a, atol=1e-10) for a in means] for b in means]
    same_basis = np.array([0, 1, 0, 1] if name == "SynI" else [0] * 4)
    assert_array_equal(commute, same_basis[:, None] == same_basis)


@pytest.mark.exhaustive
def test_accuracy_of_the_minimum_distance_to_the_mean():
    """Table 3 of the paper, 0.9737 +- 0.0053: training on 500 a class, test on 250."""
    accuracies = []
    for seed in range(3):
        X, y = make_syn_spd("SynI", 750, random_state=seed)
        X, X_test, y, y_test = train_test_split(
            X, y, test_size=1 / 3, stratify=y, random_state=0
        )
        accuracies.append(mdrm().fit(X, y).score(X_test, y_test))
    assert np.mean(accuracies) == pytest.approx(0.9737, abs=4 * 0.0053 / np.sqrt(3))


@pytest.mark.parametrize("n_features", [1, 5])
def test_spd_classes_scatter_about_their_means(n_features):
    n = 3000
    X, y, means = make_spd_classes(
        2,
        n,
        n_features,
        separation=2.0,
        dispersion=0.7,
        random_state=0,
        return_means=True,
    )
    identity = np.eye(n_features)
    assert_allclose(distance_affine_invariant(means, identity), 2.0)
    squared = distance_affine_invariant(X, means[y]) ** 2
    # dispersion^2 times a chi-square of d degrees over d, with variance 2 / d.
    d = n_features * (n_features + 1) / 2
    for k in range(2):
        error = 0.49 * np.sqrt(2 / d / n)
        assert squared[y == k].mean() == pytest.approx(0.49, abs=5 * error)


def test_means_are_riemannian_means():
    """The gradient of the mean squared distance, the mean of the logs, is zero."""
    n = 3000
    X, y, means = make_spd_classes(2, n, 3, random_state=1, return_means=True)
    for k in range(2):
        logs = logm(whiten(X[y == k], means[k]))
        assert_allclose(logs.mean(axis=0), 0, atol=5 * logs.std() / np.sqrt(n) * 1.5)
