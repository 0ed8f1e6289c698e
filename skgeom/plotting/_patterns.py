"""Display of activation patterns, on the scalp or as bars."""

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support

from skgeom._patterns import activation_patterns
from skgeom.plotting._axes import columns_of_grid, new_grid, several_axes
from skgeom.plotting._filters import filters_of, names_of
from skgeom.plotting._inputs import fitted_step
from skgeom.utils.validation import check_finite, real_array


class PatternDisplay:
    """Display of activation patterns of filters, as topographies or as bars.

    Make it with :meth:`from_estimator`, which also draws it, or from any patterns, and
    call :meth:`plot`. Topographies are drawn by MNE, which must be installed.

    Parameters
    ----------
    patterns : array-like of shape (n_patterns, n_channels)
        The patterns, such as those of :func:`~skgeom.activation_patterns`.
    titles : array-like of str of shape (n_patterns,), default=None
        Their titles; None for no titles.

    Attributes
    ----------
    axes_ : ndarray of shape (n_patterns,)
        The axes it is drawn in.
    figure_ : matplotlib Figure
        The figure with the axes.
    artists_ : list
        For each pattern, the AxesImage of a topography or the BarContainer.

    See Also
    --------
    FilterDisplay : The filters themselves, as images.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skgeom import ClassStatistics, SQFA
    >>> from skgeom.plotting import PatternDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> sqfa = SQFA(2, random_state=0).fit(X, y)
    >>> import numpy as np
    >>> display = PatternDisplay.from_estimator(sqfa, np.cov(X.T))
    >>> len(display.axes_)
    2
    """

    def __init__(self, patterns, titles=None):
        self.patterns = patterns
        self.titles = titles

    @classmethod
    def from_estimator(
        cls, estimator, covariance, info=None, *, titles="auto", axes=None, **kwargs
    ):
        """Draw the patterns of the filters of a fitted transformer.

        Parameters
        ----------
        estimator : estimator
            A fitted transformer with ``components_``, one filter per row, such as
            :class:`~skgeom.SQFA`, or with ``scalings_``, or a fitted pipeline. Of a
            pipeline, the last such step is taken.
        covariance : array-like of shape (n_features, n_features)
            Covariance of what this step receives.
        info : mne.Info or array-like of shape (n_channels, 2), default=None
            As in :meth:`plot`.
        titles : "auto", None or array-like of str, default="auto"
            Titles; ``"auto"`` takes the names of the transformer's outputs, or numbers
            if these are long.
        axes : array-like of matplotlib Axes, default=None
            Axes to draw in, one per pattern; None for a new figure.
        **kwargs : dict
            Other parameters of :meth:`plot`.

        Returns
        -------
        display : PatternDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the estimator has no filters.
        ValueError
            As :func:`~skgeom.activation_patterns` and :meth:`plot`.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        step = fitted_step(
            estimator,
            ("components_", "scalings_"),
            "Or give the patterns themselves: PatternDisplay(patterns).plot().",
            transformer=True,
        )
        filters = filters_of(step)
        if isinstance(titles, str) and titles == "auto":
            titles = names_of(step, len(filters))
        display = cls(activation_patterns(filters, covariance), titles)
        return display.plot(info, axes=axes, **kwargs)

    def plot(self, info=None, *, axes=None, cmap="RdBu_r", **kwargs):
        """Draw the patterns. Zero is the middle of the colour map, or a line.

        Parameters
        ----------
        info : mne.Info or array-like of shape (n_channels, 2), default=None
            Where the channels are: an Info of MNE with a montage, or positions in
            metres with the head's centre at zero, x to the right and y to the front.
            None draws bars, one per channel, without MNE.
        axes : array-like of matplotlib Axes, default=None
            Axes to draw in, one per pattern; None for a grid in a new figure.
        cmap : str or matplotlib Colormap, default="RdBu_r"
            The colour map of topographies.
        **kwargs : dict
            Other parameters of ``mne.viz.plot_topomap``, or of matplotlib's ``bar``.

        Returns
        -------
        display : PatternDisplay
            This object, with the attributes ``artists_``, ``axes_`` and ``figure_``.

        Raises
        ------
        ImportError
            If there is ``info``, but MNE is not installed.
        TypeError
            If the patterns are not real numbers, or ``axes`` are not matplotlib Axes.
        ValueError
            If the patterns are not rows of finite numbers, or if the number of
            positions, titles or axes does not fit.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        patterns = _checked_patterns(self.patterns)
        titles = [None] * len(patterns) if self.titles is None else list(self.titles)
        if len(titles) != len(patterns):
            raise ValueError(
                f"titles must have one entry for each of the {len(patterns)} patterns, "
                f"got {len(titles)}."
            )
        if info is not None:
            plot_topomap, info = _topographies(info, patterns.shape[1])
        if axes is None:
            columns = columns_of_grid(len(patterns))
            axes = new_grid(len(patterns), columns, 2.0 if info is not None else 3.0, 2)
        else:
            axes = several_axes(axes, len(patterns), "patterns")
        self.axes_, self.figure_, self.artists_ = axes, axes[0].figure, []
        for ax, pattern, title in zip(axes, patterns, titles, strict=True):
            if info is None:
                self.artists_.append(ax.bar(np.arange(len(pattern)), pattern, **kwargs))
                ax.axhline(0, color="black", linewidth=0.8)
                ax.set_xlabel("channel")
            else:
                bound = np.abs(pattern).max() or 1.0
                options = {"cmap": cmap, "vlim": (-bound, bound), "contours": 4}
                image, _ = plot_topomap(
                    pattern, info, axes=ax, show=False, **options | kwargs
                )
                self.artists_.append(image)
            ax.set_title(title or "", fontsize="medium")
        return self


def _topographies(info, n_channels):
    """MNE's function, and checked positions of channels."""
    try:
        from mne.viz import plot_topomap
    except ImportError:
        raise ImportError(
            "PatternDisplay.plot needs MNE to draw topographies: pip install mne. "
            "Without info, it draws bars."
        ) from None
    if hasattr(info, "ch_names"):
        found = len(info.ch_names)
    else:
        info = real_array(info, "info").astype(np.float64)
        found = len(info) if info.ndim == 2 and info.shape[1] == 2 else None
    if found != n_channels:
        has = f"shape {info.shape}" if found is None else f"{found}"
        raise ValueError(
            f"info must have the positions of the {n_channels} channels of the "
            f"patterns, got {has}."
        )
    return plot_topomap, info


def _checked_patterns(patterns):
    patterns = real_array(patterns, "patterns").astype(np.float64)
    if patterns.ndim != 2 or 0 in patterns.shape:
        raise ValueError(
            f"patterns must have shape (n_patterns, n_channels), got {patterns.shape}."
        )
    check_finite(patterns, "patterns", axis=1)
    return patterns
