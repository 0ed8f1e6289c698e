"""Decorators of public methods of estimators.

With scikit-learn's ``array_api_dispatch=True``, fitted attributes and results have the
namespace and device of X. If X is on a device such as a GPU, the library of X computes
them. If X is in CPU memory, NumPy computes them: the decorators convert the arguments
and the fitted attributes to NumPy arrays, call the method, and convert the results
back. Only read-only arrays are copied.

If the class attribute ``_fitted_array`` is the name of a fitted array, X may be an
array of any namespace. Only ``classes_`` has the namespace and device of y, as in
scikit-learn; inside the methods, ``classes_`` is a NumPy array.
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
    move_attributes,
    moved,
    numbers_like,
    on_cpu,
)
from skgeom.utils.progress import current_progress, training


def fit_method(method=None, *, nested_validation=False):
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
    """
    if method is None:
        return partial(fit_method, nested_validation=nested_validation)

    @fit_context(prefer_skip_nested_validation=not nested_validation)
    @wraps(method)
    def fit(self, X, *args, **kwargs):
        with training(self):
            continues = getattr(self, "warm_start", False)
            return _train(method, continues, self, X, *args, **kwargs)

    return fit


def update_method(method):
    """Decorate a method that changes a fitted estimator, as ``partial_fit``.

    As :func:`fit_method`, but X must have the namespace of the fitted attributes, and
    ``partial_fit`` validates the parameters only if the estimator is not fitted.
    """

    @fit_context(prefer_skip_nested_validation=True)
    @wraps(method)
    def update(self, X, *args, **kwargs):
        with training(self):
            return _train(method, True, self, X, *args, **kwargs)

    return update


def statistics_method(method):
    """Decorate a method that fits an estimator to a ``ClassStatistics``.

    As :func:`fit_method`. Fitted attributes have the namespace of the statistics.
    """

    @fit_context(prefer_skip_nested_validation=True)
    @wraps(method)
    def fit_statistics(self, statistics):
        with training(self):
            means = getattr(statistics, "means", None)
            if not is_by_numpy(means):
                return method(self, statistics)
            method(self, statistics.__sklearn_array_api_convert__(on_cpu))
            move_attributes(self, means)
            return self

    return fit_statistics


def _train(method, continues, estimator, X, *args, **kwargs):
    """Call a method that fits an estimator to X, an array of any namespace."""
    array = getattr(estimator, "_fitted_array", None)
    if array is not None and continues and hasattr(estimator, array):
        # The blocks of Dask data are NumPy arrays.
        known = np.empty(0) if is_dask(X) else X
        name = method.__name__
        check_same_namespace(known, estimator, attribute=array, method=name)
    if array is None or not is_dispatched(X):
        return method(estimator, X, *args, **kwargs)
    y = args[0] if args else kwargs.get("y")
    for label, value in {"y": y, **kwargs}.items():
        check_holds_numbers(value, label)
    if hasattr(estimator, "classes_"):
        estimator.classes_ = on_cpu(estimator.classes_)
    if is_by_numpy(X) and not getattr(estimator, "_needs_library", False):
        current_progress().set_data(X, y)
        vars(estimator).update(moved(vars(estimator), on_cpu))
        by_numpy(partial(method, estimator), X, X, *args, **kwargs)
        move_attributes(estimator, X)
    else:
        method(estimator, X, *args, **kwargs)
    if is_dispatched(y) and hasattr(estimator, "classes_"):
        estimator.classes_ = numbers_like(estimator.classes_, y)
    return estimator


def predict_method(method):
    """Decorate a method that applies a fitted estimator to samples X.

    The method raises NotFittedError before a fit. If X is the only argument and a Dask
    array or data frame, it is processed lazily, block by block.
    """
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
