"""Display of the error against the number of components."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.multiclass import check_classification_targets

from skgeom._bayes_error import bayes_error
from skgeom._gaussian_classifier import GaussianClassifier
from skgeom._statistics import ClassStatistics
from skgeom.plotting._axes import one_axes
from skgeom.utils.estimator import safe_split

# Relative standard error of the Bayes errors, below that of the errors by far.
_TOL = 0.05


@dataclass(frozen=True)
class ComponentErrors:
    """Errors of a classifier of the leading components, for several numbers of them.

    Attributes
    ----------
    n_components : ndarray of shape (n_numbers,)
        The numbers of components, rising.
    errors : ndarray of shape (n_numbers, n_splits)
        Errors of the test parts.
    bayes_errors : ndarray of shape (n_numbers,) or None
        Bayes errors of Gaussians with the class statistics of all samples.
    """

    n_components: np.ndarray
    errors: np.ndarray
    bayes_errors: np.ndarray | None

    def fewest(self):
        """The fewest components whose error is within one standard error of the best.

        The standard error is that of the best mean over the splits (L. Breiman,
        J. Friedman, C. Stone and R. Olshen, "Classification and Regression Trees",
        1984, section 3.4.3).
        """
        means = self.errors.mean(axis=1)
        best = means.argmin()
        n_splits = self.errors.shape[1]
        spread = self.errors[best].std(ddof=1) if n_splits > 1 else 0.0
        enough = means <= means[best] + spread / np.sqrt(n_splits)
        return int(self.n_components[enough.argmax()])


def component_errors(
    estimator, X, y, *, n_components=None, cv=None, classifier=None, bayes=True
):
    """Cross-validate a classifier of the leading components of a transformer.

    The parameters are those of :meth:`ComponentCurveDisplay.from_estimator`. The
    transformer is fitted once for each split, for all numbers of components, and once
    to all samples for the Bayes errors.
    """
    check_classification_targets(y)
    y = np.asarray(y)
    group_size = _group_size(estimator)
    classifier = GaussianClassifier() if classifier is None else classifier
    if not is_classifier(classifier):
        raise ValueError(f"classifier must be a classifier, got {classifier!r}.")
    numbers, errors = None, []
    for train, test in check_cv(cv, y, classifier=True).split(X, y):
        X_train, y_train = safe_split(estimator, X, y, train)
        X_test, y_test = safe_split(estimator, X, y, test, train)
        fitted = clone(estimator).fit(X_train, y_train)
        Z, Z_test = (np.asarray(fitted.transform(part)) for part in (X_train, X_test))
        if numbers is None:
            numbers = _numbers(n_components, group_size, Z.shape[1])
        models = [clone(classifier).fit(Z[:, :k], y_train) for k in numbers]
        errors.append(
            [
                np.mean(model.predict(Z_test[:, :k]) != y_test)
                for model, k in zip(models, numbers, strict=True)
            ]
        )
    of_gaussians = None
    if bayes:
        Z = np.asarray(clone(estimator).fit(X, y).transform(X))
        statistics = ClassStatistics.from_data(Z, y).shrunk()
        axes = np.eye(Z.shape[1])
        of_gaussians = np.array(
            [bayes_error(statistics.project(axes[:k]), tol=_TOL).value for k in numbers]
        )
    return ComponentErrors(numbers, np.transpose(errors), of_gaussians)


class ComponentCurveDisplay:
    """Display of the error of a classifier against the number of components.

    Make it with :meth:`from_estimator`, which also draws it.

    Parameters
    ----------
    n_components : array-like of shape (n_numbers,)
        The numbers of components, rising.
    errors : array-like of shape (n_numbers, n_splits)
        Errors of the test parts of a cross-validation.
    bayes_errors : array-like of shape (n_numbers,), default=None
        Bayes errors of Gaussians with the class statistics of all samples.

    Attributes
    ----------
    fewest_ : int
        The fewest components whose mean error is within one standard error of the
        lowest one: a rule for their number [1]_.
    line_ : matplotlib Line2D
        The mean errors.
    bayes_line_ : matplotlib Line2D or None
        The Bayes errors.
    ax_ : matplotlib Axes
        The axes it is drawn in.
    figure_ : matplotlib Figure
        The figure with the axes.

    See Also
    --------
    skgeom.bayes_error : The error of the best classifier of Gaussian classes.
    sklearn.model_selection.ValidationCurveDisplay : Scores against any parameter.

    References
    ----------
    .. [1] L. Breiman, J. Friedman, C. Stone and R. Olshen, "Classification and
       Regression Trees", 1984, section 3.4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skgeom import SQFA
    >>> from skgeom.plotting import ComponentCurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> sqfa = SQFA(4, group_size=1, random_state=0)
    >>> display = ComponentCurveDisplay.from_estimator(sqfa, X, y)
    >>> display.fewest_
    1
    """

    def __init__(self, n_components, errors, bayes_errors=None):
        self.n_components = n_components
        self.errors = errors
        self.bayes_errors = bayes_errors

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y,
        *,
        n_components=None,
        cv=None,
        classifier=None,
        bayes=True,
        ax=None,
        **kwargs,
    ):
        """Cross-validate with the leading components of a transformer, and draw.

        Parameters
        ----------
        estimator : transformer
            A transformer whose components are ordered by their use, such as
            ``SQFA(12, group_size=2)``, or a pipeline that ends with one. It is cloned
            and fitted once for each split, and once to all samples for the Bayes
            errors; a fit serves for all numbers of components.
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their class labels.
        n_components : array-like of int, default=None
            The numbers to try; None for all, in steps of ``group_size`` where there is
            one.
        cv : int, cross-validation generator or iterable, default=None
            How the splits are made, as in scikit-learn; None for 5 stratified folds.
        classifier : classifier, default=None
            What the components are for; None is a :class:`~skgeom.GaussianClassifier`.
        bayes : bool, default=True
            Whether to compute the Bayes errors as well.
        ax : matplotlib Axes, default=None
            Axes to draw in; None for new ones.
        **kwargs : dict
            Other parameters of :meth:`plot`.

        Returns
        -------
        display : ComponentCurveDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the estimator has a parameter ``group_size`` and it is None, so that its
            filters have no order; if a number of components is not possible; or if
            ``classifier`` is none.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        found = component_errors(
            estimator,
            X,
            y,
            n_components=n_components,
            cv=cv,
            classifier=classifier,
            bayes=bayes,
        )
        display = cls(found.n_components, found.errors, found.bayes_errors)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax=None, *, line_kw=None):
        """Draw the curves; a band has the width of one standard error to either side.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in; None for new ones.
        line_kw : dict, default=None
            Other properties of the line of the mean errors.

        Returns
        -------
        display : ComponentCurveDisplay
            This object, with the attributes ``fewest_``, ``line_``, ``bayes_line_``,
            ``ax_`` and ``figure_``.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        numbers, errors = np.asarray(self.n_components), np.asarray(self.errors)
        if errors.ndim != 2 or len(errors) != len(numbers):
            raise ValueError(
                f"errors must have one row for each of the {len(numbers)} numbers of "
                f"components, got shape {errors.shape}."
            )
        if not numbers.size or (np.diff(numbers) <= 0).any():
            raise ValueError(
                f"n_components must be rising numbers, got {numbers.tolist()}."
            )
        self.ax_ = ax = one_axes(ax)
        self.figure_ = ax.figure
        found = ComponentErrors(numbers, errors, None)
        means, n_splits = errors.mean(axis=1), errors.shape[1]
        style = {"marker": "o", "label": "cross-validated error"} | (line_kw or {})
        (self.line_,) = ax.plot(numbers, means, **style)
        if n_splits > 1:
            deviations = errors.std(axis=1, ddof=1) / np.sqrt(n_splits)
            ax.fill_between(
                numbers,
                means - deviations,
                means + deviations,
                alpha=0.2,
                color=self.line_.get_color(),
                linewidth=0,
            )
        self.bayes_line_ = None
        if self.bayes_errors is not None:
            label = "Bayes error of the Gaussians"
            (self.bayes_line_,) = ax.plot(
                numbers, self.bayes_errors, linestyle="--", marker=".", label=label
            )
        self.fewest_ = found.fewest()
        ax.axvline(
            self.fewest_, color="grey", linestyle=":", label="one standard error"
        )
        ax.set(xlabel="number of components", ylabel="error")
        ax.set_ylim(bottom=0)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend()
        return self


def _group_size(estimator):
    """In what steps components come; raises if they have no order."""
    step = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    parameters = step.get_params(deep=False)
    if "group_size" not in parameters:
        return 1
    if parameters["group_size"] is None:
        raise ValueError(
            f"The filters of {type(step).__name__} are ordered only if they are learnt "
            "in groups: set group_size, for example to 1 or 2."
        )
    return parameters["group_size"]


def _numbers(n_components, group_size, most):
    """Valid numbers of components, rising."""
    if n_components is None:
        return np.unique([*range(group_size, most + 1, group_size), most])
    numbers = check_array(
        np.atleast_1d(n_components),
        ensure_2d=False,
        dtype=None,
        ensure_min_samples=0,
        input_name="n_components",
    )
    valid = (
        numbers.ndim == 1 and numbers.size and np.issubdtype(numbers.dtype, np.integer)
    )
    if not (valid and (numbers >= 1).all() and (numbers <= most).all()):
        raise ValueError(
            f"n_components must be numbers from 1 to {most}, the components of the "
            f"estimator, got {n_components!r}."
        )
    return np.unique(numbers)
