"""Projection onto eigenvectors of the covariance and of a classifier's Hessian."""

from numbers import Integral

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from skgeom._hessian.diagnostics import (
    check_conditions,
    mean_and_covariance,
    separation_grid,
)
from skgeom._hessian.input_hessian import mean_curvature
from skgeom._hessian.models import (
    call_in_double,
    classifier_name,
    is_function,
    is_module,
)
from skgeom._sample_moments import check_underflow
from skgeom.utils._mixins import LinearProjection
from skgeom.utils._sklearn import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    check_feature_names,
    safe_indexing,
)
from skgeom.utils.array_api import (
    to_numpy,
)
from skgeom.utils.docs import SAMPLE_WEIGHT, substitute_docs
from skgeom.utils.linalg import fix_signs
from skgeom.utils.memory import require_memory
from skgeom.utils.methods import fit_method, on_host, predict_method
from skgeom.utils.progress import current_progress
from skgeom.utils.validation import (
    checked_labels,
    class_factors,
    encoded_labels,
    named_like_fit,
    raise_too_large,
    validate_data,
    validated_samples,
)
from skgeom.utils.warn import warn_if_outlier, warn_if_unscaled, warn_user


class CovarianceHessianProjection(CallbackSupportMixin, LinearProjection):
    r"""Projection onto eigenvectors of the covariance and of a classifier's Hessian.

    The components are the leading eigenvectors :math:`v_1, v_2, \dots` of the
    covariance matrix of the samples (equation 1 of [1]_), followed by the leading
    eigenvectors :math:`v'_1, v'_2, \dots` of a Hessian matrix (equation 3). The Hessian
    contains the second derivatives of a classifier's cross-entropy with respect to its
    inputs, averaged over the samples:

    .. math::

       U = [v_1, \dots, v'_1, \dots], \qquad
       \frac{1}{n-1} \sum_i (x_i - \bar x)(x_i - \bar x)^\top v = \lambda v, \qquad
       \frac1n \sum_i \nabla_x^2 \left[-\log p(y_i \mid x_i)\right] v' = \lambda' v'

    :meth:`transform` returns X U (equations 4 and 5), without centering. The variance
    of the data is largest along :math:`v_1`. The mean curvature of the classifier's
    loss is largest along :math:`v'_1`. The user guide explains the projection, and
    :func:`input_hessian` computes the Hessian.

    Parameters
    ----------
    estimator : estimator, callable or None, default=None
        The classifier; ``fit`` fits a clone of it. To use a classifier that is already
        fitted to the same features, wrap it in a
        :class:`~sklearn.frozen.FrozenEstimator`. Pass a classifier from another package
        as a function of X that is written with ``autograd.numpy``, or as a
        ``torch.nn.Module``. Both must return the log-probabilities or logits of the
        sorted classes of y; see :func:`input_hessian`. They must be trained before
        ``fit``.

        None uses a :class:`~sklearn.preprocessing.StandardScaler` and a
        :class:`~sklearn.neural_network.MLPClassifier` with one hidden layer of 32 tanh
        units. The penalty of the squared weights, ``alpha=min(n_samples, 500) / (5 *
        n_classes)``, reduces the number of probabilities close to zero and one. If two
        classes are linearly separable, the network is usually nearly linear, and only
        the first Hessian eigenvector is relevant.
    n_covariance : int, default=1
        Number of covariance eigenvectors. With 0, the projection is the Hessian method
        of [1]_.
    n_hessian : int, default=1
        Number of Hessian eigenvectors. With 0, the components are the axes of principal
        component analysis, but :meth:`transform` does not center the samples. No
        classifier is fitted.
    curvature : {"hessian", "gauss-newton"}, default="hessian"
        The full Hessian, or its Gauss-Newton part, which has no negative eigenvalues.
        The two are equal for ReLU networks and linear classifiers.
    derivatives : {"auto", "analytic", "differences"}, default="auto"
        Method that computes the Hessian. ``"auto"`` uses formulas for classifiers that
        have them, autograd for functions, and central differences for all other
        classifiers. ``"analytic"`` raises an error if a classifier has no formula.
        Modules are always differentiated with PyTorch. :func:`input_hessian` states the
        costs.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes in the mean Hessian and in the training of the
        classifier. If the classifier does not accept ``sample_weight``, ``fit`` warns
        and trains it without weights. With "balanced", all classes have the same total
        weight. The covariance does not depend on ``class_weight``.
    random_state : int, RandomState instance or None, default=None
        Seed of the default network.
    verbose : int, default=0
        If 1, prints a line after the training and after the computation of the Hessian,
        and at most one line per second during this computation. If 2, prints a line for
        every block of samples.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The eigenvectors of the covariance matrix, then the eigenvectors of the Hessian,
        both in descending order of their eigenvalues. Eigenvectors have unit norm, and
        their entry of largest magnitude is positive. Eigenvectors of one matrix are in
        general not orthogonal to eigenvectors of the other matrix.
    contributions_ : ndarray of shape (n_components, n_features)
        Absolute values of ``components_``, which measure the contribution of each
        feature to each component.
    n_covariance_ : int
        Number of components that are eigenvectors of the covariance matrix.
    estimator_ : estimator, callable or None
        The fitted classifier. If ``n_hessian`` is 0, ``estimator_``, ``separation_``
        and the attributes of the Hessian are None.
    covariance_ : ndarray of shape (n_features, n_features)
        Sample covariance matrix.
    covariance_eigenvalues_ : ndarray of shape (n_features,)
        Eigenvalues of ``covariance_``, in descending order.
    covariance_eigenvectors_ : ndarray of shape (n_features, n_features)
        Eigenvectors of ``covariance_``, in rows.
    hessian_ : ndarray of shape (n_features, n_features) or None
        Mean Hessian.
    hessian_eigenvalues_ : ndarray of shape (n_features,) or None
        Eigenvalues of ``hessian_``, in descending order.
    hessian_eigenvectors_ : ndarray of shape (n_features, n_features) or None
        Eigenvectors of ``hessian_``, in rows.
    separation_ : SeparationGrid or None
        Separation of the classes of the training samples: distances between classes
        along up to ten leading eigenvectors of the covariance matrix, variances within
        classes along up to ten leading eigenvectors of the Hessian, and their ratios,
        as in figure 1 (b) to (d) of [1]_.
    conditions_ : ProjectionConditions
        Diagnostics, on the training samples, of the conditions in section 3 of [1]_.
        Print the object to see a summary.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names that are all strings.

    See Also
    --------
    input_hessian : Computes the Hessian.
    SQFA : Learns filters that maximize the distances between the classes.

    Notes
    -----
    Both matrices depend on the units of the features. If features have different units,
    apply a :class:`~sklearn.preprocessing.StandardScaler` before the projection.

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

    _accepts_libraries = True
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

    @fit_method(nested_validation=True)
    @substitute_docs(sample_weight=SAMPLE_WEIGHT)
    def fit(self, X, y, sample_weight=None):
        """Fit the classifier, and compute the eigenvectors of both matrices.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; not modified.
        y : array-like of shape (n_samples,)
            Class labels of the samples, of at least two classes.
        {sample_weight}

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X, y or ``sample_weight`` is malformed, if there is only one class, if
            there are fewer features or positive eigenvalues than requested components,
            if the Hessian is zero or contains infinite or NaN values, if the classifier
            has no probabilities or its probabilities are not smooth, or if a frozen
            classifier was fitted to different features or classes.

        Warns
        -----
        UserWarning
            If all probabilities are zero or one up to rounding, so that a few samples
            determine the Hessian, if the classifier cannot be trained with weights, if
            one feature or a tenth of the features have more than 99 % of the variance
            of all features, or if one sample causes more than 99 % of the variance.
        """
        samples = validated_samples(self, X, y, sample_weight, double=True)
        given, y, copies, X = samples.X, samples.y, samples.weights, to_numpy(samples.X)
        weights = np.ones(len(y)) if copies is None else copies
        self.classes_, codes = encoded_labels(y, type(self).__name__)
        n_components, n_features = self.n_covariance + self.n_hessian, X.shape[1]
        if not 0 < n_components <= n_features:
            raise ValueError(
                f"n_covariance + n_hessian = {n_components} must be at least 1 and at "
                f"most n_features={n_features}."
            )
        progress = current_progress()
        progress.start(X, y)
        warn_if_outlier(X, copies, samples.rows)
        self.covariance_ = _covariance(X, weights)
        if self.n_covariance:
            consequence = "Features of large variance determine the eigenvectors."
            warn_if_unscaled(np.diag(self.covariance_), consequence, self)
        values, axes = _eigenvectors(self.covariance_)
        self.covariance_eigenvalues_, self.covariance_eigenvectors_ = values, axes
        precision, name = np.finfo(np.float64).eps, "covariance of X"
        _checked_rank(values, precision, self.n_covariance, "n_covariance", name)
        self.estimator_ = self.hessian_ = self.separation_ = None
        self.hessian_eigenvalues_ = self.hessian_eigenvectors_ = traces = None
        self.components_ = axes[: self.n_covariance]
        if self.n_hessian:
            progress.stage("training", n_steps=1)
            # torch modules accept samples on their device.
            samples = given if is_module(self.estimator) else X
            of_training = weights * self._class_factors(codes, weights)[codes]
            self.estimator_ = self._trained(samples, y, copies, of_training)
            name = classifier_name(self.estimator_)
            progress.step("training", name, name="classifier")
            mean = mean_curvature(
                self.estimator_,
                samples,
                y,
                of_training,
                self.curvature,
                self.derivatives,
            )
            _check_saturation(mean, name)
            self.hessian_, traces = mean.matrix, mean.traces
            values, axes = _eigenvectors(self.hessian_)
            self.hessian_eigenvalues_, self.hessian_eigenvectors_ = values, axes
            name = f"Hessian of {name}"
            self._hessian_rank = _checked_rank(
                values, mean.precision, self.n_hessian, "n_hessian", name
            )
            self.components_ = np.concatenate(
                [self.components_, axes[: self.n_hessian]]
            )
            self.separation_ = self._separation(X, codes, weights)
        self.n_covariance_ = self.n_covariance
        self.contributions_ = np.abs(self.components_)
        self.conditions_ = check_conditions(self, X, codes, weights, traces)
        return self

    @predict_method
    def separation(self, X, y):
        """Compute the separation of new samples along the leading eigenvectors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Class labels of the samples. All classes of the training data must occur.

        Returns
        -------
        grid : SeparationGrid
            The separation of the classes, as in ``separation_``.

        Raises
        ------
        ValueError
            If the classes differ from the classes of the training data, or if
            ``n_hessian`` is 0.
        """
        if self.hessian_ is None:
            raise ValueError(
                "The projection was fitted with n_hessian=0, so the separation is "
                "undefined. Fit it with n_hessian=1."
            )
        X = to_numpy(validate_data(self, X, reset=False)).astype(np.float64)
        y, classes = checked_labels(y, X), to_numpy(self.classes_)
        if not np.array_equal(np.unique(y), classes):
            raise ValueError(
                f"y must contain all classes {classes.tolist()} and no other classes, "
                f"got {np.unique(y).tolist()}."
            )
        return self._separation(X, np.searchsorted(classes, y), np.ones(len(y)))

    def _class_factors(self, codes, weights):
        """Factors of the weights of the classes, from ``class_weight``."""
        sums = np.bincount(codes, weights)
        factors = class_factors(self.class_weight, self.classes_, sums, zero=True)
        if not factors.any():
            raise ValueError(
                "class_weight must not be zero for all classes, got "
                f"{self.class_weight}."
            )
        return factors

    def _trained(self, X, y, copies, weights):
        """A fitted clone of the classifier; functions and modules are not fitted.

        ``copies`` is ``sample_weight``, or None, and ``weights`` also contain the
        weights of the classes.
        """
        if self.estimator is None:
            n_samples = len(y) if copies is None else copies.sum()
            n_classes = len(self.classes_)
            estimator = default_network(n_samples, n_classes, self.random_state)
        elif is_function(self.estimator):
            return self.estimator
        else:
            estimator = clone(self.estimator)
        named = hasattr(self, "feature_names_in_")
        if named and isinstance(estimator, FrozenEstimator):
            check_feature_names(estimator, named_like_fit(X, self), reset=False)
        parameters = {}
        if copies is not None or self.class_weight is not None:
            parameters = _weight_parameters(estimator, weights, copies)
        if parameters is None:
            warn_user(
                "The classifier is trained without weights, because the fit method of "
                f"{classifier_name(estimator)} does not accept sample_weight. Weight "
                "the classes by its parameters, or freeze a trained classifier.",
                UserWarning,
            )

        def fit_some(X):
            # A few samples suffice to find out which precision the classifier accepts.
            some = np.concatenate([np.flatnonzero(y == k)[:10] for k in np.unique(y)])
            return clone(estimator).fit(safe_indexing(X, some), y[some])

        return call_in_double(
            lambda X: estimator.fit(X, y, **(parameters or {})),
            named_like_fit(X.copy(), self),
            classifier_name(estimator),
            fit_some,
        )

    def _separation(self, X, codes, weights):
        # Up to ten leading eigenvectors of each matrix, as in figure 1.
        fitted, rank = on_host(self), min(self._hessian_rank, 10)
        covariance_axes = fitted.covariance_eigenvectors_[:10]
        hessian_axes = fitted.hessian_eigenvectors_[:rank]
        return separation_grid(X, codes, weights, covariance_axes, hessian_axes)


def default_network(n_samples, n_classes, random_state=None):
    """The default classifier, for ``estimator=None``.

    Without a penalty of the squared weights, the probabilities become zero and one, and
    a few samples determine the Hessian. The penalty is added to the sum of the losses
    of the samples. It increases with the number of samples, up to 500 samples in total,
    above which the sum of the losses outweighs it.

    The network has one hidden layer: with several layers and overlapping classes, a
    sufficiently large penalty makes all weights zero. The tanh units are smooth, so
    L-BFGS converges, nearly always to the same classifier.
    """
    network = MLPClassifier(
        (32,),
        activation="tanh",
        solver="lbfgs",
        alpha=min(n_samples, 500) / (5 * n_classes),
        max_iter=2000,
        random_state=random_state,
    )
    return make_pipeline(StandardScaler(), network)


def _weight_parameters(estimator, weights, copies):
    """Arguments of ``fit`` with sample weights; None if they are not accepted.

    The transformers of a pipeline receive the weights ``copies``, if they accept
    weights: the weights of classes are those of the loss.
    """
    if isinstance(estimator, Pipeline):
        *steps, (name, last) = estimator.steps
        inner = _weight_parameters(last, weights, copies)
        found = inner and {f"{name}__{key}": inner[key] for key in inner}
        for name, step in steps if found and copies is not None else ():
            if has_fit_parameter(step, "sample_weight"):
                found[f"{name}__sample_weight"] = copies
        return found
    frozen = isinstance(estimator, FrozenEstimator)  # ignores all arguments
    if frozen or has_fit_parameter(estimator, "sample_weight"):
        return {"sample_weight": weights}
    return None


def _check_saturation(mean, name):
    """Raise ValueError for a zero Hessian; warn if all probabilities are saturated."""
    if not np.abs(mean.matrix).max() > np.finfo(np.float64).tiny:
        raise ValueError(
            f"The Hessian of {name} is zero: its probabilities do not depend on X, "
            "or are all zero or one. Stop its training earlier or regularize it more. "
            "Do not use piecewise constant classifiers."
        )
    if mean.saturated:
        warn_user(
            f"All probabilities of {name} are zero or one up to rounding, so a few "
            "samples determine the eigenvectors of its Hessian. Regularize its "
            "training more, or stop it earlier.",
            UserWarning,
        )


def _eigenvectors(matrix):
    """Eigenvalues in descending order, and eigenvectors in rows, with fixed signs."""
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1].copy(), fix_signs(vectors.T[::-1])


def _positive_rank(eigenvalues, precision):
    """Number of eigenvalues that exceed the errors of the matrix."""
    error = len(eigenvalues) * precision * np.abs(eigenvalues).max()
    return np.count_nonzero(eigenvalues > error)


def _checked_rank(eigenvalues, precision, n_components, parameter, name):
    """Number of positive eigenvalues; ValueError if fewer than components."""
    rank, remedy = _positive_rank(eigenvalues, precision), ""
    if n_components > rank:
        if _positive_rank(-eigenvalues, precision):
            remedy = " Or use curvature='gauss-newton': no eigenvalue is then negative."
        raise ValueError(
            f"{parameter}={n_components} exceeds the number of positive eigenvalues of "
            f"the {name}, {rank}. Reduce {parameter}.{remedy}"
        )
    return rank


def _covariance(X, weights):
    """Sample covariance matrix."""
    require_memory(
        16 * X.shape[1] ** 2,  # the matrix and its eigenvectors
        f"The covariance matrix of {X.shape[1]} features and its eigenvectors",
        "Reduce the number of features of X first, for example by PCA.",
    )
    with np.errstate(over="ignore", invalid="ignore"):
        check_underflow(float((X * X).sum()), X)
        _, covariance = mean_and_covariance(X, weights)
        covariance = covariance * (weights.sum() / (weights.sum() - 1))
    if not np.isfinite(covariance).all():
        raise_too_large(np.abs(X).max())
    return covariance
