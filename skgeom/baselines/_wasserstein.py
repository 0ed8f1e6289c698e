"""Wasserstein discriminant analysis, by the package POT."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_array

from skgeom.baselines._base import (
    PROJECTION_DOCS,
    LinearProjection,
)
from skgeom.optim import CONSTRAINTS, OPTIMIZERS, StartError, minimize
from skgeom.utils._docs import substitute_docs
from skgeom.utils._signs import fix_signs
from skgeom.utils._span import space_of
from skgeom.utils._undo import all_or_nothing
from skgeom.utils._warnings import warn_user


@substitute_docs(**PROJECTION_DOCS)
class WassersteinDiscriminantAnalysis(LinearProjection):
    r"""Wasserstein discriminant analysis (WDA).

    The components, the orthonormal columns of P, minimise the ratio of the regularised
    Wasserstein distances of the classes to themselves and to each other,

    .. math::

       \min_{P^\top P = I} \;
       \frac{\sum_c W_\gamma(X_c P, X_c P)}{\sum_{c < c'} W_\gamma(X_c P, X_{c'} P)}

    where :math:`W_\gamma` is the cost of the transport plan with entropic
    regularisation :math:`\gamma` [1]_. It is meant for nearest-neighbour classifiers.
    The objective is that of ``ot.dr.wda`` of the package POT, which must be installed
    (``pip install pot``). The search is that of :func:`skgeom.optim.minimize`.

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
        scale of X. Each class must then have samples that differ. [1]_ and POT use
        absolute units.
    n_sinkhorn : int, default=10
        Number of iterations of Sinkhorn's algorithm, which computes the plans.
    log_domain : bool, default=False
        Whether Sinkhorn's algorithm works with logarithms, which is slower but works
        for any ``regularization``.
    init : str or array-like of shape (n_components, n_features), default="pca"
        The start: ``"pca"`` for the leading principal axes, ``"random"`` for random
        orthonormal components, or an array, of which the nearest orthonormal components
        are taken.
    optimizer : str or pymanopt optimizer, default="lbfgs"
        The optimiser: ``"lbfgs"``, ``"conjugate-gradient"``, ``"trust-regions"``,
        ``"steepest-descent"``, or an instance of a pymanopt optimizer; see
        :func:`skgeom.optim.minimize`.
    max_iter : int, default=100
        Largest number of iterations.
    tol : float, default=1e-4
        The search ends if ten iterations together decrease the ratio by at most this
        fraction of it.
    random_state : int, RandomState instance or None, default=None
        For ``init="random"``.

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
    Each iteration compares all pairs of samples. The limit is a few thousand samples
    and some dozens of features; otherwise use a subset of the samples and PCA first.

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
    >>> wda.fit(X, y).transform(X).shape  # doctest: +SKIP
    (150, 2)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "regularization": [Interval(Real, 0, None, closed="neither")],
        "normalize": ["boolean"],
        "n_sinkhorn": [Interval(Integral, 1, None, closed="left")],
        "log_domain": ["boolean"],
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
        n_sinkhorn=10,
        log_domain=False,
        init="pca",
        optimizer="lbfgs",
        max_iter=100,
        tol=1e-4,
        random_state=None,
    ):
        self.n_components = n_components
        self.regularization = regularization
        self.normalize = normalize
        self.n_sinkhorn = n_sinkhorn
        self.log_domain = log_domain
        self.init = init
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X, y):
        """Learn the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; not modified.
        y : array-like of shape (n_samples,)
            Their class labels, of at least two classes.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ImportError
            If POT is not installed.
        ValueError
            If X or y is malformed, if there is one class only, if ``n_components``
            exceeds the number of features, if ``init`` has another shape or dependent
            rows, if ``normalize`` and all samples of a class are equal, or if the
            objective is not finite at the start.

        Warns
        -----
        ConvergenceWarning
            If the search ends at ``max_iter`` iterations.
        """
        try:
            from ot.dr import wda
        except ImportError as error:
            raise ImportError(
                "WassersteinDiscriminantAnalysis needs the package POT: install it "
                "with 'pip install pot'."
            ) from error

        X, codes = self._validate(X, y)
        self._check_n_components()
        if self.normalize:
            self._check_that_samples_differ(X, codes)
        space = space_of(X, centred=True, n_least=self.n_components)
        # A copy, because wda may change it in place.
        X = space.samples - space.samples.mean(axis=0)
        scale = np.abs(X).max() or 1.0  # has no effect on the ratio
        X /= scale
        regularization = self.regularization
        search = _Search(self.optimizer, self.max_iter, self.tol)
        with np.errstate(all="ignore"):  # the search avoids points that are not finite
            if not self.normalize:
                regularization = regularization / scale / scale
            wda(
                X,
                codes,
                p=self.n_components,
                reg=regularization,
                k=self.n_sinkhorn,
                solver=search,
                sinkhorn_method="sinkhorn_log" if self.log_domain else "sinkhorn",
                P0=self._start(X, space),
                normalize=self.normalize,
            )
        result = search.result
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

    def _check_that_samples_differ(self, X, codes):
        """Raise for a class whose mean distance is zero, which is divided by."""
        for code, label in enumerate(self.classes_.tolist()):
            of_class = X[codes == code]
            if (of_class == of_class[0]).all():
                count = len(of_class)
                samples = f"{count} samples, all the same" if count > 1 else "1 sample"
                raise ValueError(
                    f"Class {label!r} has {samples}, but with normalize=True each "
                    "class needs 2 that differ. Merge it with another class, leave it "
                    "out, or set normalize=False."
                )

    def _start(self, X, space):
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
            rng = check_random_state(self.random_state)
            random = rng.standard_normal((self.n_components, X.shape[1]))
            return nearest(random.T)
        _, axes = np.linalg.eigh(X.T @ X)
        return np.ascontiguousarray(axes[:, ::-1][:, : self.n_components])


class _Search:
    """The optimizer that POT calls like one of pymanopt. It keeps the result."""

    def __init__(self, optimizer, max_iter, tol):
        self._settings = {"optimizer": optimizer, "max_iter": max_iter, "tol": tol}
        self.result = None

    def run(self, problem, *, initial_point):
        """Minimise the cost of a pymanopt problem."""

        def value_and_gradient(point):
            return problem.cost(point), problem.euclidean_gradient(point)

        try:
            self.result = minimize(
                value_and_gradient, problem.manifold, initial_point, **self._settings
            )
        except StartError:
            raise ValueError(
                "The Wasserstein distances are not finite at the start: set "
                "log_domain=True, or increase regularization; check that the samples "
                "differ."
            ) from None
        return self.result
