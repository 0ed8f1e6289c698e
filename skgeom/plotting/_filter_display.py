"""Display of linear filters as images."""

from math import isqrt, prod
from numbers import Integral

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support

from skgeom.plotting._display import Display, check_axes, fitted_step
from skgeom.utils.array_api import on_cpu
from skgeom.utils.validation import check_finite, real_array


class FilterDisplay(Display):
    """Display of linear filters as images, such as plots of space against time.

    :meth:`from_estimator` creates and draws it. To show an array of filters, create the
    display from the array and call :meth:`plot`.

    Parameters
    ----------
    filters : array-like of shape (n_filters, n_rows, n_columns)
        The filters.
    titles : array-like of str of shape (n_filters,), default=None
        Titles of the filters; None for no titles.

    Attributes
    ----------
    images_ : list of matplotlib AxesImage
        The images, one per filter.
    axes_ : ndarray of shape (n_filters,)
        The axes of the display, one per filter.
    figure_ : matplotlib Figure
        The figure of the axes.

    See Also
    --------
    ClassEllipsesDisplay : Class moments of two filters.

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
            fitted pipeline. In a pipeline, the display draws the filters of the last
            step with filters, in the features that this step receives.
        shape : tuple of two ints, default=None
            Rows and columns of the images, such as ``(28, 28)``. Their product must be
            the number of features. None for square images.
        titles : "auto", None or array-like of str, default="auto"
            Titles of the filters. ``"auto"`` uses the names of the transformer's
            outputs, or "filter 0", "filter 1", ... if the names are long. None for no
            titles.
        axes : array-like of matplotlib Axes, default=None
            Axes to draw in, one per filter; None for a new figure.
        **kwargs : dict
            Further parameters of :meth:`plot`.

        Returns
        -------
        display : FilterDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the estimator has no filters.
        ValueError
            If ``shape`` does not match the number of features; see also :meth:`plot`.
        """
        estimator = fitted_step(
            estimator,
            ("components_", "scalings_"),
            "Or pass an array of filters: FilterDisplay(filters).plot().",
            transformer=True,
        )
        filters = _filters_of(estimator)
        shape = _checked_shape(shape, filters.shape[1])
        if isinstance(titles, str) and titles == "auto":
            titles = _names_of(estimator)
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
        **kwargs,
    ):
        """Draw the filters. Zero is the middle of the color map, white by default.

        Parameters
        ----------
        axes : array-like of matplotlib Axes, default=None
            Axes to draw in, one per filter; None for a grid in a new figure.
        n_columns : int, default=None
            Number of columns of the grid; None selects a number with few empty places.
        limits : {"each", "shared"}, default="each"
            The magnitude at the ends of the color map: ``"each"`` uses the largest
            magnitude of each filter, ``"shared"`` the largest magnitude of all filters,
            with a color bar.
        xlabel, ylabel : str, default=None
            Names of the columns and the rows, such as "position (deg)" and "time (ms)".
        extent : tuple of four floats, default=None
            The coordinates (left, right, bottom, top) of the edges of the images, where
            bottom is below the last row. None for pixel numbers, without ticks.
        **kwargs : dict
            Further parameters of matplotlib's ``imshow``, such as ``cmap``.

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
            axes or of titles differs from the number of filters, or if ``limits`` or
            ``n_columns`` is invalid.
        """
        filters = _checked_filters(self.filters)
        count = len(filters)
        titles = [None] * count if self.titles is None else list(self.titles)
        axes = None if axes is None else np.ravel(np.asarray(axes, dtype=object))
        for name, given in ("titles", titles), ("axes", axes):
            if given is not None and len(given) != count:
                raise ValueError(
                    f"{name} must have one entry for each of the {count} filters, got "
                    f"{len(given)}."
                )
        bounds = _bounds(filters, limits)
        # Axes given by the caller count as one column: each has its own labels.
        n_columns = _checked_columns(n_columns, count) if axes is None else 1
        width, height = _panel(filters[0], titles)
        width += 0.2 * (ylabel is not None)
        self._set_grid(axes, count, n_columns, (width, height))
        properties = {"cmap": "RdBu_r", "extent": extent}
        properties |= {"aspect": "equal" if extent is None else "auto"} | kwargs
        self.images_ = []
        for ax, image, bound, title in zip(
            self.axes_, filters, bounds, titles, strict=True
        ):
            colors = {"vmin": -bound, "vmax": bound} | properties
            self.images_.append(ax.imshow(image, **colors))
            ax.set_title(title or "", fontsize="medium")
            if extent is None:
                ax.set(xticks=[], yticks=[])
        self._label(n_columns, xlabel, ylabel)
        if limits == "shared":
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
        """Label the left column and the lowest panel of each column."""
        for k, ax in enumerate(self.axes_):
            if k % n_columns == 0:
                ax.set_ylabel(ylabel or "")
            else:
                ax.tick_params(labelleft=False)
            if n_columns == 1 or k + n_columns >= len(self.axes_):
                ax.set_xlabel(xlabel or "")
            else:
                ax.tick_params(labelbottom=False)


def _filters_of(estimator):
    """The filters of a fitted transformer, one per row."""
    if hasattr(estimator, "components_"):
        return np.atleast_2d(on_cpu(estimator.components_))
    # Linear discriminant analysis keeps more scalings than it uses.
    n_components = len(estimator.get_feature_names_out())
    return np.asarray(estimator.scalings_)[:, :n_components].T


def _names_of(estimator):
    """Names of the outputs if they fit above an image, or else numbers."""
    names = list(estimator.get_feature_names_out())
    if max(map(len, names)) > 15:  # they would not fit above an image
        names = [f"filter {k}" for k in range(len(names))]
    return names


def _checked_shape(shape, n_features):
    if shape is None:
        side = isqrt(n_features)
        if side * side == n_features:
            return side, side
        raise ValueError(
            f"The filters have {n_features} features, which is not a square number. "
            "Set shape to the shape of the images, (rows, columns)."
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
            f"shape {filters.shape}; filters.reshape(-1, n_rows, n_columns) converts "
            "rows of numbers."
        )
    check_finite(filters, "filters", axis=(1, 2))
    return filters


def _checked_columns(n_columns, count):
    if n_columns is None:
        # From sqrt(count), a square grid, to twice as many: fewest empty places.
        smallest = int(np.ceil(np.sqrt(count)))
        return min(range(smallest, 2 * smallest + 1), key=lambda n: (-count % n, n))
    if not (isinstance(n_columns, Integral) and n_columns >= 1):
        raise ValueError(f"n_columns must be an integer >= 1, got {n_columns!r}.")
    return n_columns


def _bounds(filters, limits):
    """The magnitude at the end of the color map, for each filter."""
    if limits not in ("each", "shared"):
        raise ValueError(f"limits must be 'each' or 'shared', got {limits!r}.")
    largest = np.abs(filters).max(axis=(1, 2))
    if limits == "shared":
        largest[:] = largest.max()
    return np.where(largest > 0, largest, 1)  # an image of zeros has no range


def _panel(image, titles):
    """Width and height of a panel, in inches, for an image and its title."""
    width = 1.5
    height = width * np.clip(image.shape[0] / image.shape[1], 0.4, 2.5)
    return width, height + 0.3 * any(titles)
