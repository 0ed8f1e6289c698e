"""All that depends on the version of scikit-learn."""

from copy import copy

import numpy as np
from sklearn.utils import get_tags
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
from sklearn.utils.validation import _check_sample_weight
from sklearn.utils.validation import _estimator_has as estimator_has  # noqa: F401

from skgeom.utils._arrays import check_holds_numbers, is_dispatched, namespace

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
        check_same_namespace as _check_same_namespace,
    )
    from sklearn.utils._array_api import (
        move_estimator_to,
    )

    ARRAY_API = True
except ImportError:
    ARRAY_API = False
    move_estimator_to = None

    def _check_same_namespace(X, estimator, *, attribute, method):
        """Older versions dispatch less."""
        check_library(X, estimator)


def check_same_namespace(X, estimator, *, attribute, method):
    """Raise ValueError unless X is of the library that a fitted attribute is of."""
    if is_dispatched(X):
        check_holds_numbers(X)
    _check_same_namespace(X, estimator, attribute=attribute, method=method)
    if namespace(getattr(estimator, attribute)) is not np and not is_dispatched(X):
        raise ValueError(
            f"{type(estimator).__name__} was fitted to arrays of another library than "
            f"numpy. For {method}, set_config(array_api_dispatch=True), or move it to "
            "numpy by sklearn.utils._array_api.move_estimator_to(estimator, numpy, "
            '"cpu").'
        )


def check_library(X, estimator, name=None):
    """Raise ValueError if X is of a library that the estimator is not fitted with."""
    if is_dispatched(X) and not get_tags(estimator).array_api_support:
        version = "" if ARRAY_API else " with this version of scikit-learn"
        raise ValueError(
            f"{name or type(estimator).__name__} does not compute with arrays of other "
            f"libraries than numpy{version}. Give an array of numpy, or "
            "set_config(array_api_dispatch=False)."
        )


# Squares of larger weights, times those of data, may overflow, and those of their
# inverses vanish.
_LARGEST_WEIGHT = 1e75


def check_sample_weight(sample_weight, X, **options):
    """Valid weights of samples, one for each if None, that can be squared.

    Raises
    ------
    ValueError
        If they are malformed, or too large or too small.
    """
    weights = _check_sample_weight(sample_weight, X, **options)
    largest = float(abs(weights).max()) if len(weights) else 1.0
    if largest > _LARGEST_WEIGHT or 0 < largest < 1 / _LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight has numbers up to {largest:.3g}, whose squares leave the "
            "range of floating-point numbers. Divide all weights by their mean."
        )
    return weights


def with_parameters(estimator, parameters):
    """A copy of an estimator, fitted or not, with other parameters."""
    other = copy(estimator)
    vars(other).update(parameters)
    return other


def output_container(estimator, method):
    """What ``set_output`` asks of a method: "default", "pandas" or "polars"."""
    if method != "transform":
        return "default"
    return _get_output_config(method, estimator)["dense"]
