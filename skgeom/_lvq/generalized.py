"""Generalised learning vector quantisation: prototypes that maximise margins."""

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from skgeom._lvq.base import BaseLVQ
from skgeom._lvq.docs import LVQ_DOCS
from skgeom._lvq.stochastic import StochasticLVQ
from skgeom._lvq.undo import all_or_nothing
from skgeom.objectives import (
    SPD_SPACES,
    EuclideanSPDSpace,
    FlatSpace,
    MarginLoss,
    Relevance,
)
from skgeom.utils._docs import substitute_docs

# Slope of the sigmoid where all samples are looked at together.
_SLOPE = 10.0


@substitute_docs(**LVQ_DOCS)
class GLRSQ(StochasticLVQ):
    r"""Generalised learning vector quantisation of SPD matrices.

    Each class has prototypes. With the squared distance :math:`d_J` of a sample from
    the nearest prototype of its class, and :math:`d_K` from the nearest of the others,
    they minimise [1]_

    .. math:: \sum_i \phi\left(s \, \frac{d_J - d_K}{d_J + d_K}\right), \qquad
       \phi(t) = \frac{1}{1 + e^{-t}}.

    Parameters
    ----------
    {n_prototypes}
    {metric}
    slope : "auto" or float, default="auto"
        The slope s. ``"auto"`` is 10 for ``"lbfgs"``; for ``"sgd"`` it is the number of
        the epoch, as in the authors' code: in the end it is the samples close to the
        border that count.
    {init}
    {solver}
    {max_iter}
    {tol}
    learning_rate : "auto" or float, default="auto"
        :math:`\alpha` of ``"sgd"`` before the first epoch, for the slope 1; it falls to
        a hundredth during ``max_iter`` epochs. ``"auto"`` is n / 100 for SPD matrices
        of size n; with the Euclidean metric it is a tenth of the mean squared distance
        of the samples from the nearest prototype of their class at the start.
    {batch_size}
    {shuffle}
    {warm_start}
    {random_state}
    {verbose}

    Attributes
    ----------
    {prototypes_}
    {prototype_labels_}
    {classes_}
    {loss_curve_}
    {n_iter_}
    {n_features_in_}

    See Also
    --------
    PLRSQ : Maximises probabilities instead of margins.

    References
    ----------
    .. [1] F. Tang, M. Fan and P. Tino, "Generalized learning Riemannian space
       quantization: a case study on Riemannian manifold of SPD matrices", IEEE
       Transactions on Neural Networks and Learning Systems 32(1), 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom import GLRSQ
    >>> rng = np.random.default_rng(0)
    >>> signals = rng.normal(size=(40, 3, 50))
    >>> signals[20:, 0] *= 2
    >>> X = signals @ signals.mT / 50
    >>> y = np.repeat(["rest", "left"], 20)
    >>> float(GLRSQ().fit(X, y).score(X, y))
    1.0
    """

    _parameter_constraints = {
        **StochasticLVQ._parameter_constraints,
        "metric": [StrOptions(set(SPD_SPACES))],
        "slope": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_prototypes=1,
        *,
        metric="riemann",
        slope="auto",
        init="auto",
        solver="auto",
        max_iter=100,
        tol=1e-4,
        learning_rate="auto",
        batch_size=1,
        shuffle=True,
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        self.n_prototypes = n_prototypes
        self.metric = metric
        self.slope = slope
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _find_space(self, ndim):
        return SPD_SPACES[self.metric]()

    def _make_loss(self, training=None, solver=None, start=None):
        return MarginLoss(self._prototype_indices())

    def _first_scale(self, training, prototypes, solver):
        if isinstance(training.space, EuclideanSPDSpace):
            self._reference(training, prototypes)  # the unit of the learning rate
        return _SLOPE if self.slope == "auto" else float(self.slope)

    def _scales(self, slope):
        if self.slope == "auto":
            return [float(epoch) for epoch in range(1, self.max_iter + 1)]
        return [slope] * self.max_iter

    def _partial_scale(self, epoch):
        if self.slope != "auto":
            return float(self.slope)
        return self._slope if self._n_calls == np.inf else float(epoch)

    def _store_scale(self, scale):
        self._slope = scale

    def _first_rate(self, scale, space):
        rate = self.learning_rate
        if rate == "auto":
            # Steps must not depend on the unit, and derivatives have that of 1 / X^2.
            flat = isinstance(space, EuclideanSPDSpace)
            rate = self._spread / 5 if flat else self.n_features_in_ / 100
        # The loss is that many times as steep; the steps are those for slope 1.
        return rate / scale


@substitute_docs(**LVQ_DOCS)
class GMLVQ(BaseLVQ):
    r"""Generalised matrix learning vector quantisation.

    Learns prototypes w together with a metric, a matrix :math:`\Omega` of unit norm
    [1]_. With :math:`d(x, w) = \|\Omega (x - w)\|^2`, the nearest prototype of the
    sample's class at :math:`d_J`, and the nearest of the others at :math:`d_K`, they
    minimise

    .. math:: \sum_i \phi\left(s \, \frac{d_J - d_K}{d_J + d_K}\right), \qquad
       \phi(t) = \frac{1}{1 + e^{-t}}.

    The samples are vectors, or SPD matrices, which are taken as vectors; the prototypes
    of matrices are symmetric then, but need not be positive definite.

    Parameters
    ----------
    {n_prototypes}
    n_components : int or None, default=None
        Number of rows of :math:`\Omega`: the dimension of the subspace in which
        distances are taken. None is the number of features.
    slope : float, default=10
        The slope s of the sigmoid.
    {init}
    max_iter : int, default=100
        Largest number of iterations of Riemannian L-BFGS, which learns prototypes and
        metric from all samples together.
    tol : float, default=1e-4
        The search stops when ten iterations together lower the cost by less than this
        fraction of it, or when the mean loss falls below it. For features of similar
        scales, 0.01 is often enough, and takes a fraction of the iterations.
    {warm_start}
    random_state : int, RandomState instance or None, default=None
        For the start with several prototypes.
    verbose : int, default=0
        Whether to print the loss of each iteration.

    Attributes
    ----------
    {prototypes_}
    {prototype_labels_}
    omega_ : ndarray of shape (n_components, n_features)
        The matrix :math:`\Omega`. For SPD matrices of size n, the features are the
        n (n + 1) / 2 entries of the upper triangle, row by row, those off the diagonal
        times the square root of 2.
    {classes_}
    loss_curve_ : ndarray
        The cost at the start and after each iteration.
    n_iter_ : int
        Number of iterations.
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    RSLVQ : Probabilistic, with the Euclidean metric.

    References
    ----------
    .. [1] P. Schneider, M. Biehl and B. Hammer, "Adaptive relevance matrices in
       learning vector quantization", Neural Computation 21(12), 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skgeom import GMLVQ
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), GMLVQ(n_components=2)).fit(X, y)
    >>> bool(model.score(X, y) > 0.98)
    True
    """

    _accepts_vectors = True
    _parameter_constraints = {
        **BaseLVQ._parameter_constraints,
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "slope": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_prototypes=1,
        *,
        n_components=None,
        slope=10.0,
        init="auto",
        max_iter=100,
        tol=1e-4,
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        self.n_prototypes = n_prototypes
        self.n_components = n_components
        self.slope = slope
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        """Learn the prototypes and the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n, n)
            Vectors or SPD matrices; not modified.
        y : array-like of shape (n_samples,)
            Their classes, at least two.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, not negative; a sample of weight 2 counts as two.

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If an array is malformed or not finite, or a matrix not SPD, if there is one
            class only, if a class has fewer samples than prototypes, or if parameters
            do not fit together.

        Warns
        -----
        ConvergenceWarning
            If the search does not end within ``max_iter`` iterations.
        """
        again = self._goes_on()
        training = self._begin(X, y, sample_weight)
        prototypes = self._start(training, check_random_state(self.random_state))
        omega = self._start_omega(training, again)
        unit = _unit(training.Z, training.weights)
        prototypes, omega = self._run_lbfgs(
            replace(training, Z=training.Z / unit),
            self._make_loss(),
            [prototypes / unit, omega],
            float(self.slope),
            Relevance,
            unit=omega.shape,
        )
        self.omega_ = omega
        self.prototypes_ = training.space.decode(unit * prototypes)
        return self

    def _start_omega(self, training, again):
        """The principal axes of the samples, all of the same weight."""
        n_features = training.Z.shape[1]
        n_rows = self.n_components or n_features
        if n_rows > n_features:
            raise ValueError(
                f"n_components={n_rows} must not exceed the number of features, "
                f"{n_features}."
            )
        if again and self.omega_.shape == (n_rows, n_features):
            return self.omega_
        centered = training.Z - np.average(training.Z, axis=0, weights=training.weights)
        _, axes = np.linalg.eigh(centered.T @ (training.weights[:, None] * centered))
        return axes[:, ::-1][:, :n_rows].T / np.sqrt(n_rows)

    def _find_space(self, ndim):
        return EuclideanSPDSpace() if ndim == 3 else FlatSpace()

    def _make_loss(self):
        return MarginLoss(self._prototype_indices())

    def _mapped(self, Z):
        return Z @ self.omega_.T


def _unit(Z, weights):
    """A unit in which the features have standard deviations between 1e-3 and 1e3.

    In a search for prototypes together with a matrix of unit norm, neither may dwarf
    the other. The unit is a power of 2^20, by which divisions change no digit.
    """
    squares = np.square(Z - np.average(Z, axis=0, weights=weights))
    deviation = np.sqrt(np.average(squares, axis=0, weights=weights).mean())
    return 2.0 ** (20 * np.round(np.log2(deviation) / 20)) if deviation else 1.0
