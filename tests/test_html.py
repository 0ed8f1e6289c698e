"""HTML of estimators and results in notebooks."""

import tomllib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import (
    SQFA,
    ClassStatistics,
    CovarianceHessianProjection,
    GaussianClassifier,
    baselines,
)


class Cells(HTMLParser):
    """The rows of a table, and whether all tags are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.open = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] in (["td"], ["th"]):
            self.rows[-1].append((self.open[-1], data))


def texts(table):
    return [[text for _, text in row] for row in Cells(table).rows]


@pytest.mark.parametrize(
    "estimator, name",
    [
        (SQFA(), "skgeom.SQFA"),
        (baselines.GeometryAwarePCA(), "skgeom.baselines.GeometryAwarePCA"),
    ],
)
def test_estimators_link_to_their_pages(estimator, name):
    root = Path(__file__).parents[1]
    settings = tomllib.loads((root / "pyproject.toml").read_text())
    site = settings["tool"]["hatch"]["metadata"]["hooks"]["custom"]["documentation"]
    page = f"{site}/generated/{name}.html"
    pipeline = make_pipeline(StandardScaler(), estimator)
    for html in (estimator._repr_html_(), pipeline._repr_html_()):
        assert f'href="{page}"' in html


def test_subclasses_of_users_have_no_page():
    class Own(SQFA):
        """Not a class of skgeom."""

    assert "generated/" not in Own()._repr_html_()


def test_classes_are_rows():
    X = np.arange(12.0).reshape(6, 2) ** 2
    statistics = ClassStatistics.from_data(X, ["<b>", "<b>", "c", "c", "c", "c"])
    assert texts(statistics._repr_html_()) == [
        ["class", "samples"],
        ["<b>", "2"],
        ["c", "4"],
    ]


def test_few_of_many_classes_are_rows():
    X, y = np.arange(800.0)[:, None], np.arange(800) % 400
    html = ClassStatistics.from_data(X, y)._repr_html_()
    assert "800 samples), of which the first 20 classes are shown" in html
    assert texts(html)[1:] == [[str(k), "2"] for k in range(20)]


def test_selected_candidate_is_marked(iris):
    selection = GaussianClassifier().fit(*iris).selection_
    header, *rows = Cells(selection._repr_html_()).rows
    names = [text for _, text in header]
    assert names[-2:] == ["score", "standard error"]
    (marked,) = [[text for _, text in row] for row in rows if row[0][0] == "th"]
    score = float(marked[names.index("score")])
    assert score == pytest.approx(selection.scores[selection.index], abs=1e-3)
    assert marked[names.index("target")] == selection.selected["target"]
    assert 10 <= len(rows) <= 11


def test_conditions_are_rows(iris):
    X, y = iris
    conditions = CovarianceHessianProjection(random_state=0).fit(X, y).conditions_
    rows = texts(conditions._repr_html_())
    assert rows[0] == ["condition", "value"]
    assert [": ".join(row) for row in rows[1:]] == str(conditions).splitlines()


def test_the_address_is_read_from_the_metadata(monkeypatch):
    """Without an installed distribution, there is no address and no link."""
    from importlib.metadata import PackageNotFoundError

    from skgeom.utils import estimator

    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(estimator, "metadata", missing)
    estimator._page_of_estimators.cache_clear()
    assert SQFA()._get_doc_link() == ""
    estimator._page_of_estimators.cache_clear()
    assert isinstance(SQFA(), BaseEstimator)
