"""Private names of scikit-learn: no other module imports any.

If scikit-learn moves or renames one of them, this file is the only place to change.
"""

# ruff: noqa: F401 (other modules import these names)

from numbers import Real

from sklearn.base import _fit_context as fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils import metaestimators, parallel, validation
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils._openmp_helpers import (
    _openmp_effective_n_threads as effective_n_threads,
)
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    Options,
    StrOptions,
    validate_parameter_constraints,
    validate_params,
)
from sklearn.utils._set_output import _get_output_config as output_config

try:  # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin
    from sklearn.utils._array_api import check_same_namespace

    ARRAY_API = True
except ImportError:
    ARRAY_API = False
    check_same_namespace = None

    class CallbackSupportMixin:
        """Replaces the callbacks of later versions of scikit-learn."""


check_feature_names = validation._check_feature_names
check_method_params = validation._check_method_params
check_sample_weight = validation._check_sample_weight
check_y = validation._check_y
get_feature_names = validation._get_feature_names
num_samples = validation._num_samples
safe_split = metaestimators._safe_split
threadpool_controller = parallel._get_threadpool_controller

positive = Interval(Real, 0, None, closed="neither")


def validated_parameters(**constraints):
    """Decorate a function: validate its parameters, but not those of nested calls."""
    return validate_params(constraints, prefer_skip_nested_validation=True)
