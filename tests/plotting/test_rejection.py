"""AccuracyRejectionDisplay draws the curve of accuracy_rejection_curve."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.naive_bayes import GaussianNB

from skgeom import RejectionClassifier, accuracy_rejection_curve
from skgeom.plotting import AccuracyRejectionDisplay


@pytest.fixture
def fitted(iris):
    X, y = iris
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    return GaussianNB().fit(X[::3], y[::3]), X[1::3], y[1::3]


def test_from_estimator(fitted):
    model, X, y = fitted
    weights = np.arange(len(y)) % 3 + 1
    display = AccuracyRejectionDisplay.from_estimator(
        model, X, y, sample_weight=weights
    )
    expected = accuracy_rejection_curve(
        y, model.predict_proba(X), sample_weight=weights
    )
    assert_array_equal(display.accuracies, expected[0])
    assert_array_equal(display.rejection_rates, expected[1])
    assert_array_equal(display.line_.get_xdata(), 100 * expected[1])
    assert_array_equal(display.line_.get_ydata(), 100 * expected[0])
    (text,) = display.ax_.get_legend().get_texts()
    assert text.get_text() == "GaussianNB"
    display.plot(label="NB")
    (text,) = display.ax_.get_legend().get_texts()
    assert text.get_text() == "NB"
    assert display.ax_.get_xlabel() == "Rejection rate (%)"
    assert display.ax_.get_ylabel() == "Accuracy of accepted samples (%)"
    assert display.line_.get_drawstyle() == "steps-post"


@pytest.mark.parametrize("is_text", [True, False])
def test_confusion_matrix_with_rejections(is_text, fitted):
    _, X, y = fitted
    y = y if is_text else np.unique(y, return_inverse=True)[1]
    model = RejectionClassifier(GaussianNB(), threshold=0.99).fit(X, y)
    predicted, classes = model.predict(X), model.classes_
    labels = [*classes, model.reject_label_]
    display = ConfusionMatrixDisplay.from_predictions(y, predicted, labels=labels)
    expected = [[((y == k) & (predicted == j)).sum() for j in labels] for k in classes]
    assert_array_equal(display.confusion_matrix, [*expected, [0] * 4])
    assert 0 < display.confusion_matrix[:, -1].sum() < len(y) / 2
    shown = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert shown == [*map(str, classes), "rejected" if is_text else "-1"]
