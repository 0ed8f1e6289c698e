"""Base class of the displays, validation of inputs, and class labels as text."""

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skgeom.utils._sklearn import check_matplotlib_support


class Display:
    """Base class of displays with one matplotlib Axes."""

    def _set_axes(self, ax):
        """Set and return ``ax_``: the given axes, or axes of a new figure."""
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
        self.ax_ = check_axes(ax, "ax")
        self.figure_ = ax.figure
        return ax


def check_axes(ax, name):
    """Return ``ax`` if it is a matplotlib Axes; raise TypeError otherwise."""
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise TypeError(
            f"{name} must be a matplotlib Axes, got {type(ax).__name__}. "
            "Create one with plt.subplots()."
        )
    return ax


def fitted_step(estimator, attributes, remedy, *, transformer=False):
    """The estimator, or the last step of a pipeline with one of the attributes.

    With ``transformer=True``, the result must also have the method ``transform``.
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
        f"such a step, got a {type(estimator).__name__}. {remedy}"
    )


def label_text(label):
    """A class label as text. Floats have six digits, which hides rounding errors."""
    return f"{label:g}" if isinstance(label, (float, np.floating)) else str(label)


def sparse_labels(labels):
    """Positions and texts of at most 11 evenly spaced class labels."""
    positions = range(0, len(labels), -(-len(labels) // 11))
    return list(positions), [label_text(labels[k]) for k in positions]


def component_names(transformer, n_components):
    """Names of the outputs of a transformer; numbers if it has no names."""
    try:
        return [str(name) for name in transformer.get_feature_names_out()]
    except (AttributeError, ValueError):  # a step of a pipeline has no names
        return [f"component {k}" for k in range(n_components)]


def checked_dims(dims, n_features):
    """Two different indices, as nonnegative integers; ValueError otherwise."""
    indices = np.asarray(dims)
    if indices.shape == (2,) and indices.dtype.kind in "iu":
        inside = (-n_features <= indices) & (indices < n_features)
        first, second = (indices % n_features).tolist()
        if inside.all() and first != second:
            return [first, second]
    raise ValueError(
        f"dims must be two different indices of the {n_features} features or "
        f"components, got {dims!r}."
    )
