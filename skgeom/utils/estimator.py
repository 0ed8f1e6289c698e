"""The decorator of public methods of estimators, and what it requires.

With scikit-learn's ``array_api_dispatch=True``, fitted attributes and results have the
namespace and device of X. If X is on a device such as a GPU, the library of X computes
them. If X is in CPU memory, NumPy computes them: the decorator converts the arguments
and the fitted attributes to NumPy arrays, calls the method, and converts the results
back. Only read-only arrays are copied.
"""

import inspect
import re
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from functools import partial, wraps
from numbers import Real
from textwrap import indent
from threading import RLock
from time import monotonic

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn import config_context
from sklearn.base import BaseEstimator as _BaseEstimator
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils import metaestimators, validation
from sklearn.utils._param_validation import (
    Interval,
    validate_parameter_constraints,
    validate_params,
)
from sklearn.utils.validation import check_is_fitted

from skgeom.utils._dask import by_blocks, score_by_blocks
from skgeom.utils.array_api import (
    ARRAY_API,
    by_numpy,
    check_holds_numbers,
    check_same_namespace,
    float_dtypes,
    is_by_numpy,
    is_dask,
    is_dispatched,
    is_traced,
    like,
    move_attributes,
    moved,
    naming,
    numbers_like,
    on_cpu,
)

try:  # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class CallbackSupportMixin:
        """Replaces the callbacks of later versions of scikit-learn."""


positive = Interval(Real, 0, None, closed="neither")
# Private functions of scikit-learn, for all modules.
check_feature_names = validation._check_feature_names
check_method_params = validation._check_method_params
get_feature_names = validation._get_feature_names
safe_split = metaestimators._safe_split

# The progress of the fit in this thread. Code that starts threads must pass it to them.
_CURRENT = ContextVar("_CURRENT", default=None)

# Minimum time in seconds between printed lines about steps with verbose=1.
_SECONDS = 1.0

# Attributes that scikit-learn requires to end its callbacks after a fit, and removes.
_OF_CALLBACKS = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")


class BaseEstimator(_BaseEstimator):
    """scikit-learn's base class, with the version of skgeom in the stored state.

    Loading the state of a different version of skgeom raises a warning, as scikit-learn
    does for its own versions.
    """

    # Kinds of samples, and whether they may be sparse or arrays of other libraries.
    _accepts_vectors, _accepts_matrices = True, False
    _accepts_sparse = _accepts_libraries = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self._accepts_vectors
        tags.input_tags.three_d_array = self._accepts_matrices
        tags.input_tags.sparse = self._accepts_sparse
        tags.array_api_support = ARRAY_API and self._accepts_libraries
        return tags

    def _validate_params(self):
        for name, value in self.get_params(deep=False).items():
            with naming(name):  # a Fraction, for example, has no np.isnan
                validate_parameter_constraints(
                    self._parameter_constraints, {name: value}, type(self).__name__
                )

    def __getstate__(self):
        from skgeom import __version__

        return super().__getstate__() | {"_skgeom_version": __version__}

    def __setstate__(self, state):
        from skgeom import __version__

        state = dict(state)
        stored_by = state.pop("_skgeom_version", "unknown")
        if stored_by != __version__:
            warnings.warn(
                InconsistentVersionWarning(
                    estimator_name=type(self).__name__,
                    current_sklearn_version=__version__,
                    original_sklearn_version=stored_by,
                ),
                stacklevel=2,
            )
        super().__setstate__(state)


def check_not_masked(array, name):
    """Raise ValueError for masked values, which scikit-learn would use."""
    if np.ma.is_masked(array):
        raise ValueError(
            f"{name} contains masked values. Remove or impute such values first."
        )


