"""All that depends on the version of scikit-learn."""

from copy import copy

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
