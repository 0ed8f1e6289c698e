"""Axes of displays: their making, their limits, and class labels as text."""

import numpy as np

# If there are more classes than this, some labels are left out along an axis.
_MOST_LABELS = 11
# Smallest ratio of width to length of what is shown in a plane.
_LEAST_WIDTH = 0.1


def new_axes(count=None):
    """Axes of a new figure: one, or an array of several."""
    import matplotlib.pyplot as plt

    width = 5 if count is None else 3.7 * count
    _, axes = plt.subplots(
        1,
        count or 1,
        figsize=(width, 3.6),
        layout="constrained",
        squeeze=count is None,
    )
    return axes if count is None else axes[0]


def one_axes(ax):
    """The given axes, or those of a new figure."""
    return new_axes() if ax is None else _checked_axes(ax, "ax")


def several_axes(axes, count, parts):
    """Given axes as a flat array; ``parts`` names in text what each of them shows."""
    axes = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
    if len(axes) != count:
        raise ValueError(
            f"axes must have one entry for each of the {count} {parts}, got "
            f"{len(axes)}."
        )
    for ax in axes:
        _checked_axes(ax, "each of axes")
    return axes


def _checked_axes(ax, name):
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise TypeError(
            f"{name} must be a matplotlib Axes, as plt.subplots() makes them, got "
            f"{type(ax).__name__}."
        )
    return ax


def new_grid(count, n_columns, width, height):
    """A flat array of ``count`` axes in a new figure: a grid of panels of one size."""
    import matplotlib.pyplot as plt

    n_rows = -(-count // n_columns)
    _, axes = plt.subplots(
        n_rows,
        n_columns,
        figsize=(width * n_columns, height * n_rows),
        layout="constrained",
        squeeze=False,
    )
    axes = axes.ravel()
    for ax in axes[count:]:
        ax.remove()
    return axes[:count]


def keep_width(ax):
    """Widen the limits of axes of equal aspect that show a line along one of them."""
    low, high = ax.dataLim.min, ax.dataLim.max
    half = _LEAST_WIDTH / 2 * (high - low).max()
    ax.update_datalim([(low + high) / 2 - half, (low + high) / 2 + half])


def columns_of_grid(count):
    """Number of columns that leaves the fewest places of a grid empty.

    It is from sqrt(count), as for a square grid, to twice that number.
    """
    smallest = int(np.ceil(np.sqrt(count)))
    return min(range(smallest, 2 * smallest + 1), key=lambda n: (-count % n, n))


def label_text(label):
    """A class label as text; floats with six digits, as 0.1 + 0.2 has rounding."""
    return f"{label:g}" if isinstance(label, (float, np.floating)) else str(label)


def legend_text(label):
    """A class label as text for a legend, which ignores names that begin with "_"."""
    text = label_text(label)
    return f" {text}" if text.startswith("_") else text


def sparse_labels(labels):
    """Positions and texts of as many class labels as are readable along an axis."""
    positions = range(0, len(labels), -(-len(labels) // _MOST_LABELS))
    return list(positions), [label_text(labels[k]) for k in positions]
