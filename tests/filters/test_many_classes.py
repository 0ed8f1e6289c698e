"""SQFA with so many classes that pairs of them are sampled."""

import autograd.numpy as anp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgeom import SQFA, ClassStatistics, SecondMomentSQFA
from skgeom.objectives import StudentT


def euclidean(means_a, covariances_a, means_b, covariances_b):
    of_means = anp.sum((means_a - means_b) ** 2, axis=1)
    return of_means + anp.sum((covariances_a - covariances_b) ** 2, axis=(1, 2))


@pytest.fixture(params=[pytest.param(1000, marks=pytest.mark.exhaustive), 6])
def few(request, monkeypatch):
    sizes = {"FEW_PAIRS": 100, "_LEAST": 60, "_FIRST": 3, "_LAST": request.param}
    for name, value in sizes.items():
        monkeypatch.setattr(f"skgeom.objectives._pairs.{name}", value)


@pytest.fixture
def statistics(rng):
    """24 classes that differ in mean and covariance along some of seven directions."""
    means = rng.normal(size=(24, 7)) * np.r_[2, 2, 1, 1, 0.1, 0.1, 0.1]
    deviations = np.exp(rng.normal(size=(24, 7)) * np.r_[0.1, 0.1, 1, 1, 0.1, 0.1, 0.1])
    covariances = deviations[:, :, None] ** 2 * np.eye(7)
    return ClassStatistics(range(24), [50] * 24, means, covariances)


ALL = np.arange(24)
MODELS = {
    "fisher-rao": SQFA(2),
    "squared": SQFA(2, squared=True),
    "hellinger": SQFA(2, distance="hellinger"),
    "orthonormal": SQFA(2, constraint="orthonormal"),
    "Student t": SQFA(2, distance=StudentT(5)),
    "function": SQFA(2, distance=euclidean),
    "groups": SQFA(3, group_size=2),
    "no regularization": SQFA(2, regularization=0),
    "pair weights": SQFA(2, pair_weight=1 / (1 + np.abs(np.subtract.outer(ALL, ALL)))),
    "second moments": SecondMomentSQFA(2),
    "one start": SQFA(2, init="pca", n_init=1),
}


def objective_of(model):
    distances = model.class_distances() ** (1 + model.squared)
    i, j = np.triu_indices(len(distances), 1)
    weights = None if model.pair_weight is None else model.pair_weight[i, j]
    return np.average(distances[i, j], weights=weights)


FAST = ("fisher-rao", "pair weights", "second moments")


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(
            model, marks=[] if name in FAST else pytest.mark.exhaustive, id=name
        )
        for name, model in MODELS.items()
    ],
)
def test_objective_is_near_that_of_all_pairs(model, statistics, few, monkeypatch):
    model.set_params(random_state=0)
    model.fit_statistics(statistics)
    assert model.objective_ == pytest.approx(objective_of(model), rel=1e-6)
    components, value = model.components_, model.objective_
    assert_array_equal(model.fit_statistics(statistics).components_, components)
    monkeypatch.setattr("skgeom.objectives._pairs.FEW_PAIRS", 1000)
    assert value > 0.97 * model.fit_statistics(statistics).objective_


def test_more_than_a_hundred_classes(make_gaussians):
    """Without changes of any limit; the classes differ along two axes only."""
    means, covariances = make_gaussians((130,), 2)
    means = np.pad(means, ((0, 0), (0, 2)))
    covariances = np.stack([np.pad(c, ((0, 2), (0, 2))) for c in covariances])
    covariances[:, [2, 3], [2, 3]] = 1
    statistics = ClassStatistics(range(130), [50] * 130, means, covariances)
    model = SQFA(2, random_state=0).fit_statistics(statistics)
    assert_allclose(model.components_[:, 2:], 0, atol=1e-2)
    assert model.objective_ == pytest.approx(objective_of(model), rel=1e-9)
