"""Display of the loss during an optimisation."""

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support

from skgeom.plotting._axes import one_axes
from skgeom.plotting._inputs import fitted_step


class LossCurveDisplay:
    """Display of the loss of an estimator against the iterations or epochs of its fit.

    Make it with :meth:`from_estimator`, which also draws it.

    Parameters
    ----------
    losses : array-like of shape (n_losses,)
        The losses.
    first : int, default=1
        Number of iterations before the first of the losses; 0 if it is the loss of the
        start.
    name : str, default=None
        Name of the curve in the legend; None for no legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    ax_ : matplotlib Axes
        The axes it is drawn in.
    figure_ : matplotlib Figure
        The figure with the axes.

    See Also
    --------
    sklearn.model_selection.LearningCurveDisplay : Scores against the number of samples.
    sklearn.model_selection.ValidationCurveDisplay : Scores against a parameter.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skgeom import GMLVQ
    >>> from skgeom.plotting import LossCurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GMLVQ(random_state=0).fit(X, y)
    >>> display = LossCurveDisplay.from_estimator(model)
    >>> len(display.line_.get_xdata()) == model.n_iter_ + 1
    True
    """

    def __init__(self, losses, first=1, name=None):
        self.losses = losses
        self.first = first
        self.name = name

    @classmethod
    def from_estimator(cls, estimator, *, name=None, ax=None, **kwargs):
        """Draw the loss curve of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator with ``loss_curve_``, such as :class:`~skgeom.PLRSQ` or
            :class:`~sklearn.neural_network.MLPClassifier`, or a fitted pipeline with
            one.
        name : str, default=None
            Name of the curve in the legend; None for that of the estimator's class.
        ax : matplotlib Axes, default=None
            Axes to draw in; None for new ones.
        **kwargs : dict
            Properties of the line, for matplotlib's ``plot``.

        Returns
        -------
        display : LossCurveDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the estimator has no ``loss_curve_``.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        estimator = fitted_step(
            estimator,
            ("loss_curve_",),
            "Estimators that learn prototypes keep one; other estimators of skgeom "
            "report their objective to the callbacks of scikit-learn.",
        )
        losses = np.asarray(estimator.loss_curve_)
        # Solvers that use all samples in each step record the loss of the start, too.
        n_iter = getattr(estimator, "n_iter_", len(losses))
        first = 0 if len(losses) == n_iter + 1 else 1
        name = type(estimator).__name__ if name is None else name
        return cls(losses, first, name).plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, name=None, **kwargs):
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None for new ones.
        name : str, default=None
            Name of the curve in the legend; None for ``self.name``.
        **kwargs : dict
            Properties of the line, for matplotlib's ``plot``.

        Returns
        -------
        display : LossCurveDisplay
            This object, with the attributes ``line_``, ``ax_`` and ``figure_``.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        self.ax_ = ax = one_axes(ax)
        self.figure_ = ax.figure
        name = self.name if name is None else name
        kwargs = ({} if name is None else {"label": name}) | kwargs
        numbers = self.first + np.arange(len(self.losses))
        (self.line_,) = ax.plot(numbers, self.losses, **kwargs)
        ax.set(xlabel="epoch" if self.first else "iteration", ylabel="loss")
        if "label" in kwargs:
            ax.legend()
        return self
