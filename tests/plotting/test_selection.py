"""SelectionDisplay draws the scores of the candidates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skgeom import SQFA, GaussianClassifier
from skgeom.plotting import SelectionDisplay


def test_the_best_score_of_each_value_is_drawn(iris):
    model = make_pipeline(PCA(3), GaussianClassifier()).fit(*iris)
    display = SelectionDisplay.from_estimator(model, color="red")
    assert display.ax_.get_xlabel() == "ridge" and display.ax_.get_xscale() == "log"
    selection = model[-1].selection_
    ridges, scores = selection.candidates["ridge"], selection.scores
    line, _, _ = display.errorbar_.lines
    assert_allclose(line.get_xdata(), np.unique(ridges))
    expected = [scores[ridges == ridge].max() for ridge in np.unique(ridges)]
    assert_allclose(line.get_ydata(), expected)
    *_, dotted, marked = display.ax_.lines
    assert dotted.get_ydata()[0] == scores.max()
    assert marked.get_xdata() == selection.selected["ridge"]
    assert marked.get_ydata() == scores[selection.index]


@pytest.mark.parametrize("name", ["pooling", "target"])
def test_values_that_are_not_finite_numbers_are_equally_spaced(name, iris):
    model = GaussianClassifier().fit(*iris)
    display = SelectionDisplay.from_estimator(model, name)
    texts = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert texts[-1] == {"pooling": "inf", "target": "identity"}[name]
    assert display.ax_.lines[-1].get_xdata() in np.arange(len(texts))


def test_parameters_that_were_not_selected_are_no_candidates(iris):
    model = SQFA(2, covariance_estimator=None, random_state=0).fit(*iris)
    assert list(model.selection_.candidates) == ["regularization"]
    display = SelectionDisplay.from_estimator(model)
    assert display.ax_.get_xlabel() == "regularization"


def test_bad_input(iris):
    model = GaussianClassifier().fit(*iris)
    with pytest.raises(ValueError, match=r"name must be one of \['target', 'poo"):
        SelectionDisplay.from_estimator(model, "gamma")
    with pytest.raises(ValueError, match="selection_ of GaussianClassifier is None"):
        SelectionDisplay.from_estimator(model.set_params(regularization=1).fit(*iris))
    with pytest.raises(TypeError, match="must be an estimator with selection_"):
        SelectionDisplay.from_estimator(GaussianNB().fit(*iris))
