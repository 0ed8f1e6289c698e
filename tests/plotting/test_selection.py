"""SelectionDisplay draws the scores of the candidates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skgeom import GaussianClassifier
from skgeom.plotting import SelectionDisplay


def test_from_estimator(iris):
    model = make_pipeline(PCA(3), GaussianClassifier()).fit(*iris)
    selection = model[-1].selection_
    display = SelectionDisplay.from_estimator(model, color="red")
    assert display.ax_.get_xlabel() == "ridge" and display.ax_.get_xscale() == "log"
    line, _, _ = display.errorbar_.lines
    selected, candidates = selection.selected, selection.candidates
    shown = candidates["target"] == selected["target"]
    shown &= candidates["pooling"] == selected["pooling"]
    assert_allclose(line.get_xdata(), candidates["ridge"][shown][::-1])
    assert_allclose(line.get_ydata(), selection.scores[shown][::-1])
    marked = display.ax_.lines[-1]
    assert marked.get_xdata() == selected["ridge"]
    assert marked.get_ydata() == selection.scores[selection.index]
    display = SelectionDisplay.from_estimator(model, "pooling", ax=display.ax_)
    assert np.isfinite(display.errorbar_.lines[0].get_xdata()).all()


def test_bad_input(iris):
    model = GaussianClassifier().fit(*iris)
    with pytest.raises(ValueError, match=r"name must be one of \['pooling', 'ridge'\]"):
        SelectionDisplay.from_estimator(model, "target")
    with pytest.raises(ValueError, match="selection_ of GaussianClassifier is None"):
        SelectionDisplay.from_estimator(model.set_params(regularization=1).fit(*iris))
    with pytest.raises(TypeError, match="must be an estimator with selection_"):
        SelectionDisplay.from_estimator(GaussianNB().fit(*iris))