def validate_data(estimator, X, /, **options):
    """scikit-learn's ``validate_data``, with errors that name X.

    Accepted sparse samples become a ``csr_array`` in canonical form: the column indices
    of a row are sorted and distinct. Functions of SciPy that require this form would
    otherwise modify X, and fail for read-only X, and sums of squares of the stored
    entries would be wrong.
    """
    check_not_masked(X, "X")
    with naming("X"):
        if issparse(X) and options.get("accept_sparse"):
            X = csr_array(X)  # shares the memory of a CSR array
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
        X = validation.validate_data(estimator, X, **options)
    return csr_array(X) if issparse(X) else X  # of a sparse data frame


def validated_parameters(**constraints):
    """Decorate a function: validate its parameters, but not those of nested calls."""
    return validate_params(constraints, prefer_skip_nested_validation=True)


def estimator_method(method=None, *, nested_validation=False):
    """Decorate a public method of an estimator.

    The effect depends on the name of the method:

    ``fit``, ``partial_fit``, ``fit_statistics``
        The parameters of the estimator are validated, as by scikit-learn's
        ``_fit_context``, and progress is reported. If the method raises an error, the
        estimator does not change. The first argument is X or a ``ClassStatistics``.
    ``adapt``, ``partial_adapt``
        The same, without validation of the parameters.
    ``score``
        X and y may also be Dask arrays or data frames.
    all other methods
        The method raises NotFittedError before a fit. If X is the only argument and a
        Dask array or data frame, it is processed lazily, block by block.

    If the class attribute ``_fitted_array`` is the name of a fitted array, X may be an
    array of any namespace. Results and fitted attributes have the namespace and device
    of X. Only ``classes_`` has the namespace and device of y, as in scikit-learn;
    inside the methods, ``classes_`` is a NumPy array.

    Parameters
    ----------
    method : function
        The method.
    nested_validation : bool, default=False
        Whether nested estimators validate their parameters as well. Use True for
        meta-estimators.
    """
    if method is None:
        return partial(estimator_method, nested_validation=nested_validation)
    name = method.__name__
    if name in ("fit", "partial_fit", "fit_statistics"):
        context = _fit_context(prefer_skip_nested_validation=not nested_validation)
        return context(_fit(method))
    if name in ("adapt", "partial_adapt"):
        return _fit(method)
    return score_by_blocks(method) if name == "score" else _predict(method)


def _fit(method):
    name = method.__name__

    @wraps(method)
    def fit(self, X, *args, **kwargs):
        with _training(self):
            array = getattr(self, "_fitted_array", None)
            if name == "fit_statistics":
                return _fit_statistics(method, self, X)
            continues = name == "partial_fit" or getattr(self, "warm_start", False)
            if array is not None and continues and hasattr(self, array):
                # The blocks of Dask data are NumPy arrays.
                known = np.empty(0) if is_dask(X) else X
                check_same_namespace(known, self, attribute=array, method=name)
            if array is None or not is_dispatched(X):
                return method(self, X, *args, **kwargs)
            y = args[0] if args else kwargs.get("y")
            for label, value in {"y": y, **kwargs}.items():
                check_holds_numbers(value, label)
            if hasattr(self, "classes_"):
                self.classes_ = on_cpu(self.classes_)
            if is_by_numpy(X) and not getattr(self, "_needs_library", False):
                current_progress().set_data(X, y)
                vars(self).update(moved(vars(self), on_cpu))
                by_numpy(partial(method, self), X, X, *args, **kwargs)
                move_attributes(self, X)
            else:
                method(self, X, *args, **kwargs)
            if is_dispatched(y) and hasattr(self, "classes_"):
                self.classes_ = numbers_like(self.classes_, y)
            return self

    return fit


def _fit_statistics(method, estimator, statistics):
    means = getattr(statistics, "means", None)
    if not is_by_numpy(means):
        return method(estimator, statistics)
    method(estimator, statistics.__sklearn_array_api_convert__(on_cpu))
    move_attributes(estimator, means)
    return estimator


