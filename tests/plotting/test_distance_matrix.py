"""DistanceMatrixDisplay draws the distances between the classes."""

import numpy as np
import pytest
from comparisons import all_pairs
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import SQFA, AMAGauss, ClassStatistics, SecondMomentSQFA
from skgeom.geometry import distance_affine_invariant, distance_calvo_oller
from skgeom.objectives import StudentT
from skgeom.plotting import DistanceMatrixDisplay


@pytest.fixture
def statistics(make_gaussians):
    means, covariances = make_gaussians((4,), 3)
    return ClassStatistics(["a", "b", "c", "d"], [9] * 4, means, covariances)


def drawn(display):
    return np.asarray(display.im_.get_array())


@pytest.mark.parametrize(
    "kind, regularized", [(SQFA, True), (SecondMomentSQFA, False), (AMAGauss, True)]
)
def test_from_estimator(iris, kind, regularized):
    sqfa = kind(2, regularization=0.1)
    model = make_pipeline(StandardScaler(), sqfa, QuadraticDiscriminantAnalysis())
    model.fit(*iris)
    for estimator in (sqfa, model):
        display = DistanceMatrixDisplay.from_estimator(
            estimator, regularized=regularized
        )
        expected = sqfa.class_distances(regularized=regularized)
        assert_array_equal(drawn(display), expected)
        assert display.im_.get_clim() == (0, expected.max())


def test_from_statistics(statistics):
    display = DistanceMatrixDisplay.from_statistics(statistics)
    means, covariances = statistics.means, statistics.covariances
    expected = all_pairs(distance_calvo_oller, means, covariances)
    assert_allclose(drawn(display), expected, atol=1e-7)
    assert display.figure_.axes[1].get_ylabel() == "Fisher-Rao distance"
    noisy = DistanceMatrixDisplay.from_statistics(statistics, regularization=2.0)
    expected = all_pairs(distance_calvo_oller, means, covariances + 2 * np.eye(3))
    assert_allclose(drawn(noisy), expected, atol=1e-7)


def test_second_moments(statistics):
    moments = statistics.second_moments
    expected = distance_affine_invariant(moments[:, None], moments)
    display = DistanceMatrixDisplay.from_statistics(statistics, "affine-invariant")
    assert_allclose(drawn(display), expected, atol=1e-7)
    alone = ClassStatistics.from_second_moments([0, 1, 2, 3], [9] * 4, moments)
    display = DistanceMatrixDisplay.from_statistics(alone, "affine-invariant")
    assert_allclose(drawn(display), expected, atol=1e-7)
    # Of zero means, both kinds of SQFA measure the same.
    centred = ClassStatistics([0, 1, 2, 3], [9] * 4, np.zeros((4, 3)), moments)
    found, expected = (
        drawn(DistanceMatrixDisplay.from_statistics(given, StudentT(3)))
        for given in (alone, centred)
    )
    assert_allclose(found, expected)
    with pytest.raises(ValueError, match="'fisher-rao' compares means, but"):
        DistanceMatrixDisplay.from_statistics(alone)


def test_numbers_in_cells():
    matrix = np.array([[0, 1.25, 5], [1.25, 0, 2], [5, 2, 0]])
    display = DistanceMatrixDisplay(matrix).plot(values_format=".1f")
    for (row, column), text in np.ndenumerate(display.text_):
        assert text.get_text() == f"{matrix[row, column]:.1f}"
        assert text.get_position() == (column, row)
    # The darkest and the brightest colour of viridis.
    assert display.text_[0, 0].get_color() == "white"
    assert display.text_[0, 2].get_color() == "black"
    many = DistanceMatrixDisplay(1 - np.eye(11)).plot()
    assert many.text_ is None and not many.ax_.texts


def test_labels_of_classes(statistics):
    display = DistanceMatrixDisplay.from_statistics(statistics)
    for labels in (display.ax_.get_xticklabels(), display.ax_.get_yticklabels()):
        assert [text.get_text() for text in labels] == ["a", "b", "c", "d"]
        assert [text.get_rotation() for text in labels] == [0] * 4
    names = ["left hand", "right hand", "feet", "tongue"]
    display = DistanceMatrixDisplay(1 - np.eye(4), classes=names).plot()
    assert {text.get_rotation() for text in display.ax_.get_xticklabels()} == {45}


def test_given_properties():
    display = DistanceMatrixDisplay(1 - np.eye(2)).plot(cmap="Greys", vmax=4)
    assert display.im_.get_clim() == (0, 4)
    # A quarter of the range is bright in this map.
    assert display.text_[0, 1].get_color() == "black"


def test_label_is_the_distance_of_the_fit(iris):
    sqfa = SQFA(1, distance="hellinger", random_state=0).fit(*iris)
    expected = DistanceMatrixDisplay.from_estimator(sqfa)
    sqfa.set_params(distance="wasserstein")
    display = DistanceMatrixDisplay.from_estimator(sqfa)
    assert display.label == expected.label == "Hellinger distance"
    assert_array_equal(display.matrix, expected.matrix)


def test_errors(iris, statistics):
    X, _ = iris
    for matrix, message in [
        (np.zeros((2, 3)), r"must be square, got shape \(2, 3\)"),
        ([[0, 1], [2, 0]], "must contain distances: symmetric"),
        ([[0, -1], [-1, 0]], r"must contain distances: .* nonnegative"),
        ([[0, 2], [2, 1]], r"must contain distances: .* zero on the diagonal"),
        ([[0, np.nan], [np.nan, 0]], "matrix contains NaN"),
    ]:
        with pytest.raises(ValueError, match=message):
            DistanceMatrixDisplay(matrix).plot()
    with pytest.raises(NotFittedError):
        DistanceMatrixDisplay.from_estimator(SQFA())
    with pytest.raises(TypeError, match=r"with class_distances.* Use from_statistics"):
        DistanceMatrixDisplay.from_estimator(PCA(2).fit(X))
    with pytest.raises(TypeError, match="matrix must hold real numbers, got dtype"):
        DistanceMatrixDisplay([[0, 1j], [1j, 0]]).plot()
    with pytest.raises(TypeError, match="must be a ClassStatistics"):
        DistanceMatrixDisplay.from_statistics(X)
    with pytest.raises(ValueError, match="distance must be one of"):
        DistanceMatrixDisplay.from_statistics(statistics, "taxi")
    with pytest.raises(ValueError, match="statistics contains 1 class, a"):
        one = ClassStatistics(["a"], [3], [[0.0]], [[[1.0]]])
        DistanceMatrixDisplay.from_statistics(one)
    with pytest.raises(ValueError, match="regularization must be at least 0"):
        DistanceMatrixDisplay.from_statistics(statistics, regularization=np.nan)
    with pytest.raises(ValueError, match=r"singular.* Set regularization > 0"):
        singular = ClassStatistics([0, 1], [3, 3], np.eye(2), np.zeros((2, 2, 2)))
        DistanceMatrixDisplay.from_statistics(singular)
    with pytest.raises(ValueError, match=r"classes must have 3 labels.* got 2"):
        DistanceMatrixDisplay(1 - np.eye(3), classes=[0, 1]).plot()
