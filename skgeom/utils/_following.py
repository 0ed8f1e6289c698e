"""Everything follows X: methods of estimators that take arrays of any library.

With scikit-learn's ``array_api_dispatch=True``, fitted attributes and results are of
the library of X. What computes them is that library where X lies on a device. Where X
lies in the memory of the host, it is numpy, which reads X there: then the methods
themselves get arrays of numpy, and an estimator whose fitted attributes are such.
Nothing is copied in either direction, except arrays that must not be written to.
"""

from copy import copy
from functools import partial, wraps

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skgeom.utils._arrays import (
    by_numpy,
    check_holds_numbers,
    is_by_numpy,
    is_dispatched,
    move_attributes,
    moved,
    numbers_like,
    on_host,
)
from skgeom.utils._dask import is_dask
from skgeom.utils._progress import current_progress
from skgeom.utils._sklearn import check_same_namespace


def follows_X(method):
    """A ``fit`` or ``partial_fit`` whose fitted attributes are of the library of X.

    The classes alone follow y, as in scikit-learn; inside, they are numpy's. An
    estimator names the attribute by which its library is known, ``_fitted_array``.
    """

    @wraps(method)
    def fit(self, X, *args, **kwargs):
        goes_on = method.__name__ == "partial_fit" or getattr(self, "warm_start", False)
        if goes_on and hasattr(self, self._fitted_array):
            # Blocks of Dask are arrays of numpy.
            _check_library(self, np.empty(0) if is_dask(X) else X, method)
        if not is_dispatched(X):
            return method(self, X, *args, **kwargs)
        y = args[0] if args else kwargs.get("y")
        computed_by_numpy = _is_by_numpy(self, X)
        for name, value in {"y": y, **kwargs}.items():
            check_holds_numbers(value, name)
        if hasattr(self, "classes_"):
            self.classes_ = on_host(self.classes_)
        if not computed_by_numpy:
            method(self, X, *args, **kwargs)
        else:
            current_progress().beside(X, y)
            vars(self).update(moved(vars(self), on_host))
            by_numpy(partial(method, self), X, X, *args, **kwargs)
            move_attributes(self, X)
        if is_dispatched(y) and hasattr(self, "classes_"):
            self.classes_ = numbers_like(self.classes_, y)
        return self

    return fit


def follows_statistics(method):
    """A ``fit_statistics`` whose fitted attributes are of their library."""

    @wraps(method)
    def fit(self, statistics):
        means = getattr(statistics, "means", None)
        if not is_by_numpy(means):
            return method(self, statistics)
        method(self, statistics.__sklearn_array_api_convert__(on_host))
        move_attributes(self, means)
        return self

    return fit


def follows_fit(method):
    """A method of a fitted estimator, of samples of the library of the fit.

    It raises NotFittedError before a fit, and ValueError if X is of another library or
    lies elsewhere.
    """

    @wraps(method)
    def wrapper(self, X, *args, **kwargs):
        check_is_fitted(self)
        _check_library(self, X, method)
        if not _is_by_numpy(self, X):
            return method(self, X, *args, **kwargs)
        of_numpy = copy(self)
        vars(of_numpy).update(moved(vars(self), on_host))
        if hasattr(self, "classes_"):
            of_numpy.classes_ = on_host(self.classes_)
        return by_numpy(partial(method, of_numpy), X, X, *args, **kwargs)

    return wrapper


def _check_library(estimator, X, method):
    check_same_namespace(
        X, estimator, attribute=estimator._fitted_array, method=method.__name__
    )


def _is_by_numpy(estimator, X):
    """Whether X lies where numpy computes, and nothing of the user's needs its type."""
    return is_by_numpy(X) and not getattr(estimator, "_needs_library", False)
