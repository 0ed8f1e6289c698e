"""Display of linear filters as images."""

from math import isqrt, prod
from numbers import Integral

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support

from skgeom.plotting._axes import columns_of_grid, new_grid, several_axes
from skgeom.plotting._inputs import check_positive, fitted_step
from skgeom.utils.validation import real_array

_LONGEST_NAME = 15  # longer names of outputs do not fit above an image


class FilterDisplay:
    """Display of linear filters as images, such as plots of space against time.

    Make it with :meth:`from_estimator`, which also draws it, or from any filters, and
    call :meth:`plot`.

    Parameters
    ----------
    filters : array-like of shape (n_filters, n_rows, n_columns)
        The filters.
    titles : array-like of str of shape (n_filters,), default=None
        Their titles; None for no titles.

    Attributes
    ----------
    images_ : list of matplotlib AxesImage
        The images, one per filter.
    axes_ : ndarray of shape (n_filters,)
        The axes it is drawn in.
    figure_ : matplotlib Figure
        The figure with the axes.

    See Also
    --------
    ClassEllipsesDisplay : Classes in the plane of two filters.

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
            A fitted transformer with ``components_``, one filter per row, such as
            :class:`~skgeom.SQFA` or :class:`~sklearn.decomposition.PCA`, or with
            ``scalings_``, such as
            :class:`~sklearn.discriminant_analysis.LinearDiscriminantAnalysis`; or a
            fitted pipeline. Of a pipeline, the filters of the last such step are drawn,
            in the features that this step receives.
        shape : tuple of two ints, default=None
            Rows and columns of the images, such as ``(28, 28)``. Their product must be
            the number of features. None for square images.
        titles : "auto", None or array-like of str, default="auto"
            Titles of the filters. ``"auto"`` takes the names of the transformer's
            outputs, or "filter 0" and so on if these are long. None for no titles.
        axes : array-like of matplotlib Axes, default=None
            Axes to draw in, one per filter; None for a new figure.
        **kwargs : dict
            Other parameters of :meth:`plot`.

        Returns
        -------
        display : FilterDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the estimator has no filters.
        ValueError
            If ``shape`` does not fit the number of features, or as :meth:`plot`.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        estimator = fitted_step(
            estimator,
            ("components_", "scalings_"),
            "Or give the filters themselves: FilterDisplay(filters).plot().",
            transformer=True,
        )
        filters = filters_of(estimator)
        shape = _checked_shape(shape, filters.shape[1])
        if isinstance(titles, str) and titles == "auto":
            titles = names_of(estimator, len(filters))
        display = cls(filters.reshape(len(filters), *shape), titles)
        return display.plot(axes=axes, **kwargs)

    def plot(
        self,
        *,
        axes=None,
        n_columns=None,
        limits="each",
        cmap="RdBu_r",
        colorbar=False,
        xlabel=None,
        ylabel=None,
        extent=None,
        **kwargs,
    ):
        """Draw the filters. Zero is the middle of the colour map: white by default.

        Parameters
        ----------
        axes : array-like of matplotlib Axes, default=None
            Axes to draw in, one per filter; None for a grid in a new figure.
        n_columns : int, default=None
            Number of columns of the grid; None for a number that leaves few places
            empty.
        limits : {"each", "shared"} or float, default="each"
            The magnitude at the ends of the colour map: ``"each"`` for the largest one
            of each filter, ``"shared"`` for the largest one of all filters, or a
            number.
        cmap : str or matplotlib Colormap, default="RdBu_r"
            The colour map.
        colorbar : bool, default=False
            Whether to draw colour bars: one per filter, or a single one if all filters
            have the same limits.
        xlabel, ylabel : str, default=None
            Names of the columns and the rows, such as "position (deg)" and "time (ms)".
        extent : tuple of four floats, default=None
            The coordinates (left, right, bottom, top) of the edges of the images, where
            bottom is below the last row. None for pixel numbers, without ticks.
        **kwargs : dict
            Other parameters of matplotlib's ``imshow``.

        Returns
        -------
        display : FilterDisplay
            This object, with the attributes ``images_``, ``axes_`` and ``figure_``.

        Raises
        ------
        TypeError
            If the filters are not real numbers, or ``axes`` are not matplotlib Axes.
        ValueError
            If the filters are not a stack of images of finite numbers, if the number of
            axes or of titles differs from that of the filters, or if ``limits`` or
            ``n_columns`` is invalid.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        filters = _checked_filters(self.filters)
        titles = _checked_titles(self.titles, len(filters))
        if "ax" in kwargs:
            raise TypeError("FilterDisplay takes axes=, one for each filter, not ax=.")
        bounds = _bounds(filters, limits)
        if axes is None:
            n_columns = _checked_columns(n_columns, len(filters))
            width, height = _panel(filters[0], titles)
            width += 0.2 * (ylabel is not None) + 0.6 * (colorbar and limits == "each")
            axes = new_grid(len(filters), n_columns, width, height)
        else:
            n_columns = 1
            axes = several_axes(axes, len(filters), "filters")
        kwargs = {"aspect": "equal" if extent is None else "auto"} | kwargs
        self.axes_, self.figure_, self.images_ = axes, axes[0].figure, []
        for k, (ax, image, bound) in enumerate(zip(axes, filters, bounds, strict=True)):
            colours = {"cmap": cmap, "vmin": -bound, "vmax": bound}
            self.images_.append(ax.imshow(image, extent=extent, **colours | kwargs))
            ax.set_title(titles[k] or "", fontsize="medium")
            if extent is None:
                ax.set(xticks=[], yticks=[])
        self._label(n_columns, xlabel, ylabel)
        if colorbar:
            self._draw_colorbars(shared=limits != "each")
        return self

    def _label(self, n_columns, xlabel, ylabel):
        """Label the left column and the lowest panel of each column."""
        for k, ax in enumerate(self.axes_):
            if k % n_columns == 0:
                ax.set_ylabel(ylabel or "")
            else:
                ax.tick_params(labelleft=False)
            # Axes given by the caller count as one column: each has its own labels.
            if n_columns == 1 or k + n_columns >= len(self.axes_):
                ax.set_xlabel(xlabel or "")
            else:
                ax.tick_params(labelbottom=False)

    def _draw_colorbars(self, shared):
        if shared:
            self.figure_.colorbar(self.images_[0], ax=list(self.axes_))
            return
        for ax, image in zip(self.axes_, self.images_, strict=True):
            self.figure_.colorbar(image, ax=ax)


