"""Display of the accuracy-rejection curve."""

import numpy as np

from skgeom._rejection.accuracy_rejection import accuracy_rejection_curve
from skgeom.plotting._display import Display


class AccuracyRejectionDisplay(Display):
    """Display of the accuracy of the accepted samples against the rejection rate.

    Use :meth:`from_estimator` or :meth:`from_predictions` to create and draw the
    display. The parameters are fractions; the axes show percentages.

    Parameters
    ----------
    accuracies : ndarray of shape (n_thresholds,)
        Accuracy of the accepted samples for each threshold.
    rejection_rates : ndarray of shape (n_thresholds,)
        Fraction of rejected samples for each threshold, in increasing order.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    ax_ : matplotlib Axes
        The axes of the display.
    figure_ : matplotlib Figure
        The figure of the axes.

    See Also
    --------
    skgeom.accuracy_rejection_curve : Computes the curve.
    skgeom.RejectionClassifier : Rejects samples of low confidence.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skgeom.plotting import AccuracyRejectionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X[::2], y[::2])
    >>> display = AccuracyRejectionDisplay.from_estimator(model, X[1::2], y[1::2])
    >>> display.ax_.get_xlabel()
    'Rejection rate (%)'
    """

    def __init__(self, *, accuracies, rejection_rates):
        self.accuracies = accuracies
        self.rejection_rates = rejection_rates

    def plot(self, ax=None, **kwargs):
        """Draw the curve in percent as a step function.

        The accuracy between two rejection rates is the accuracy at the smaller rate.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None creates new axes.
        **kwargs : dict
            Properties of the line, for matplotlib's ``plot``. If ``label`` is given, a
            legend is drawn.

        Returns
        -------
        display : AccuracyRejectionDisplay
            The display, with the attributes ``line_``, ``ax_`` and ``figure_``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        TypeError
            If ``ax`` is not a matplotlib Axes.
        """
        ax = self._set_axes(ax)
        properties = {"drawstyle": "steps-post"} | kwargs
        x = 100 * np.asarray(self.rejection_rates)
        y = 100 * np.asarray(self.accuracies)
        (self.line_,) = ax.plot(x, y, **properties)
        ax.set(xlabel="Rejection rate (%)", ylabel="Accuracy of accepted samples (%)")
        ax.set_xlim(0, 100)
        if "label" in properties:
            ax.legend(loc="lower right")
        return self

    @classmethod
    def from_estimator(cls, estimator, X, y, *, sample_weight=None, ax=None, **kwargs):
        """Draw the curve of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier with ``predict_proba``.
        X : array-like of shape (n_samples, ...)
            Test samples, not the training samples of the classifier.
        y : array-like of shape (n_samples,)
            True labels of the samples.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.
        ax : matplotlib Axes, default=None
            Axes to draw in; None creates new axes.
        **kwargs : dict
            Properties of the line, as for :meth:`plot`. The default ``label`` is the
            name of the class of the classifier.

        Returns
        -------
        display : AccuracyRejectionDisplay
            The display, which is drawn.

        Raises
        ------
        TypeError
            If the classifier has no ``predict_proba``.
        ValueError
            In the cases that :func:`~skgeom.accuracy_rejection_curve` lists.
        """
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"{type(estimator).__name__} has no predict_proba. Calibrate it with "
                "CalibratedClassifierCV, or use from_predictions."
            )
        return cls.from_predictions(
            y,
            estimator.predict_proba(X),
            labels=estimator.classes_,
            sample_weight=sample_weight,
            ax=ax,
            **{"label": type(estimator).__name__} | kwargs,
        )

    @classmethod
    def from_predictions(
        cls, y_true, y_score, *, labels=None, sample_weight=None, ax=None, **kwargs
    ):
        """Draw the curve from class probabilities or class scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            The true labels.
        y_score : array-like of shape (n_samples, n_classes)
            The probabilities or scores, as for
            :func:`~skgeom.accuracy_rejection_curve`.
        labels : array-like of shape (n_classes,), default=None
            The classes in the order of the columns of ``y_score``. None uses the
            sorted labels in ``y_true``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.
        ax : matplotlib Axes, default=None
            Axes to draw in; None creates new axes.
        **kwargs : dict
            Properties of the line, as for :meth:`plot`.

        Returns
        -------
        display : AccuracyRejectionDisplay
            The display, which is drawn.

        Raises
        ------
        ValueError
            In the cases that :func:`~skgeom.accuracy_rejection_curve` lists.
        """
        accuracies, rejection_rates, _ = accuracy_rejection_curve(
            y_true, y_score, labels=labels, sample_weight=sample_weight
        )
        display = cls(accuracies=accuracies, rejection_rates=rejection_rates)
        return display.plot(ax=ax, **kwargs)