def _predict(method):
    name = method.__name__

    @wraps(method)
    def predict(self, X, *args, **kwargs):
        has_array = getattr(self, "_fitted_array", None) is not None
        if has_array and is_dask(X) and not args and not kwargs:
            return by_blocks(predict, self, X)
        check_is_fitted(self)
        if not has_array:
            return method(self, X, *args, **kwargs)
        if is_traced(X):
            with config_context(assume_finite=True):  # traced X has no values
                return method(self, X, *args, **kwargs)
        check_same_namespace(X, self, attribute=self._fitted_array, method=name)
        if not is_by_numpy(X) or getattr(self, "_needs_library", False):
            return method(self, X, *args, **kwargs)
        of_numpy = copy(self)
        vars(of_numpy).update(moved(vars(self), on_cpu))
        if hasattr(self, "classes_"):
            of_numpy.classes_ = on_cpu(self.classes_)
        return by_numpy(partial(method, of_numpy), X, X, *args, **kwargs)

    return predict


class LinearProjection(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Base class of projections onto ``components_`` learned from labeled samples."""

    _fitted_array = "components_"

    @estimator_method
    def transform(self, X):
        """Project samples onto the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples, in the array namespace of ``components_``. They may be sparse
            if ``fit`` accepts sparse samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The products ``X @ components_.T``, without centering. They have the dtype
            float32 if X has the dtype float32, and float64 otherwise.
        """
        sparse = "csr" if self._accepts_sparse else False
        options = {"accept_sparse": sparse, "dtype": float_dtypes(X)}
        X = validate_data(self, X, reset=False, **options)
        return X @ like(self.components_, X, X.dtype).T

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@contextmanager
def _training(estimator):
    """Context of a fit. Reports progress, and restores the estimator after errors."""
    before = vars(estimator).copy()
    progress = FitProgress(estimator)
    token = _CURRENT.set(progress)
    try:
        yield
        progress.end()
    except BaseException:
        kept = {k: v for k, v in vars(estimator).items() if k in _OF_CALLBACKS}
        vars(estimator).clear()
        vars(estimator).update(before | kept)
        raise
    finally:
        _CURRENT.reset(token)


def named_like_fit(X, estimator):
    """Samples as a data frame with the ``feature_names_in_`` of an estimator.

    X is returned unchanged without these names, or without pandas.
    """
    if not hasattr(estimator, "feature_names_in_"):
        return X
    try:
        import pandas as pd
    except ImportError:
        return X
    return pd.DataFrame(X, columns=estimator.feature_names_in_)


def substitute_docs(**paragraphs):
    """Replace lines ``{name}`` in the docstring of a class or function by paragraphs.

    A paragraph is indented like the line that it replaces.
    """

    def decorate(documented):
        def paragraph(match):
            return indent(inspect.cleandoc(paragraphs[match["name"]]), match["indent"])

        documented.__doc__ = re.sub(
            r"^(?P<indent> *)\{(?P<name>\w+)\}$",
            paragraph,
            documented.__doc__,
            flags=re.MULTILINE,
        )
        return documented

    return decorate


def documented_parameters(*documented):
    """The descriptions of parameters and attributes in docstrings, by name."""
    text = "\n".join(inspect.cleandoc(part.__doc__) for part in documented)
    paragraphs = re.finditer(r"^(\w+) : .+(?:\n+ +.+)*", text, flags=re.MULTILINE)
    return {paragraph[1]: "\n" + paragraph[0] for paragraph in paragraphs}


def current_progress():
    """The :class:`FitProgress` of the current fit, or an inactive one without a fit."""
    return _CURRENT.get() or FitProgress()


class FitProgress:
    """Reports the progress of a fit to the callbacks of the estimator, and prints it.

    A fit consists of stages, and a stage consists of steps. Stages and steps are tasks
    of the callbacks, if this version of scikit-learn has callbacks. If the parameter
    ``verbose`` is positive, lines are printed at the end of each stage, and for steps.
    With ``verbose=1``, the steps of a stage with a name print at most one line per
    second. Threads may share an object.

    Attributes
    ----------
    active : bool
        Whether progress is printed or reported to callbacks.
    """

    def __init__(self, estimator=None):
        self._verbose = int(getattr(estimator, "verbose", 0))
        callbacks = getattr(estimator, "_skl_callbacks", None)
        self.active = bool(callbacks or self._verbose)
        self._name = type(estimator).__name__
        # The method that creates the task of the fit for the callbacks.
        self._begin = getattr(estimator, "_init_callback_context", None)
        self._common = {"estimator": estimator}
        self._lock = RLock()
        self._root = self._task = self._stage = self._line = None
        self._models = None
        self._printed = monotonic()

    def set_data(self, X, y):
        """Pass arrays with the namespaces of X and y to the callbacks from now on."""
        self._models = X, y

    def start(self, X=None, y=None):
        """Begin the task of the fit, with training data, unless it has begun."""
        if self._models is not None:
            X, y = map(numbers_like, (X, y), self._models)
        if self._root is None and self._begin is not None:
            self._common |= {"X": X, "y": y}
            # The number of stages is unknown.
            self._root = self._begin(max_subtasks=None)
            self._root.call_on_fit_task_begin(**self._common)

    def step(
        self,
        stage,
        message,
        attributes=None,
        *,
        n_steps=None,
        name="iteration",
    ):
        """Report a step. Returns whether a callback requests the end of the stage.

        Parameters
        ----------
        stage : str
            Name of the stage. A new name ends the previous stage. Empty if the fit has
            only one stage.
        message : str
            The printed description of the step.
        attributes : dict or callable, default=None
            The fitted attributes that the estimator would have if the fit ended after
            this step, or a function that returns them.
        n_steps : int, default=None
            Largest number of steps of the stage; None if unknown.
        name : str, default="iteration"
            The printed name of a step.
        """
        with self._lock:
            self.stage(stage, n_steps)
            self._n_steps += 1
            if stage:
                steps = f"{self._n_steps} {name}" + "s" * (self._n_steps != 1)
                self._line = f"{stage}: {message} after {steps}"
                self.note(f"{stage}, {name} {self._n_steps}: {message}")
            else:
                self.print(f"{name} {self._n_steps}: {message}")
            if self._task is None or self._n_steps > self._most_steps:
                return None
            task = self._task.subcontext(task_name=name)
            task.call_on_fit_task_begin(**self._common)
            if self._models is not None and attributes is not None:
                attributes = partial(self._placed, attributes)
            return task.call_on_fit_task_end(
                **self._common, reconstruction_attributes=attributes
            )

    def _placed(self, attributes):
        """Fitted attributes on the device of X."""
        found = attributes() if callable(attributes) else attributes
        return moved(found, partial(like, model=self._models[0]))

    def note(self, line):
        """Print a line. With ``verbose=1``, print at most one such line per second."""
        now = monotonic()
        if self._verbose > 1 or (self._verbose and now >= self._printed + _SECONDS):
            self.print(line)

    def print(self, line):
        """Print a line if ``verbose`` is positive."""
        if self._verbose:
            self._printed = monotonic()
            print(f"[{self._name}] {line}", flush=True)

    def end(self):
        """Report the end of the fit. The estimator must be fitted."""
        self.end_stage()
        if self._root is not None:
            self._root.call_on_fit_task_end(
                **self._common, reconstruction_attributes={}
            )

    def end_stage(self):
        """End the current stage, if there is one."""
        if self._line is not None:
            self.print(self._line)
        if self._task is not None:
            self._task.call_on_fit_task_end(**self._common)
        self._stage = self._task = self._line = None

    def stage(self, stage, n_steps=None):
        """Begin a stage, unless it is the current one; see :meth:`step`."""
        if stage == self._stage:
            return
        self.end_stage()
        self._stage, self._n_steps = stage, 0
        self._most_steps = float("inf") if n_steps is None else n_steps
        if self._root is not None:
            self._task = self._root.subcontext(
                task_name=stage or "training", max_subtasks=n_steps
            )
            self._task.call_on_fit_task_begin(**self._common)
