"""Inputs of displays: a step of a fitted model, class statistics, numbers."""

from numbers import Real

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skgeom._statistics import ClassStatistics


def fitted_step(estimator, attributes, remedy, *, transformer=False):
    """The estimator, or the last step of a pipeline, that has one of the attributes.

    With ``transformer``, it must have ``transform`` as well.
    """
    check_is_fitted(estimator)
    steps = [estimator]
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in reversed(estimator.steps)]
    for step in steps:
        usable = hasattr(step, "transform") or not transformer
        if usable and any(hasattr(step, attribute) for attribute in attributes):
            return step
    kind = "a transformer" if transformer else "an estimator"
    raise TypeError(
        f"estimator must be {kind} with {' or '.join(attributes)}, or a pipeline with "
        f"one, got a {type(estimator).__name__}. {remedy}"
    )


def check_statistics(statistics):
    """Raise TypeError unless ``statistics`` is a ClassStatistics."""
    if not isinstance(statistics, ClassStatistics):
        raise TypeError(
            "statistics must be a ClassStatistics, made for example by "
            f"ClassStatistics.from_data(X, y), got {type(statistics).__name__}."
        )


def check_positive(value, name):
    """Raise ValueError unless a parameter is a positive finite number."""
    if not (isinstance(value, Real) and 0 < value < np.inf):
        raise ValueError(f"{name} must be positive, got {value!r}.")
