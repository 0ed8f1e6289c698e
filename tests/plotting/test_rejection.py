"""AccuracyRejectionDisplay draws the curve of accuracy_rejection_curve."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import GaussianNB

from skgeom import accuracy_rejection_curve
from skgeom.plotting import AccuracyRejectionDisplay


@pytest.fixture
def fitted():
    X, y = load_iris(return_X_y=True)
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
    assert_array_equal(display.thresholds, expected[2])
    assert_array_equal(display.line_.get_xdata(), expected[1])
    assert_array_equal(display.line_.get_ydata(), expected[0])
    (text,) = display.ax_.get_legend().get_texts()
    assert text.get_text() == "GaussianNB"
    assert display.ax_.get_xlabel() == "Rejection rate"
    assert display.ax_.get_ylabel() == "Accuracy of accepted samples"
    assert display.line_.get_drawstyle() == "steps-post"


def test_several_curves_in_given_axes(fitted):
    model, X, y = fitted
    _, ax = plt.subplots()
    score = model.predict_proba(X)
    first = AccuracyRejectionDisplay.from_predictions(y, score, ax=ax)
    assert first.name is None and ax.get_legend() is None
    second = AccuracyRejectionDisplay.from_estimator(model, X, y, ax=ax, name="second")
    third = first.plot(ax, name="third", ds="default", label="my label")
    assert second.ax_ is third.ax_ is ax and third.figure_ is ax.figure
    assert len(ax.lines) == 3 and len(plt.get_fignums()) == 1
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["second", "my label"]
    assert third.line_.get_drawstyle() == "default"


def test_classifier_without_probabilities(fitted):
    _, X, y = fitted
    with pytest.raises(TypeError, match=r"Perceptron has no predict_proba\. Calibrate"):
        AccuracyRejectionDisplay.from_estimator(Perceptron().fit(X, y), X, y)
    assert not plt.get_fignums()
