"""Projection onto eigenvectors of a covariance matrix and of a classifier's Hessian."""

from numbers import Integral

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import compute_sample_weight
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    validate_data,
)

from skgeom._hessian.diagnostics import (
    check_conditions,
    mean_and_covariance,
    separation_grid,
)
from skgeom._hessian.input_hessians import mean_curvature
from skgeom._hessian.leading_axes import check_rank, leading_axes, positive_rank
from skgeom._hessian.logit_estimators import classifier_name
from skgeom._hessian.logit_torch import is_module
from skgeom._hessian.trained_classifier import trained_classifier
from skgeom._moments import check_underflow
from skgeom.utils._dask import refuse_dask
from skgeom.utils.array_api import (
    ARRAY_API,
    astype,
    check_library,
    float_dtypes,
    move_attributes,
    namespace,
    to_numpy,
)
from skgeom.utils.estimator import (
    CallbackSupportMixin,
    current_progress,
    estimator_method,
)
from skgeom.utils.validation import check_two_classes, warn_user

# Number of leading eigenvectors of each matrix in the grid of the diagnostics.
_GRID = 10


class CovarianceHessianProjection(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    r"""Projection onto eigenvectors of the covariance and of a classifier's Hessian.

    The components are the leading eigenvectors of the covariance matrix of the samples
    (equation 1 of [1]_), followed by those of the Hessian of a classifier's
    cross-entropy with respect to its inputs, averaged over the samples (equation 3):

    .. math::

       U = [v_1, \dots, v'_1, \dots], \qquad
       \frac{1}{n-1} \sum_i (x_i - \bar x)(x_i - \bar x)^\top v = \lambda v, \qquad
       \frac1n \sum_i \nabla_x^2 \left[-\log p(y_i \mid x_i)\right] v' = \lambda' v'

    and :meth:`transform` returns X U (equations 4 and 5), without centring. Along v the
    data vary most. Along v' the classifier's loss has the largest mean curvature. See
    the user guide for what to expect, and :func:`input_hessian` for the Hessian.

    Parameters
    ----------
    estimator : estimator, callable or None, default=None
        The classifier. It is cloned and fitted, unless it is inside a
        :class:`~sklearn.frozen.FrozenEstimator`, which must have been fitted on the
        same features. A classifier that was trained elsewhere is a function of X,
        written with ``autograd.numpy``, or a ``torch.nn.Module``, that returns the
        log-probabilities or logits of the sorted classes of y; see
        :func:`input_hessian`. None is a
        :class:`~sklearn.preprocessing.StandardScaler` and a network with a layer of 32
        tanh units. Its squared weights are penalised by
        ``alpha=min(n_samples, 500) / (5 * n_classes)``, so that probabilities stay away
        from zero and one. With classes that a line separates well, it is nearly linear,
        and the first Hessian eigenvector is the only one that matters.
    n_covariance : int, default=1
        Number of covariance eigenvectors. With 0, it is the Hessian method of [1]_.
    n_hessian : int, default=1
        Number of Hessian eigenvectors. With 0, the projection is that of principal
        component analysis without the centring, and no classifier is fitted.
    curvature : {"hessian", "gauss-newton"}, default="hessian"
        The whole Hessian, or its Gauss-Newton part, which has no negative eigenvalue.
        They are equal for ReLU networks and for linear classifiers.
    derivatives : {"auto", "analytic", "differences"}, default="auto"
        ``"auto"`` uses formulas for the Hessian where there are some, and differences
        of probabilities otherwise; see :func:`input_hessian` for the costs. For
        functions and modules, autograd and torch count as analytic.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes in the average of the Hessian and, where the classifier
        takes ``sample_weight``, in its training; if it does not, there is a warning.
        "balanced" gives all classes the same total. The covariance is not weighted.
    random_state : int, RandomState instance or None, default=None
        For the network of ``estimator=None``. Another estimator has its own.
    verbose : int, default=0
        Whether to print progress: 1 for a line at the end of each stage, the training
        and the Hessian, and one a second during the Hessian; 2 for every block of its
        samples.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The eigenvectors: first those of the covariance matrix, then those of the
        Hessian, each in falling order of eigenvalues. They have unit norm and their
        largest entry in magnitude is positive. Eigenvectors of one matrix are not
        orthogonal to those of the other.
    contributions_ : ndarray of shape (n_components, n_features)
        Their magnitudes: how much each feature contributes to each component.
    n_covariance_ : int
        Number of components that are eigenvectors of the covariance matrix.
    estimator_ : estimator, callable or None
        The fitted classifier; None if ``n_hessian`` is 0, as are all attributes that
        depend on it.
    covariance_ : ndarray of shape (n_features, n_features)
        Sample covariance matrix.
    covariance_eigenvalues_ : ndarray of shape (n_features,)
        Its eigenvalues in falling order.
    covariance_eigenvectors_ : ndarray of shape (n_features, n_features)
        Its eigenvectors, in rows.
    hessian_ : ndarray of shape (n_features, n_features) or None
        Mean Hessian.
    hessian_eigenvalues_ : ndarray of shape (n_features,) or None
        Its eigenvalues in falling order, negative ones last.
    hessian_eigenvectors_ : ndarray of shape (n_features, n_features) or None
        Its eigenvectors, in rows.
    separation_ : SeparationGrid or None
        Between-class distances along the ten leading eigenvectors of the covariance,
        within-class variances along those of the Hessian, and their ratios, on the
        training samples: figure 1 (b) to (d) of [1]_.
    conditions_ : ProjectionConditions
        How far the training samples meet the conditions of [1]_, section 3. Print it
        for a summary.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names that are all strings.

    See Also
    --------
    input_hessian : The Hessian alone.
    SQFA : Components chosen for the distances between the classes.

    Notes
    -----
    Both matrices depend on the units of the features. Unless these are the same, put a
    :class:`~sklearn.preprocessing.StandardScaler` in front.

    References
    ----------
    .. [1] A. Hartoyo et al., "Synergistic eigenanalysis of covariance and Hessian
       matrices for enhanced binary classification on health datasets", Computers in
       Biology and Medicine 190, 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import LinearSVC
    >>> from skgeom import CovarianceHessianProjection
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(
    ...     StandardScaler(), CovarianceHessianProjection(random_state=0), LinearSVC()
    ... ).fit(X, y)
    >>> model[:-1].transform(X).shape
    (569, 2)
    >>> model.score(X, y) > 0.97
    True
    """

    _fitted_array = "components_"
    _parameter_constraints = {
        "estimator": [None, HasMethods("fit"), callable],
        "n_covariance": [Interval(Integral, 0, None, closed="left")],
        "n_hessian": [Interval(Integral, 0, None, closed="left")],
        "curvature": [StrOptions({"hessian", "gauss-newton"})],
        "derivatives": [StrOptions({"auto", "analytic", "differences"})],
        "class_weight": [None, StrOptions({"balanced"}), dict],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        n_covariance=1,
        n_hessian=1,
        curvature="hessian",
        derivatives="auto",
        class_weight=None,
        random_state=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.n_covariance = n_covariance
        self.n_hessian = n_hessian
        self.curvature = curvature
        self.derivatives = derivatives
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose

    @estimator_method(nested_validation=True)
    def fit(self, X, y):
        """Fit the classifier, and find the eigenvectors of both matrices.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples. Not modified.
        y : array-like of shape (n_samples,)
            Their class labels, of at least two classes.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X or y is malformed, if there is one class only, if there are fewer
            features or positive eigenvalues than components asked for, if the Hessian
            is zero or not finite, if the classifier has no probabilities or these are
            not smooth, or if a frozen one was fitted on other features or classes; see
            :func:`input_hessian`.

        Warns
        -----
        UserWarning
            If all probabilities are zero or one up to rounding, so that a few samples
            decide on the Hessian; if ``class_weight`` does not reach the training.
        """
        X, codes = self._validate(X, y)
        current_progress().start(X, self.classes_[codes])
        self.covariance_ = _covariance(X)
        values, axes = leading_axes(self.covariance_)
        self.covariance_eigenvalues_, self.covariance_eigenvectors_ = values, axes
        check_rank(values, self.n_covariance, "n_covariance", "covariance of X")
        traces = self._fit_hessian(X, codes) if self.n_hessian else self._no_hessian()

        components = [axes[: self.n_covariance]]
        if self.n_hessian:
            components.append(self.hessian_eigenvectors_[: self.n_hessian])
        self.components_ = np.concatenate(components)
        self.n_covariance_ = self.n_covariance
        self.contributions_ = np.abs(self.components_)
        self.separation_ = self._separation(X, codes) if self.n_hessian else None
        self.conditions_ = check_conditions(
            X, codes, self.classes_, values, axes[0], self.hessian_eigenvalues_, traces
        )
        move_attributes(self, X)
        return self

    @estimator_method
    def transform(self, X):
        """Project samples onto the components, equation 5.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            The products with the components; float32 for X of float32.
        """
        X = validate_data(self, X, dtype=float_dtypes(X), reset=False)
        return X @ astype(self.components_, X.dtype).T

    @estimator_method
    def separation(self, X, y):
        """Separation of other samples along the leading eigenvectors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their class labels, of each class that was seen in fit.

        Returns
        -------
        grid : SeparationGrid
            As ``separation_`` has them of the training samples.

        Raises
        ------
        ValueError
            If the classes are not those of fit, or if there is no Hessian.
        """
        if self.hessian_ is None:
            raise ValueError(
                "Fitted with n_hessian=0: without a Hessian there is no grid."
            )
        X, y = validate_data(self, X, y, dtype=float_dtypes(X)[0], reset=False)
        y, classes = to_numpy(y), to_numpy(self.classes_)
        if not np.array_equal(np.unique(y), classes):
            raise ValueError(
                f"y must have each of the classes {classes.tolist()} and no "
                f"other, got {np.unique(y).tolist()}."
            )
        return self._separation(X, np.searchsorted(classes, y))

    def _validate(self, X, y):
        """Valid X, in float64, and class numbers; sets the classes."""
        refuse_dask(self, X, "Fit it to a sample of the rows")
        check_library(X, self)
        X, y = validate_data(self, X, y, dtype=float_dtypes(X)[0])
        check_classification_targets(y)
        self.classes_, codes = np.unique(to_numpy(y), return_inverse=True)
        check_two_classes(self.classes_, type(self).__name__)
        n_components, n_features = self.n_covariance + self.n_hessian, X.shape[1]
        if not n_components:
            raise ValueError(
                "n_covariance and n_hessian are both 0; ask for a component."
            )
        if n_components > n_features:
            raise ValueError(
                f"n_covariance + n_hessian = {n_components} is more than "
                f"n_features={n_features}; ask for fewer components."
            )
        return X, codes

    def _fit_hessian(self, X, codes):
        """Set the classifier and its Hessian; returns traces as `MeanCurvature`."""
        y = self.classes_[codes]
        weights = np.ones(len(y))
        if self.class_weight is not None:
            weights = compute_sample_weight(self.class_weight, y)
            if not (weights >= 0).all() or not weights.any():
                raise ValueError(
                    "class_weight must not be negative, nor zero for all classes, got "
                    f"{self.class_weight}."
                )
        progress = current_progress()
        progress.stage("training", n_steps=1)
        # Modules of torch take samples from where they are.
        X = X if is_module(self.estimator) else to_numpy(X)
        self.estimator_ = trained_classifier(
            self.estimator,
            X,
            y,
            weights if self.class_weight is not None else None,
            getattr(self, "feature_names_in_", None),
            self.random_state,
        )
        name = classifier_name(self.estimator_)
        progress.step("training", name, name="classifier")
        mean = mean_curvature(
            self.estimator_, X, y, weights, self.curvature, self.derivatives
        )
        self.hessian_ = mean.matrix
        name = f"Hessian of {classifier_name(self.estimator_)}"
        if not np.abs(self.hessian_).max() > np.finfo(np.float64).tiny:
            raise ValueError(
                f"The {name} is zero: its probabilities do not change with X, or they "
                "are all zero or one. Stop its training earlier or regularise it more "
                "if it is saturated, and less if it always predicts the same; a "
                "classifier that is piecewise constant, such as a tree, has no Hessian."
            )
        if mean.saturated:
            warn_user(
                f"All probabilities of {classifier_name(self.estimator_)} are zero or "
                "one up to rounding. So its Hessian is nearly zero, and one or a few "
                "samples decide on the eigenvectors. Regularise its training more, or "
                "stop it earlier.",
                UserWarning,
            )
        self.hessian_eigenvalues_, self.hessian_eigenvectors_ = leading_axes(
            self.hessian_
        )
        check_rank(self.hessian_eigenvalues_, self.n_hessian, "n_hessian", name)
        return mean.traces

    def _no_hessian(self):
        self.estimator_ = self.hessian_ = None
        self.hessian_eigenvalues_ = self.hessian_eigenvectors_ = None

    def _separation(self, X, codes):
        rank = positive_rank(to_numpy(self.hessian_eigenvalues_))
        return separation_grid(
            X,
            codes,
            to_numpy(self.covariance_eigenvectors_)[:_GRID],
            to_numpy(self.hessian_eigenvectors_)[: min(rank, _GRID)],
        )

    @property
    def _n_features_out(self):
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = ARRAY_API
        return tags


def _covariance(X):
    """Sample covariance matrix, on the host."""
    with np.errstate(over="ignore", invalid="ignore"):
        check_underflow(float(namespace(X).sum(X * X)), X)
        if namespace(X) is np:
            covariance = np.atleast_2d(np.cov(X, rowvar=False))
        else:
            _, covariance = mean_and_covariance(X)
            covariance = covariance * (X.shape[0] / (X.shape[0] - 1))
    if not np.isfinite(covariance).all():
        raise ValueError(
            "The squares of the numbers of X are too large for floating-point numbers. "
            "Divide X by a common factor, or use StandardScaler."
        )
    return covariance