def filters_of(estimator):
    """The filters of a fitted transformer, one per row."""
    if hasattr(estimator, "components_"):
        return np.atleast_2d(estimator.components_)
    # Linear discriminant analysis keeps more scalings than it uses.
    n_components = len(estimator.get_feature_names_out())
    return np.asarray(estimator.scalings_)[:, :n_components].T


def names_of(estimator, count):
    """Names of the outputs if they fit above an image, or else numbers."""
    if hasattr(estimator, "get_feature_names_out"):
        names = list(estimator.get_feature_names_out())
        if max(map(len, names)) <= _LONGEST_NAME:
            return names
    return [f"filter {k}" for k in range(count)]


def _checked_shape(shape, n_features):
    if shape is None:
        side = isqrt(n_features)
        if side * side == n_features:
            return side, side
        raise ValueError(
            f"The filters have {n_features} features, which is no square number: give "
            "the shape of the images, (rows, columns)."
        )
    shape = tuple(np.atleast_1d(shape).tolist())
    if len(shape) != 2 or prod(shape) != n_features or min(shape) < 1:
        raise ValueError(
            f"shape must be (rows, columns) with rows * columns = {n_features}, the "
            f"number of features of the filters, got {shape}."
        )
    return shape


def _checked_filters(filters):
    filters = real_array(filters, "filters").astype(np.float64)
    if filters.ndim != 3 or 0 in filters.shape:
        raise ValueError(
            "filters must be images, of shape (n_filters, n_rows, n_columns), got "
            f"shape {filters.shape}; filters.reshape(-1, n_rows, n_columns) makes them "
            "of rows of numbers."
        )
    finite = np.isfinite(filters).all(axis=(1, 2))
    if not finite.all():
        raise ValueError(f"filters[{finite.argmin()}] contains NaN or infinity.")
    return filters


def _checked_titles(titles, count):
    titles = [None] * count if titles is None else list(titles)
    if len(titles) != count:
        raise ValueError(
            f"titles must have one entry for each of the {count} filters, got "
            f"{len(titles)}."
        )
    return titles


def _checked_columns(n_columns, count):
    if n_columns is None:
        return columns_of_grid(count)
    if not (isinstance(n_columns, Integral) and n_columns >= 1):
        raise ValueError(
            f"n_columns must be a whole number from 1 up, got {n_columns!r}."
        )
    return n_columns


def _bounds(filters, limits):
    """The magnitude at the end of the colour map, for each filter."""
    largest = np.abs(filters).max(axis=(1, 2))
    if isinstance(limits, str):
        if limits not in ("each", "shared"):
            raise ValueError(
                f"limits must be 'each', 'shared' or a number, got {limits!r}."
            )
        if limits == "shared":
            largest[:] = largest.max()
        return np.where(largest > 0, largest, 1)  # an image of zeros has no range
    check_positive(limits, "limits")
    return np.full(len(filters), limits)


def _panel(image, titles):
    """Width and height of a panel, in inches, for an image and its title."""
    width = 1.5
    height = width * np.clip(image.shape[0] / image.shape[1], 0.4, 2.5)
    return width, height + 0.3 * any(titles)
