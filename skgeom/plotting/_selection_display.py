"""Display of the scores of the candidates of a selection."""

import numpy as np

from skgeom.plotting._display import Display, fitted_step, label_text


class SelectionDisplay(Display):
    """Display of the scores of the candidates of a parameter.

    Use :meth:`from_estimator` to create and draw the display. It shows the best score
    of each value of the parameter, for the best values of all other parameters. The
    error bars are standard errors of the differences from the best score of all
    candidates (dotted line). A circle marks the selected candidate, which is more
    regularized than the best one if their scores differ by less than one standard
    error.

    Parameters
    ----------
    selection : Selection
        The fitted attribute ``selection_`` of an estimator.
    name : str, default=None
        Name of the parameter. None for the parameter with the most different values.

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
            If there is no parameter of this name.
        """
        candidates, scores = self.selection.candidates, self.selection.scores
        name, has_score = self.name, np.isfinite(self.selection.scores)
        if name is None:
            name = max(candidates, key=lambda n: len(set(candidates[n][has_score])))
        if name not in candidates:
            raise ValueError(f"name must be one of {list(candidates)}, got {name!r}.")
        ax = self._set_axes(ax)
        values = candidates[name]
        best = {}  # the best candidate of each value
        for k in np.flatnonzero(has_score):
            if values[k] not in best or scores[k] > scores[best[values[k]]]:
                best[values[k]] = k
        shown = [best[value] for value in sorted(best)]
        errors = self.selection.standard_errors[shown]
        positions, values = values[shown], values[shown].tolist()
        is_number = positions.dtype.kind in "fiu" and np.isfinite(positions).all()
        if not is_number:
            positions = np.arange(len(values))
            ax.set_xticks(positions, labels=[label_text(value) for value in values])
        properties = {"fmt": "o-", "markersize": 4, "capsize": 2} | kwargs
        self.errorbar_ = ax.errorbar(positions, scores[shown], errors, **properties)
        colour = self.errorbar_.lines[0].get_color()
        ax.axhline(scores[shown].max(), color=colour, linewidth=0.8, linestyle=":")
        marker = {"marker": "o", "markersize": 11, "markerfacecolor": "none"}
        index = self.selection.index
        if has_score[index]:
            position = positions[values.index(candidates[name][index])]
            ax.plot(position, scores[index], color=colour, **marker)
        is_wide = len(values) > 2 and positions[-1] > 10 * positions[0]
        if is_number and is_wide and positions[0] > 0:
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
