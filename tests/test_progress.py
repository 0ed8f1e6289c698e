"""How fits tell of their progress, and what is left of one that is interrupted."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_spd_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

import skgeom
from skgeom import SQFA
from skgeom.utils.progress import current_progress

X, y = load_iris(return_X_y=True)
MATRICES = np.array([make_spd_matrix(3, random_state=k) for k in range(40)])
MATRICES[20:, 0, 0] += 1
LABELS = np.repeat(["rest", "left"], 20)

# With the names of their stages; what follows a comma is left out.
FILTERS = [
    (SQFA(init="random", n_init=2, random_state=0), "selection start start best"),
    (skgeom.SecondMomentSQFA(init="pca", regularization=1.0), "selection search"),
    (SQFA(group_size=1, init="pca", regularization=1.0), "selection group group"),
    (skgeom.AMAGauss(random_state=0), "selection SQFA"),
    (skgeom.CovarianceHessianProjection(LogisticRegression()), "training Hessian"),
    (skgeom.RSLVQ(tol=1e-4), "training"),
    (skgeom.RSLVQ(solver="sgd", max_iter=5, random_state=0), "training"),
    (skgeom.GMLVQ(n_components=2, tol=1e-4), "training"),
    (skgeom.GaussianClassifier(), "selection"),
    (skgeom.GaussianRegressor(n_points=50), "selection"),
    (skgeom.KernelDiscriminantAnalysis(), "selection kernel discriminants"),
    (skgeom.LandmarkKernelPCA(2), "landmarks kernel principal"),
    (
        skgeom.RejectionClassifier(LogisticRegression(), rejection_rate=0.1, cv=3),
        "training threshold",
    ),
]
PROTOTYPES = [
    (skgeom.PLRSQ(tol=0.1), "training"),
    (skgeom.PLRSQ(solver="sgd", max_iter=5, random_state=0), "training"),
    (skgeom.GLRSQ(metric="logeuclid", tol=0.1), "training"),
]
ALL = [
    *((estimator, stages, X, y) for estimator, stages in FILTERS),
    *((estimator, stages, MATRICES, LABELS) for estimator, stages in PROTOTYPES),
]
everything = pytest.mark.parametrize(
    ("estimator", "stages", "X", "y"),
    ALL,
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
ignores_warnings = pytest.mark.filterwarnings("ignore::UserWarning")


class Recorder:
    """A callback that keeps the tasks, and may raise at one of them."""

    def __init__(self, error=None, at=0):
        self.error, self.at = error, at
        self.open, self.tasks, self.models, self.torn_down = [], [], [], 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context):
        self.open.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, fitted_estimator, X, y):
        assert len(X) == len(y)
        assert self.open.pop() == context.task_name
        self.tasks.append((context.task_name, context.max_subtasks))
        if fitted_estimator is not None:
            self.models.append(fitted_estimator)
        if self.error is not None and len(self.tasks) > self.at:
            raise self.error


def attributes(estimator):
    return {k: v for k, v in vars(estimator).items() if not k.startswith("_skl")}


def outputs(estimator, X):
    for method in ("decision_function", "predict", "transform"):
        if hasattr(estimator, method):
            return getattr(estimator, method)(X)
    raise AttributeError(estimator)


@pytest.fixture
def callbacks():
    pytest.importorskip("sklearn.callback", reason="callbacks need scikit-learn 1.9")


@ignores_warnings
@everything
def test_callbacks_hear_of_each_stage(estimator, stages, X, y, callbacks):
    recorder = Recorder()
    told = clone(estimator).set_callbacks(recorder).fit(X, y)
    assert recorder.open == []
    assert recorder.torn_down == 1
    assert recorder.tasks[-1] == ("fit", None)
    of_stages = [name for name, size in recorder.tasks[:-1] if size != 0]
    seen = [name.split()[0].split(",")[0] for name in of_stages]
    expected = stages.split()
    assert seen[: len(expected)] == expected
    # They change nothing.
    silent = clone(estimator).fit(X, y)
    np.testing.assert_array_equal(outputs(told, X), outputs(silent, X))
    # The models of the iterations can be used, and the last one is the result.
    for model in recorder.models:
        assert np.isfinite(outputs(model, X)).all()
    np.testing.assert_array_equal(outputs(recorder.models[-1], X), outputs(silent, X))


@ignores_warnings
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError("of the user")])
@pytest.mark.parametrize(
    "estimator",
    [
        SQFA(regularization=1.0),
        skgeom.GMLVQ(tol=1e-4),
        skgeom.KernelDiscriminantAnalysis(),
    ],
    ids=repr,
)
def test_an_error_of_a_callback_changes_nothing(estimator, error, callbacks):
    for at in (0, 3):
        recorder = Recorder(error, at)
        model = clone(estimator).set_callbacks(recorder)
        before = attributes(model)
        with pytest.raises(type(error) if isinstance(error, Exception) else error):
            model.fit(X, y)
        assert attributes(model) == before
        assert recorder.torn_down == 1
        assert not hasattr(model, "_callback_fit_ctx")
        # Nor does it stand in the way of the next fit, or of other fits.
        model.set_callbacks().fit(X, y)
        check_is_fitted(model)
        assert not current_progress().active
    before = attributes(model)
    model.set_callbacks(Recorder(error, 2))
    with pytest.raises(BaseException, match=""):
        model.fit(X, y)
    after = attributes(model)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


@ignores_warnings
@pytest.mark.parametrize(
    ("model", "last"),
    [
        (skgeom.GMLVQ(tol=1e-6), 3),
        (skgeom.RSLVQ(tol=1e-9), 3),
        (skgeom.RSLVQ(solver="sgd", max_iter=10), 3),
    ],
)
def test_a_callback_ends_the_training(model, last, callbacks):
    class Enough(Recorder):
        def on_fit_task_end(self, estimator, context, **_):
            return context.task_name in ("epoch", "iteration") and context.task_id == 2

    model = clone(model).set_callbacks(Enough()).fit(X, y)
    assert model.n_iter_ == last
    assert model.predict(X).shape == y.shape


@ignores_warnings
@pytest.mark.parametrize("estimator", [SQFA(), skgeom.RSLVQ(max_iter=2)])
def test_callbacks_end_when_a_fit_is_refused(estimator, callbacks):
    """Their threads would otherwise keep the process alive."""
    recorder = Recorder()
    model = clone(estimator).set_callbacks(recorder)
    with pytest.raises(ValueError, match="at least 2 classes"):
        model.fit(X, np.zeros(len(y)))
    model.set_callbacks(Recorder(KeyboardInterrupt, 1))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model._skl_callbacks[0].torn_down == 1


@ignores_warnings
def test_scoring_monitor_of_scikit_learn(callbacks):
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="accuracy")
    model = skgeom.GMLVQ(tol=1e-4).set_callbacks(monitor).fit(X, y)
    rows = monitor.get_logs().data
    scores = [row["accuracy"] for row in rows if row["task_name"] == "iteration"]
    assert len(scores) == model.n_iter_
    assert scores[-1] == model.score(X, y)
