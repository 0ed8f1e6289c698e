"""Display of the scores of the candidates of a selection."""

import numpy as np

from skgeom.plotting._display import Display, fitted_step


class SelectionDisplay(Display):
    """Display of the scores of the candidates of a parameter.

    Use :meth:`from_estimator` to create and draw the display. All other parameters have
    their selected values. The error bars are standard errors of the differences from
    the best score of all candidates, and a circle marks the selected candidate.

    Parameters
    ----------
    selection : Selection
        The fitted attribute ``selection_`` of an estimator.
    name : str, default=None
        Name of the parameter. None for the parameter with the most different values
        that are numbers.

    Attributes
    ----------
    errorbar_ : matplotlib ErrorbarContainer
        The scores and their standard errors.
    ax_ : matplotlib Axes
        The axes of the display.
    figure_ : matplotlib Figure
        The figure of the axes.

    See Also
    --------
    skgeom.Selection : The candidates and their scores.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skgeom import GaussianClassifier
    >>> from skgeom.plotting import SelectionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = SelectionDisplay.from_estimator(GaussianClassifier().fit(X, y))
    >>> display.ax_.get_xlabel()
    'ridge'
    """

    def __init__(self, *, selection, name=None):
        self.selection = selection
        self.name = name

    def plot(self, ax=None, **kwargs):
        """Draw the scores against the values of the parameter.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None creates new axes.
        **kwargs : dict
            Properties of the line, for matplotlib's ``errorbar``.

        Returns
        -------
        display : SelectionDisplay
            The display, with the attributes ``errorbar_``, ``ax_`` and ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If ``ax`` is not a matplotlib Axes.
        ValueError
            If there is no parameter of this name, or its values are not numbers.
        """
        candidates, selected = self.selection.candidates, self.selection.selected
        numbers = {n: v for n, v in candidates.items() if v.dtype.kind in "fiu"}
        name = self.name
        if name is None:
            name = max(numbers, key=lambda n: len(np.unique(numbers[n])))
        if name not in numbers:
            raise ValueError(f"name must be one of {list(numbers)}, got {name!r}.")
        ax = self._set_axes(ax)
        shown = np.isfinite(self.selection.scores) & np.isfinite(numbers[name])
        for other in candidates.keys() - {name}:
            shown &= candidates[other] == selected[other]
        shown = np.flatnonzero(shown)
        shown = shown[np.argsort(candidates[name][shown])]
        values, scores = candidates[name][shown], self.selection.scores[shown]
        errors = self.selection.standard_errors[shown]
        properties = {"fmt": "o-", "markersize": 4, "capsize": 2} | kwargs
        self.errorbar_ = ax.errorbar(values, scores, errors, **properties)
        colour = self.errorbar_.lines[0].get_color()
        marker = {"marker": "o", "markersize": 11, "markerfacecolor": "none"}
        score = self.selection.scores[self.selection.index]
        ax.plot(selected[name], score, color=colour, **marker)
        if len(values) > 2 and values[0] > 0 and values[-1] > 10 * values[0]:
            ax.set_xscale("log")
        ax.set(xlabel=name, ylabel="Mean log posterior")
        return self

    @classmethod
    def from_estimator(cls, estimator, name=None, *, ax=None, **kwargs):
        """Draw the selection of a fitted estimator.

        Parameters
        ----------
        estimator : estimator or Pipeline
            A fitted estimator with ``selection_``, or a pipeline; the last of its steps
            with ``selection_`` is used.
        name : str, default=None
            Name of the parameter, as for the class.
        ax : matplotlib Axes, default=None
            Axes to draw in; None creates new axes.
        **kwargs : dict
            Properties of the line, as for :meth:`plot`.

        Returns
        -------
        display : SelectionDisplay
            The display, which is drawn.

        Raises
        ------
        TypeError
            If the estimator has no ``selection_``.
        ValueError
            If nothing was selected, or as for :meth:`plot`.
        """
        step = fitted_step(estimator, ["selection_"], "Use parameters that are 'auto'.")
        if step.selection_ is None:
            raise ValueError(
                f"selection_ of {type(step).__name__} is None: no parameter was "
                "selected by held-out samples. Use parameters that are 'auto'."
            )
        return cls(selection=step.selection_, name=name).plot(ax=ax, **kwargs)
