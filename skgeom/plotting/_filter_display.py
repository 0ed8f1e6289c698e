"""Display of linear filters as images or curves."""

from math import isqrt, prod
from numbers import Integral

import numpy as np

from skgeom.plotting._display import Display, check_axes, fitted_step
from skgeom.utils._sklearn import check_matplotlib_support
from skgeom.utils.methods import on_host
from skgeom.utils.validation import check_finite, real_array


class FilterDisplay(Display):
    """Display of linear filters as images or curves.

    Use :meth:`from_estimator` to create and draw the display of a fitted estimator. To
    show an array of filters, create the display from the array and call :meth:`plot`.

    Parameters
    ----------
    filters : array-like of shape (n_filters, n_rows, n_columns) or (n_filters, n)
        The filters: images, or curves with n points.
    titles : array-like of str of shape (n_filters,), default=None
        Titles of the filters. None draws no titles.

    Attributes
    ----------
    images_ : list of matplotlib AxesImage
        The images, one per filter; empty for curves.
    lines_ : list of matplotlib Line2D
        The curves, one per filter; empty for images.
    axes_ : ndarray of shape (n_filters,)
        The axes of the display, one per filter.
    figure_ : matplotlib Figure
        The figure of the axes.

    See Also
    --------
    ClassEllipsesDisplay : Class means and covariances in two dimensions.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.decomposition import PCA
    >>> from skgeom.plotting import FilterDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> display = FilterDisplay.from_estimator(PCA(6).fit(X), shape=(8, 8))
    >>> [ax.get_title() for ax in display.axes_[:3]]
    ['pca0', 'pca1', 'pca2']
    """

    def __init__(self, filters, titles=None):
        self.filters = filters
        self.titles = titles

    @classmethod
    def from_estimator(
        cls, estimator, shape=None, *, titles="auto", axes=None, **kwargs
    ):
        """Draw the filters of a fitted transformer.

        Parameters
        ----------
        estimator : estimator
            A fitted transformer with the attribute ``components_``, one filter per row,
            such as :class:`~skgeom.SQFA` or :class:`~sklearn.decomposition.PCA`, or
            ``scalings_``, such as
            :class:`~sklearn.discriminant_analysis.LinearDiscriminantAnalysis`. For a
            fitted pipeline, the display draws the filters of the last step that has
            filters, as functions of the input features of this step.
        shape : tuple of two ints or int, default=None
            Numbers of rows and columns of the images, such as ``(28, 28)``, whose
            product must be the number of features, or the number of features, to draw
            curves. None draws square images, or curves if ``x`` is given or the number
            of features is not a square number.
        titles : "auto", None or array-like of str, default="auto"
            Titles of the filters. ``"auto"`` uses the output names of the transformer,
            or "filter 0", "filter 1", ... if a name has more than 15 characters. None
            draws no titles.
        axes : array-like of matplotlib Axes, default=None
            Axes to draw in, one per filter. None creates a new figure.
        **kwargs : dict
            Further parameters of :meth:`plot`.

        Returns
        -------
        display : FilterDisplay
            The display, which is drawn.

        Raises
        ------
        TypeError
            If the estimator has no filters.
        ValueError
            If ``shape`` does not match the number of features, and in the cases that
            :meth:`plot` lists.
        """
        estimator = fitted_step(
            estimator,
            ("components_", "scalings_"),
            "Or pass an array of filters: FilterDisplay(filters).plot().",
            transformer=True,
        )
        filters = _filters_of(estimator)
        if shape is None and kwargs.get("x") is not None:
            shape = filters.shape[1]
        shape = _checked_shape(shape, filters.shape[1])
        if isinstance(titles, str) and titles == "auto":
            titles = _names_of(estimator, len(filters))
        display = cls(filters.reshape(len(filters), *shape), titles)
        return display.plot(axes=axes, **kwargs)

    def plot(
        self,
        *,
        axes=None,
        n_columns=None,
        limits="each",
        xlabel=None,
        ylabel=None,
        extent=None,
        x=None,
        **kwargs,
    ):
        """Draw the filters.

        The color map, or the vertical axis of curves, is symmetric about zero, which is
        white in the default color map.

        Parameters
        ----------
        axes : array-like of matplotlib Axes, default=None
            Axes to draw in, one per filter. None creates a grid in a new figure.
        n_columns : int, default=None
            Number of columns of the grid. None selects a number with few empty cells.
        limits : {"each", "shared"}, default="each"
            The absolute value at the ends of the color map or of the vertical axis.
            ``"each"`` uses the largest absolute value of each filter. ``"shared"`` uses
            the largest absolute value of all filters, and draws a color bar for images.
        xlabel, ylabel : str, default=None
            Labels of the horizontal and vertical axes, such as "position (deg)" and
            "time (ms)".
        extent : tuple of four floats, default=None
            The coordinates (left, right, bottom, top) of the edges of the images. The
            last row of a filter is drawn at the bottom. None draws no ticks.
        x : array-like of shape (n,), default=None
            The positions of the points of curves, such as wavelengths. None uses the
            indices of the features.
        **kwargs : dict
            Further parameters of matplotlib's ``imshow``, such as ``cmap``, or of
            ``plot`` for curves.

        Returns
        -------
        display : FilterDisplay
            The display, with the attributes ``images_``, ``lines_``, ``axes_`` and
            ``figure_``.

        Raises
        ------
        TypeError
            If the filters are not real numbers, if ``axes`` are not matplotlib Axes, or
            if ``ax`` is given.
        ValueError
            If ``filters`` is not an array of finite numbers with two or three
            dimensions, if the number of axes or titles differs from the number of
            filters, if ``x`` does not have one position for each point of a curve, if
            ``x`` is given for images or ``extent`` for curves, or if ``limits`` or
            ``n_columns`` is invalid.
        """
        if "ax" in kwargs:
            raise TypeError("Pass axes, one for each filter, instead of ax.")
        filters = _checked_filters(self.filters)
        count = len(filters)
        titles = [None] * count if self.titles is None else list(self.titles)
        axes = None if axes is None else np.ravel(np.asarray(axes, dtype=object))
        _check_lengths(count, titles=titles, axes=axes)
        bounds = _bounds(filters, limits)
        are_curves = filters.ndim == 2
        draw = _draw_curve if are_curves else _draw_image
        where = _checked_positions(filters, extent, x)
        # Axes passed by the user are treated as one column, so each has its own labels.
        n_columns = _checked_columns(n_columns, count) if axes is None else 1
        width, height = _panel(filters, titles)
        width += 0.2 * (ylabel is not None)
        self._set_grid(axes, count, n_columns, (width, height))
        drawn = [
            draw(ax, values, bound, where, kwargs)
            for ax, values, bound in zip(self.axes_, filters, bounds, strict=True)
        ]
        self.images_, self.lines_ = ([], drawn) if are_curves else (drawn, [])
        for ax, title in zip(self.axes_, titles, strict=True):
            ax.set_title(title or "", fontsize="medium")
        self._label(n_columns, xlabel, ylabel)
        if limits == "shared" and self.images_:
            self.figure_.colorbar(self.images_[0], ax=list(self.axes_))
        return self

    def _set_grid(self, axes, count, n_columns, panel):
        """Set ``axes_``: the given axes, or a grid of panels in a new figure."""
        check_matplotlib_support("FilterDisplay.plot")
        import matplotlib.pyplot as plt

        if axes is None:
            n_rows = -(-count // n_columns)
            size = panel[0] * n_columns, panel[1] * n_rows
            _, axes = plt.subplots(
                n_rows, n_columns, figsize=size, layout="constrained", squeeze=False
            )
            for ax in axes.ravel()[count:]:
                ax.remove()
            axes = axes.ravel()[:count]
        self.axes_ = axes
        for ax in axes:
            check_axes(ax, "each of axes")
        self.figure_ = axes[0].figure

    def _label(self, n_columns, xlabel, ylabel):
        """Label the left column, the lowest panels and panels of a different scale."""
        for k, ax in enumerate(self.axes_):
            left = self.axes_[k - k % n_columns]
            if ax is left:
                ax.set_ylabel(ylabel or "")
            elif ax.get_ylim() == left.get_ylim():
                ax.tick_params(labelleft=False)
            if n_columns == 1 or k + n_columns >= len(self.axes_):
                ax.set_xlabel(xlabel or "")
            else:
                ax.tick_params(labelbottom=False)


def _filters_of(estimator):
    """The filters of a fitted transformer, one per row."""
    if hasattr(estimator, "components_"):
        return np.atleast_2d(on_host(estimator).components_)
    # LinearDiscriminantAnalysis stores more scalings than it uses.
    n_components = len(estimator.get_feature_names_out())
    return np.asarray(estimator.scalings_)[:, :n_components].T


def _names_of(estimator, n_filters):
    """Names of the outputs, or numbers if a name is too long to fit above an image."""
    names = list(estimator.get_feature_names_out())
    if max(map(len, names)) > 15:
        names = [f"filter {k}" for k in range(n_filters)]
    return names


def _check_lengths(count, **given):
    for name, values in given.items():
        if values is not None and len(values) != count:
            raise ValueError(
                f"{name} must have one entry for each of the {count} filters, got "
                f"{len(values)}."
            )


def _checked_shape(shape, n_features):
    if shape is None:
        side = isqrt(n_features)
        return (side, side) if side * side == n_features else (n_features,)
    shape = tuple(np.atleast_1d(shape).tolist())
    if len(shape) not in (1, 2) or prod(shape) != n_features or min(shape) < 1:
        raise ValueError(
            f"shape must be (rows, columns) with rows * columns = {n_features}, the "
            f"number of features of the filters, or {n_features} for curves, got "
            f"{shape}."
        )
    return shape


def _checked_filters(filters):
    filters = real_array(filters, "filters").astype(np.float64)
    if filters.ndim not in (2, 3) or 0 in filters.shape:
        raise ValueError(
            "filters must have shape (n_filters, n_rows, n_columns), or (n_filters, n) "
            f"for curves, got shape {filters.shape}."
        )
    check_finite(filters, "filters", axis=tuple(range(1, filters.ndim)))
    return filters


def _checked_positions(filters, extent, x):
    """Edges of images, or positions of the points of curves: x, or their indices."""
    if filters.ndim == 3:
        if x is not None:
            raise ValueError(
                "x is only used for curves, but the filters are images of shape "
                f"{filters.shape[1:]}. Set x to None, or pass filters as vectors."
            )
        return extent
    if extent is not None:
        raise ValueError("extent is only used for images. Set it to None.")
    x = np.arange(filters.shape[1]) if x is None else np.asarray(x)
    if x.shape != filters.shape[1:]:
        raise ValueError(
            f"x must have one position for each of the {filters.shape[1]} points of a "
            f"curve, got shape {x.shape}."
        )
    return x


def _checked_columns(n_columns, count):
    if n_columns is None:
        # The number from sqrt(count) to twice as many with the fewest empty cells.
        smallest = int(np.ceil(np.sqrt(count)))
        return min(range(smallest, 2 * smallest + 1), key=lambda n: (-count % n, n))
    if not (isinstance(n_columns, Integral) and n_columns >= 1):
        raise ValueError(f"n_columns must be an integer >= 1, got {n_columns!r}.")
    return n_columns


def _bounds(filters, limits):
    """The magnitude at the end of the color map, for each filter."""
    if limits not in ("each", "shared"):
        raise ValueError(f"limits must be 'each' or 'shared', got {limits!r}.")
    largest = np.abs(filters).max(axis=tuple(range(1, filters.ndim)))
    if limits == "shared":
        largest[:] = largest.max()
    return np.where(largest > 0, largest, 1)  # 1 for a filter of zeros


def _panel(filters, titles):
    """Width and height of a panel, in inches, for a filter and its title."""
    if filters.ndim == 2:
        width, height = 3.2, 1.6
    else:
        width = 1.5
        height = width * np.clip(filters.shape[1] / filters.shape[2], 0.4, 2.5)
    return width, height + 0.3 * any(titles)


def _draw_image(ax, image, bound, extent, kwargs):
    properties = {"vmin": -bound, "vmax": bound, "cmap": "RdBu_r", "extent": extent}
    properties |= {"aspect": "equal" if extent is None else "auto"} | kwargs
    if extent is None:
        ax.set(xticks=[], yticks=[])
    return ax.imshow(image, **properties)


def _draw_curve(ax, curve, bound, x, kwargs):
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    ax.axhline(0, color="gray", linewidth=0.5)
    ax.set_ylim(-1.05 * bound, 1.05 * bound)
    return ax.plot(x, curve, **({"linewidth": 1} | normalize_kwargs(kwargs, Line2D)))[0]
