"""Displays of the eigenvalues and eigenvectors of a projection."""

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support

from skgeom.plotting._axes import new_axes, several_axes
from skgeom.plotting._inputs import fitted_step

_REMEDY = "This is a display of CovarianceHessianProjection."


class ContributionDisplay:
    """Display of the features that contribute most to each component, as bars.

    Parameters
    ----------
    contributions : ndarray of shape (n_components, n_features)
        Magnitudes of the entries of the components.
    feature_names : array-like of shape (n_features,)
        The names of the features.
    titles : list of str
        One title per component.

    Attributes
    ----------
    axes_ : ndarray of shape (n_components,)
        The axes it is drawn in.
    figure_ : matplotlib Figure
        The figure with the axes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skgeom import CovarianceHessianProjection
    >>> from skgeom.plotting import ContributionDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> projection = CovarianceHessianProjection(GaussianNB()).fit(X, y)
    >>> display = ContributionDisplay.from_estimator(projection, n_features=3)
    >>> [text.get_text() for text in display.axes_[0].get_yticklabels()]
    ['petal width (cm)', 'sepal length (cm)', 'petal length (cm)']
    """

    def __init__(self, contributions, feature_names, titles):
        self.contributions = contributions
        self.feature_names = feature_names
        self.titles = titles

    @classmethod
    def from_estimator(cls, estimator, *, feature_names=None, n_features=10, axes=None):
        """Draw the contributions to the components of a fitted projection.

        Parameters
        ----------
        estimator : CovarianceHessianProjection or Pipeline
            The fitted projection, or a fitted pipeline with one.
        feature_names : array-like of str or None, default=None
            The names of all features. None for the names that were seen in fit, or
            "x0" and so on.
        n_features : int, default=10
            Number of features to draw, at least 1. Those that contribute most are
            drawn.
        axes : array-like of matplotlib Axes or None, default=None
            Axes to draw in, one per component; None for a new figure.

        Returns
        -------
        display : ContributionDisplay
            The display.

        Raises
        ------
        TypeError
            If the estimator is no :class:`~skgeom.CovarianceHessianProjection`.
        ValueError
            If ``feature_names`` does not have one name per feature, or if
            ``n_features`` is less than 1.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        estimator = fitted_step(estimator, ["contributions_"], _REMEDY)
        if feature_names is None:
            feature_names = getattr(estimator, "feature_names_in_", None)
        if feature_names is None:
            feature_names = [f"x{i}" for i in range(estimator.n_features_in_)]
        if len(feature_names) != estimator.n_features_in_:
            raise ValueError(
                f"feature_names must have {estimator.n_features_in_} names, got "
                f"{len(feature_names)}."
            )
        # Fitted numbers: the parameters may have been changed since.
        n_covariance = estimator.n_covariance_
        n_hessian = len(estimator.components_) - n_covariance
        titles = [f"covariance {i}" for i in range(n_covariance)]
        titles += [f"Hessian {i}" for i in range(n_hessian)]
        display = cls(estimator.contributions_, feature_names, titles)
        return display.plot(n_features=n_features, axes=axes)

    def plot(self, *, n_features=10, axes=None):
        """Draw the bars.

        Parameters
        ----------
        n_features : int, default=10
            Number of features to draw, at least 1. Those that contribute most are
            drawn.
        axes : array-like of matplotlib Axes or None, default=None
            Axes to draw in, one per component; None for a new figure.

        Returns
        -------
        self
            This display.

        Raises
        ------
        ValueError
            If ``n_features`` is less than 1.
        """
        if n_features < 1:
            raise ValueError(f"n_features must be 1 or more, got {n_features}.")
        axes = new_axes(len(self.titles)) if axes is None else axes
        self.axes_ = several_axes(axes, len(self.titles), "components")
        self.figure_ = self.axes_[0].figure
        names = np.asarray(self.feature_names)
        for ax, row, title in zip(
            self.axes_, self.contributions, self.titles, strict=True
        ):
            order = np.argsort(row)[-n_features:]
            # By position, since features may share a name.
            ax.barh(np.arange(len(order)), row[order])
            ax.set_yticks(np.arange(len(order)), names[order])
            ax.set_title(title)
            ax.set_xlabel("contribution")
        return self


class EigenspectrumDisplay:
    """Display of the spectra of covariance and Hessian, on a logarithmic scale.

    Parameters
    ----------
    spectra : dict of str to ndarray
        Eigenvalues by the name of the matrix.

    Attributes
    ----------
    axes_ : ndarray of shape (n_spectra,)
        The axes it is drawn in.
    figure_ : matplotlib Figure
        The figure with the axes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skgeom import CovarianceHessianProjection
    >>> from skgeom.plotting import EigenspectrumDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> projection = CovarianceHessianProjection(GaussianNB()).fit(X, y)
    >>> EigenspectrumDisplay.from_estimator(projection).axes_.shape
    (2,)
    """

    def __init__(self, spectra):
        self.spectra = spectra

    @classmethod
    def from_estimator(cls, estimator, *, axes=None):
        """Draw the spectra of a fitted projection.

        Parameters
        ----------
        estimator : CovarianceHessianProjection or Pipeline
            The fitted projection, or a fitted pipeline with one.
        axes : array-like of matplotlib Axes or None, default=None
            Axes to draw in, one per matrix; None for a new figure.

        Returns
        -------
        display : EigenspectrumDisplay
            The display.

        Raises
        ------
        TypeError
            If the estimator is no :class:`~skgeom.CovarianceHessianProjection`.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        estimator = fitted_step(estimator, ["covariance_eigenvalues_"], _REMEDY)
        spectra = {"covariance": estimator.covariance_eigenvalues_}
        if estimator.hessian_eigenvalues_ is not None:
            spectra["Hessian"] = estimator.hessian_eigenvalues_
        return cls(spectra).plot(axes=axes)

    def plot(self, *, axes=None):
        """Draw the eigenvalues; the magnitudes of negative ones are drawn as crosses.

        Parameters
        ----------
        axes : array-like of matplotlib Axes or None, default=None
            Axes to draw in, one per matrix; None for a new figure.

        Returns
        -------
        self
            This display.
        """
        axes = new_axes(len(self.spectra)) if axes is None else axes
        self.axes_ = several_axes(axes, len(self.spectra), "spectra")
        self.figure_ = self.axes_[0].figure
        for ax, (name, values) in zip(self.axes_, self.spectra.items(), strict=True):
            values = np.asarray(values)
            # Eigenvalues that are zero up to rounding would stretch the axis.
            rounding = len(values) * np.finfo(np.float64).eps * np.abs(values).max()
            for marker, chosen in [("o", values > rounding), ("x", values < -rounding)]:
                if chosen.any():
                    numbers = np.flatnonzero(chosen)
                    ax.semilogy(numbers, np.abs(values[chosen]), marker)
            ax.set_title(name)
            ax.set(xlabel="number", ylabel="eigenvalue")
        return self
