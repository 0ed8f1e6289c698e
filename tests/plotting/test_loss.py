"""LossCurveDisplay draws the losses at the iterations that they belong to."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import RSLVQ, SQFA
from skgeom.plotting import LossCurveDisplay


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_iterations_begin_at_the_start(iris):
    model = RSLVQ(max_iter=300).fit(*iris)
    display = LossCurveDisplay.from_estimator(model)
    assert_array_equal(display.line_.get_ydata(), model.loss_curve_)
    assert_array_equal(display.line_.get_xdata(), np.arange(model.n_iter_ + 1))
    assert display.ax_.get_xlabel() == "iteration"
    (text,) = display.ax_.get_legend().get_texts()
    assert text.get_text() == "RSLVQ"


@pytest.mark.parametrize(
    "model",
    [
        RSLVQ(solver="sgd", max_iter=4, random_state=0),
        MLPClassifier((3,), tol=10, n_iter_no_change=3, random_state=0),
    ],
)
def test_epochs_begin_at_one(iris, model):
    pipeline = make_pipeline(StandardScaler(), model).fit(*iris)
    _, ax = plt.subplots()
    display = LossCurveDisplay.from_estimator(pipeline, ax=ax, name="net", color="red")
    assert display.ax_ is ax and display.figure_ is ax.figure
    assert_array_equal(display.line_.get_xdata(), 1 + np.arange(model.n_iter_))
    assert_array_equal(display.line_.get_ydata(), model.loss_curve_)
    assert display.line_.get_color() == "red" and display.line_.get_label() == "net"
    assert ax.get_xlabel() == "epoch"


def test_curves_of_numbers(colours_of):
    display = LossCurveDisplay([3, 2, 1]).plot(color="#ff00ff", linewidth=3)
    assert display.ax_.get_legend() is None
    colours, counts = colours_of(display.figure_)
    assert counts[(colours == [255, 0, 255]).all(axis=1)].sum() > 300


def test_errors(iris):
    with pytest.raises(NotFittedError):
        LossCurveDisplay.from_estimator(RSLVQ())
    with pytest.raises(TypeError, match=r"with loss_curve_, .* got a SQFA"):
        LossCurveDisplay.from_estimator(SQFA().fit(*iris))
    assert not plt.get_fignums()
