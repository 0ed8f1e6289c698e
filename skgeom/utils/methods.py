"""Decorators of public methods of estimators.

With scikit-learn's ``array_api_dispatch=True``, fitted attributes and results have the
namespace and device of X, if the class attribute ``_fitted_array`` is the name of a
fitted array. The decorators convert arrays where a method begins and where it ends:

* If X is in CPU memory, NumPy computes everything: X and the fitted attributes are
  converted to NumPy arrays, without a copy unless they are read-only, and the results
  are converted back.
* If X is on a device such as a GPU, the method receives X on the device. A method that
  fits may set fitted attributes to NumPy arrays, which are then moved to the device. A
  method that predicts uses the fitted attributes on the device.
* Inside methods that fit, all other arguments, such as y and ``sample_weight``, and
  ``classes_`` are NumPy arrays. Afterwards, ``classes_`` has the namespace and device
  of y, as in scikit-learn.
"""

from copy import copy
from functools import partial, wraps

import numpy as np
from sklearn import config_context
from sklearn.utils.validation import check_is_fitted

from skgeom.utils._dask import by_blocks, is_dask
from skgeom.utils._sklearn import fit_context
from skgeom.utils.array_api import (
    by_numpy,
    check_holds_numbers,
    check_same_namespace,
    is_by_numpy,
    is_dispatched,
    is_traced,
    like,
    move_attributes,
    moved,
    numbers_like,
    on_cpu,
)
from skgeom.utils.progress import current_progress, training


def fit_method(method=None, *, nested_validation=False, updates=False):
    """Decorate a method that fits an estimator to samples X, as ``fit``.

    The parameters of the estimator are validated, and progress is reported. If the
    method raises an error, the estimator does not change.

    Parameters
    ----------
    method : function
        The method.
    nested_validation : bool, default=False
        Whether nested estimators validate their parameters as well. Use True for
        meta-estimators.
    updates : bool, default=False
        Whether the method changes a fitted estimator, as ``partial_fit``. X must then
        have the namespace of the fitted attributes.
    """
    if method is None:
        options = {"nested_validation": nested_validation, "updates": updates}
        return partial(fit_method, **options)

    @fit_context(prefer_skip_nested_validation=not nested_validation)
    @wraps(method)
    def fit(self, X, *args, **kwargs):
        with training(self):
            if updates:
                _check_continues(self, X, method.__name__)
            if is_dispatched(X) and hasattr(self, "_fitted_array"):
                return _fit_to_library(method, self, X, *args, **kwargs)
            return method(self, X, *args, **kwargs)

    return fit


def statistics_method(method):
    """Decorate a method that fits an estimator to a ``ClassStatistics``.

    As :func:`fit_method`. Fitted attributes have the namespace of the statistics.
    """

    @fit_context(prefer_skip_nested_validation=True)
    @wraps(method)
    def fit_statistics(self, statistics):
        with training(self):
            parts = statistics if isinstance(statistics, list | tuple) else [statistics]
            means = getattr(parts[0], "means", None) if parts else None
            if not is_dispatched(means):
                return method(self, statistics)
            _convert_for_callbacks(means, None)
            here = len(parts) == 1 and is_by_numpy(means)
            method(self, on_host(statistics) if here else statistics)
            move_attributes(self, means)
            return self

    return fit_statistics


def _check_continues(estimator, X, name):
    """Raise ValueError unless X has the namespace of the fitted attributes."""
    array = getattr(estimator, "_fitted_array", None)
    if array is not None and hasattr(estimator, array):
        # The blocks of Dask data are NumPy arrays.
        known = np.empty(0) if is_dask(X) else X
        check_same_namespace(known, estimator, attribute=array, method=name)


def _fit_to_library(method, estimator, X, *args, **kwargs):
    """Call a method that fits an estimator to X, an array of a library."""
    y = args[0] if args else kwargs.get("y")
    for name, value in {"y": y, **kwargs}.items():
        check_holds_numbers(value, name)
    _convert_for_callbacks(X, y)
    if hasattr(estimator, "classes_"):
        estimator.classes_ = on_cpu(estimator.classes_)
    samples = X
    if is_by_numpy(X) and not getattr(estimator, "_needs_library", False):
        samples = on_cpu(X)
        vars(estimator).update(moved(vars(estimator), on_cpu))
    kwargs = {name: on_cpu(value) for name, value in kwargs.items()}
    method(estimator, samples, *map(on_cpu, args), **kwargs)
    move_attributes(estimator, X)
    if is_dispatched(y) and hasattr(estimator, "classes_"):
        estimator.classes_ = numbers_like(estimator.classes_, y)
    return estimator


def _convert_for_callbacks(X, y):
    """Give data and fitted attributes to callbacks as arrays like X and y."""
    current_progress().set_conversion(
        lambda *data: map(numbers_like, data, (X, y)),
        partial(moved, convert=partial(like, model=X)),
    )


def check_fitted(estimator):
    """Raise NotFittedError unless the estimator is fitted."""
    message = None
    if hasattr(estimator, "classes_"):
        message = (
            "%(name)s has samples of one class only. Call partial_fit with samples of "
            "a different class first."
        )
    check_is_fitted(estimator, msg=message)


def predict_method(method):
    """Decorate a method that applies a fitted estimator to samples X.

    The method raises NotFittedError before a fit. If X is the only argument and a Dask
    array or data frame, it is processed lazily, block by block.
    """

    @wraps(method)
    def predict(self, X, *args, **kwargs):
        array = getattr(self, "_fitted_array", None)
        if array is not None and is_dask(X) and not args and not kwargs:
            return by_blocks(predict, self, X)
        check_fitted(self)
        if array is None:
            return method(self, X, *args, **kwargs)
        if isinstance(getattr(self, array), np.ndarray) and not is_dispatched(X):
            return method(self, X, *args, **kwargs)
        if is_traced(X):
            with config_context(assume_finite=True):  # traced X has no values
                return method(self, X, *args, **kwargs)
        check_same_namespace(X, self, attribute=array, method=method.__name__)
        if not is_by_numpy(X) or getattr(self, "_needs_library", False):
            return method(self, X, *args, **kwargs)
        return by_numpy(partial(method, on_host(self)), X, X, *args, **kwargs)

    return predict


def on_host(fitted):
    """A copy of a fitted estimator, or statistics, with NumPy arrays."""
    if hasattr(fitted, "__sklearn_array_api_convert__"):
        return fitted.__sklearn_array_api_convert__(on_cpu)
    result = copy(fitted)
    vars(result).update(moved(vars(fitted), on_cpu))
    if hasattr(fitted, "classes_"):
        result.classes_ = on_cpu(fitted.classes_)
    return result
