"""All that depends on the version of scikit-learn."""

from sklearn.utils._openmp_helpers import (
    _openmp_effective_n_threads as effective_n_threads,  # noqa: F401
)
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metaestimators import _safe_split as safe_split  # noqa: F401
from sklearn.utils.validation import (  # noqa: F401
    _check_feature_names as check_feature_names,
)
from sklearn.utils.validation import (  # noqa: F401
    _check_method_params as check_method_params,
)
from sklearn.utils.validation import (  # noqa: F401
    _check_sample_weight as check_sample_weight,
)

from skgeom.utils._arrays import is_dispatched

try:  # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:
        """Stands for the callbacks that this scikit-learn does not have."""

    def with_callbacks(method):
        """Return the method as it is."""
        return method


try:  # scikit-learn >= 1.9
    from sklearn.utils._array_api import (
        check_same_namespace,
        move_estimator_to,
    )

    ARRAY_API = True
except ImportError:
    ARRAY_API = False
    move_estimator_to = None

    def check_same_namespace(X, estimator, *, attribute, method):
        """Raise if X is of another library than numpy; older versions dispatch less."""
        if is_dispatched(X):
            raise ValueError(
                f"{type(estimator).__name__}.{method} takes arrays of other libraries "
                "than numpy with scikit-learn 1.9 or newer only. Upgrade scikit-learn, "
                "or set_config(array_api_dispatch=False)."
            )


def output_container(estimator, method):
    """What ``set_output`` asks of a method: "default", "pandas" or "polars"."""
    if method != "transform":
        return "default"
    return _get_output_config(method, estimator)["dense"]


class FitCallbacks:
    """Tells scikit-learn's callbacks how a fit of several stages goes on.

    Each stage is a task of the fit, and each iteration a task of its stage. Without
    callbacks, or with a scikit-learn that does not know them, nothing happens.

    Parameters
    ----------
    estimator : estimator
        The estimator that is fitted, a ``CallbackSupportMixin``.
    n_stages, max_iter : int
        Number of stages, and largest number of iterations of each.
    X, y : array-like or None
        The training data, handed to the callbacks.
    """

    def __init__(self, estimator, n_stages, max_iter, X, y):
        self._common = {"estimator": estimator, "X": X, "y": y}
        self._max_iter = max_iter
        self._stage = None
        self._n_iterations = 0  # of the stage
        self._task = None
        self._root = None
        if hasattr(estimator, "_init_callback_context"):
            self._root = estimator._init_callback_context(max_subtasks=n_stages)
            self._root.call_on_fit_task_begin(**self._common)
        self.active = bool(getattr(estimator, "_skl_callbacks", None))

    def iteration(self, stage, attributes):
        """Report an iteration; returns whether a callback asks to end the stage.

        A stage may consist of several searches. What exceeds ``max_iter`` iterations of
        a stage, as it was announced, is not reported.

        ``attributes`` are the fitted attributes with which a copy of the estimator
        could transform as if the fit ended here.
        """
        if stage != self._stage:
            self._end_stage()
            self._stage, self._n_iterations = stage, 0
            self._task = self._root.subcontext(
                task_name="stage", max_subtasks=self._max_iter
            )
            self._task.call_on_fit_task_begin(**self._common)
        self._n_iterations += 1
        if self._n_iterations > self._max_iter:
            return None
        step = self._task.subcontext(task_name="iteration")
        step.call_on_fit_task_begin(**self._common)
        return step.call_on_fit_task_end(
            **self._common, reconstruction_attributes=attributes
        )

    def end(self):
        """Report the end of the fit; the estimator must be fitted by now."""
        if self._root is not None:
            self._end_stage()
            self._root.call_on_fit_task_end(
                **self._common, reconstruction_attributes={}
            )

    def _end_stage(self):
        if self._task is not None:
            self._task.call_on_fit_task_end(**self._common)
            self._task = None
