"""Wasserstein discriminant analysis."""

from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_array

from skgeom._moments import weighted_samples
from skgeom.baselines._base import PROJECTION_DOCS, LinearProjection
from skgeom.baselines._transport import TransportCosts, mean_costs
from skgeom.optim import CONSTRAINTS, OPTIMIZERS, StartError, minimize
from skgeom.utils.estimator import estimator_method, substitute_docs
from skgeom.utils.linalg import fix_signs, space_of
from skgeom.utils.validation import check_two_classes, warn_user

# The relative precision of the costs of the plans.
_PRECISION = 1e-11


@substitute_docs(**PROJECTION_DOCS)
class WassersteinDiscriminantAnalysis(LinearProjection):
    r"""Wasserstein discriminant analysis (WDA).

    The components, the orthonormal columns of P, minimise the ratio of the costs of
    moving the samples of the classes to their own places, and to those of each other,

    .. math::

       \min_{P^\top P = I} \;
       \frac{\sum_c W(X_c P, X_c P)}{\sum_{c < c'} W(X_c P, X_{c'} P)} ,
       \quad W = \langle T, C \rangle

    where :math:`C_{ij} = \|P^\top (x_i - x_j)\|^2` and T is the transport plan with
    entropic regularisation :math:`\gamma` [1]_: it minimises :math:`\langle T, C
    \rangle + \gamma \sum_{ij} T_{ij} \log T_{ij}`. A sample is compared mostly
    with those that are close to it, so that a class may be of several parts. WDA is
    meant for nearest-neighbour classifiers.

    The plans are computed until they have converged, and the gradient is that of the
    converged plans, in closed form.

    Parameters
    ----------
    n_components : int, default=2
        Number of components, at most ``n_features``.
    regularization : float, default=0.1
        :math:`\gamma`, the regularisation of the transport plans. For large values WDA
        is similar to linear discriminant analysis; for small values it is more local.
    normalize : bool, default=True
        Whether ``regularization`` is in units of the mean squared distance between the
        samples of a pair of classes at the start, so that it does not depend on the
        scale of X. [1]_ has absolute units.
    max_samples : int or None, default=5000
        The largest number of samples that are compared with each other. Of more, a
        random part is used, of the same fraction of each class. None for no limit.
    init : str or array-like of shape (n_components, n_features), default="pca"
        The start: ``"pca"`` for the leading principal axes, ``"random"`` for random
        orthonormal components, or an array, of which the nearest orthonormal components
        are taken.
    optimizer : str or pymanopt optimizer, default="lbfgs"
        The optimiser: ``"lbfgs"``, ``"conjugate-gradient"``, ``"trust-regions"``,
        ``"steepest-descent"``, or an instance of a pymanopt optimizer; see
        :func:`skgeom.optim.minimize`.
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-4
        The search ends if ten iterations together decrease the ratio by at most this
        fraction of it.
    random_state : int, RandomState instance or None, default=None
        For ``max_samples`` and ``init="random"``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The components, orthonormal; the largest entry of each is positive.
    objective_ : float
        The ratio that they reach.
    n_iter_ : int
        Number of iterations.
    {classes_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    LocalFisherDiscriminantAnalysis : Local as well, and much faster.
    sklearn.neighbors.NeighborhoodComponentsAnalysis : Learns for nearest neighbours.

    Notes
    -----
    Each iteration compares all pairs of samples, and takes a time that grows with their
    number, but memory for one plan at a time.

    There may be local minima: the result depends on ``init``.

    References
    ----------
    .. [1] R. Flamary, M. Cuturi, N. Courty and A. Rakotomamonjy, "Wasserstein
       discriminant analysis", Machine Learning 107, 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skgeom.baselines import WassersteinDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> wda = WassersteinDiscriminantAnalysis(n_components=2)
    >>> wda.fit(X, y).transform(X).shape
    (150, 2)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "regularization": [Interval(Real, 0, None, closed="neither")],
        "normalize": ["boolean"],
        "max_samples": [Interval(Integral, 2, None, closed="left"), None],
        "init": [StrOptions({"pca", "random"}), "array-like"],
        "optimizer": [StrOptions(set(OPTIMIZERS)), HasMethods("run")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=2,
        *,
        regularization=0.1,
        normalize=True,
        max_samples=5000,
        init="pca",
        optimizer="lbfgs",
        max_iter=500,
        tol=1e-4,
        random_state=None,
    ):
        self.n_components = n_components
        self.regularization = regularization
        self.normalize = normalize
        self.max_samples = max_samples
        self.init = init
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @estimator_method
    def fit(self, X, y, sample_weight=None):
        """Learn the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; not modified.
        y : array-like of shape (n_samples,)
            Their class labels, of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; a weight of 2 counts a sample twice. Only the
            weights relative to others of the same class matter.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If X or y is malformed, if there is one class only, if ``n_components``
            exceeds the number of features, if ``init`` has another shape or dependent
            rows, if X does not vary within the classes, or if the objective is not
            finite at the start.

        Warns
        -----
        ConvergenceWarning
            If the search ends at ``max_iter`` iterations.
        """
        X, y, weights = self._validate(X, y, sample_weight)
        self._check_n_components()
        rng = check_random_state(self.random_state)
        rows = self._sampled(y, rng)
        X, y, weights = X[rows], y[rows], weights[rows]
        if all(np.ptp(X[y == code], axis=0).max() == 0 for code in np.unique(y)):
            raise ValueError(
                "X does not vary within the classes: the samples of each are all the "
                "same."
            )
        space = space_of(X, centred=True, n_least=self.n_components)
        X = space.samples - np.average(space.samples, axis=0, weights=weights)
        scale = np.abs(X).max()  # has no effect on the ratio
        X /= scale
        start = self._start(X, weights, space, rng)
        with np.errstate(all="ignore"):  # the search avoids points that are not finite
            gamma = self._gamma(X @ start, y, weights, scale)
            result = self._search(X, y, weights, gamma, start)
        self.components_ = fix_signs(space.lift(result.point).T)
        self.objective_ = result.cost
        self.n_iter_ = result.n_iter
        if not result.converged:
            warn_user(
                f"WassersteinDiscriminantAnalysis did not converge: {result.reason} "
                "The components found so far can be used. Increase max_iter or tol.",
                ConvergenceWarning,
            )
        return self

    def _validate(self, X, y, sample_weight):
        X, codes = super()._validate(X, y)
        if sample_weight is None:
            return X, codes, np.ones(len(codes))
        X, codes, weights = weighted_samples(X, codes, sample_weight)
        present, codes = np.unique(codes, return_inverse=True)
        self.classes_ = self.classes_[present]
        check_two_classes(self.classes_, type(self).__name__)
        return X, codes, weights

    def _sampled(self, codes, rng):
        """Rows of ``max_samples`` samples, as large a part of each class, or one."""
        n_samples = len(codes)
        if self.max_samples is None or n_samples <= self.max_samples:
            return np.arange(n_samples)
        order = rng.permutation(n_samples)
        order = order[np.argsort(codes[order], kind="stable")]
        places = (np.arange(self.max_samples) + 0.5) * n_samples / self.max_samples
        first_of_each = np.unique(codes[order], return_index=True)[1]
        return np.sort(order[np.union1d(places.astype(int), first_of_each)])

    def _start(self, X, weights, space, rng):
        """Orthonormal columns, given centred samples, in the coordinates of a space."""
        nearest = CONSTRAINTS["orthonormal"].nearest
        shape = (self.n_components, self.n_features_in_)
        if not isinstance(self.init, str):
            init = check_array(self.init, dtype=np.float64, input_name="init")
            if init.shape != shape:
                raise ValueError(
                    f"init must have shape (n_components, n_features) = {shape}, got "
                    f"{init.shape}."
                )
            if np.linalg.matrix_rank(init) < len(init):
                raise ValueError(
                    "init must have linearly independent rows, but they span "
                    f"{np.linalg.matrix_rank(init)} directions only."
                )
            return nearest(space.restrict(init.T))
        if self.init == "random":
            random = rng.standard_normal((self.n_components, X.shape[1]))
            return nearest(random.T)
        _, axes = np.linalg.eigh((X.T * weights) @ X)
        return np.ascontiguousarray(axes[:, ::-1][:, : self.n_components])

    def _gamma(self, Z, codes, weights, scale):
        """The regularisation of each pair of classes."""
        if self.normalize:
            units = mean_costs(Z, codes, weights)
            # Samples that are all the same have a plan of no cost with any.
            units[units == 0] = units.mean()
        else:
            units = np.full([len(self.classes_)] * 2, 1 / scale / scale)
        return self.regularization * units

    def _search(self, X, codes, weights, gamma, start):
        """The components, in columns, at which the ratio is least."""
        try:
            return minimize(
                _Ratio(X, codes, weights, gamma),
                CONSTRAINTS["orthonormal"].manifold(*start.shape),
                start,
                optimizer=self.optimizer,
                max_iter=self.max_iter,
                tol=self.tol,
                precision=_PRECISION,
            )
        except StartError:
            raise ValueError(
                "The costs of the transport plans are not finite at the start, or "
                "zero: check that the samples differ, increase regularization, or "
                "choose another init."
            ) from None


class _Ratio:
    """The objective, and its gradient, as a function of the components."""

    def __init__(self, X, codes, weights, gamma):
        self._X = X
        self._costs = TransportCosts(codes, weights, gamma)

    def __call__(self, components):
        (within, between), gradients = self._costs(self._X @ components)
        ratio = within / between
        gradient = (gradients[0] - ratio * gradients[1]) / between
        return ratio, self._X.T @ gradient
