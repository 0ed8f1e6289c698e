"""Probabilistic learning vector quantisation, of SPD matrices and of vectors."""

from dataclasses import replace
from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from skgeom._lvq.docs import LVQ_DOCS
from skgeom._lvq.likelihood import LikelihoodLVQ
from skgeom._lvq.starts import start_subspace
from skgeom._lvq.stochastic import matrix_rate
from skgeom.objectives import (
    SPD_SPACES,
    Congruence,
    EuclideanSPDSpace,
    FlatSpace,
)
from skgeom.utils._docs import substitute_docs


@substitute_docs(**LVQ_DOCS)
class PLRSQ(LikelihoodLVQ):
    r"""Probabilistic learning vector quantisation of SPD matrices.

    Each class has prototypes :math:`W_l`, SPD matrices. They are taken as the centres
    of Gaussian-like densities on the manifold and maximise the probability of the
    classes of the samples, equations 16 to 18 of [1]_:

    .. math::

       \min_W \; -\sum_i \log p(y_i \mid X_i), \qquad
       p(y \mid X) \propto \sum_{l: c_l = y} P(l)
       \exp\left(-\frac{\delta^2(X, W_l)}{2 \sigma^2}\right)

    with the distance :math:`\delta` of ``metric``.

    Parameters
    ----------
    {n_prototypes}
    {metric}
    sigma2 : float, "auto" or "learn", default="auto"
        The variance :math:`\sigma^2`, in squared units of distance: the softness of the
        assignment. ``"auto"`` is half of the mean squared distance of the samples from
        the nearest prototype of their class at the start. ``"learn"`` starts there and
        is learnt together with the prototypes by ``solver="lbfgs"``.
    annealing : bool, default=True
        Whether ``solver="sgd"`` lets :math:`\sigma^2` fall from epoch to epoch by the
        paper's schedule, faster and faster until it is .4 below its first value or, if
        that is not positive, for as long as there are epochs, but not below .01.
        Constant otherwise.
    {representability}
    n_components : int or None, default=None
        If given, samples become :math:`F^\top X F` of this size, with orthonormal
        columns F. They begin as the subspace in which the class means differ most;
        ``"lbfgs"`` with the metric ``"riemann"`` learns them together with the
        prototypes, and otherwise they stay.
    {priors}
    {init}
    {solver}
    {max_iter}
    {tol}
    {learning_rate}
    {batch_size}
    {shuffle}
    {warm_start}
    {random_state}
    {verbose}

    Attributes
    ----------
    {prototypes_}
    {prototype_labels_}
    sigma2_ : float
        The variance that was used last.
    components_ : ndarray of shape (n_components, n)
        The rows of :math:`F^\top`, if ``n_components`` is given.
    priors_ : ndarray of shape (n_prototypes_in_all,)
        The prior weights P(l) of the prototypes.
    {classes_}
    {loss_curve_}
    {n_iter_}
    {n_features_in_}

    See Also
    --------
    RSLVQ : The same for vectors.
    GLRSQ : Maximises margins instead of probabilities.

    Notes
    -----
    ``predict`` gives the class of the largest probability. With several prototypes a
    class this may differ from the class of the nearest prototype.

    References
    ----------
    {likelihood_references}

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom import PLRSQ
    >>> rng = np.random.default_rng(0)
    >>> signals = rng.normal(size=(40, 3, 50))
    >>> signals[20:, 0] *= 2
    >>> X = signals @ signals.mT / 50
    >>> y = np.repeat(["rest", "left"], 20)
    >>> model = PLRSQ().fit(X, y)
    >>> float(model.score(X, y))
    1.0
    >>> model.prototypes_.shape
    (2, 3, 3)
    """

    _parameter_constraints = {
        **LikelihoodLVQ._parameter_constraints,
        "metric": [StrOptions(set(SPD_SPACES))],
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_prototypes=1,
        *,
        metric="riemann",
        sigma2="auto",
        annealing=True,
        representability="auto",
        n_components=None,
        priors=None,
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
        self.sigma2 = sigma2
        self.annealing = annealing
        self.representability = representability
        self.n_components = n_components
        self.priors = priors
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

    def _first_rate(self, scale, space):
        return matrix_rate(self, scale, space)

    def _check_same(self, classes):
        super()._check_same(classes)
        before = len(self.components_) if hasattr(self, "components_") else None
        if before != self.n_components:
            raise ValueError(
                f"warm_start=True needs the same n_components as before, {before}, got "
                f"{self.n_components}."
            )

    def _find_components(self, X, y, weights):
        if self._goes_on():
            return
        if self.n_components is None:
            if hasattr(self, "components_"):
                del self.components_
            return
        if self.n_components > self.n_features_in_:
            raise ValueError(
                f"n_components={self.n_components} must not exceed the size of the "
                f"matrices, {self.n_features_in_}."
            )
        labels = np.unique(y)
        if len(labels) < len(self.classes_):
            missing = np.setdiff1d(np.arange(len(self.classes_)), labels)[0]
            raise ValueError(
                f"Class {self.classes_[missing]} has no sample; n_components needs "
                "some of each class at the start."
            )
        self.components_ = start_subspace(X, y, weights, self.n_components).T

    def _reduced(self, X):
        if not hasattr(self, "components_"):
            return X
        return self.components_ @ X @ self.components_.T

    def _fit_together(self, training, prototypes, scale):
        if self.n_components is None or self.metric != "riemann":
            return super()._fit_together(training, prototypes, scale)
        learns_scale = self.sigma2 == "learn"
        prototypes, *others, subspace = self._run_lbfgs(
            replace(training, Z=training.X),
            self._make_loss(training, "lbfgs", prototypes),
            [
                prototypes,
                *([np.log([scale])] if learns_scale else []),
                self.components_.T,
            ],
            None if learns_scale else scale,
            Congruence,
            with_scale=learns_scale,
            subspace=self.components_.T.shape,
        )
        self.components_ = np.ascontiguousarray(subspace.T)
        self._store_scale(np.exp(others[0][0]) if learns_scale else scale)
        return prototypes


@substitute_docs(**LVQ_DOCS)
class RSLVQ(LikelihoodLVQ):
    r"""Robust soft learning vector quantisation, with Euclidean distances.

    Each class has prototypes, the centres of Gaussian densities of one variance
    :math:`\sigma^2`, that maximise the probability of the classes of the samples [2]_:

    .. math::

       \min_w \; -\sum_i \log p(y_i \mid x_i), \qquad
       p(y \mid x) \propto \sum_{l: c_l = y} P(l)
       \exp\left(-\frac{\|x - w_l\|^2}{2 \sigma^2}\right).

    The samples are vectors, or SPD matrices, whose prototypes are kept positive
    definite by raising eigenvalues below 1e-4 to that value (section 6.1.5 of [1]_), or
    to the smallest one of the samples and of the prototypes before the steps if that is
    lower.

    Parameters
    ----------
    {n_prototypes}
    sigma2 : float, "auto" or "learn", default="auto"
        The variance :math:`\sigma^2`, in squared units of X. ``"auto"`` is half of the
        mean squared distance of the samples from the nearest prototype of their class
        at the start. ``"learn"`` starts there and is learnt together with the
        prototypes by ``solver="lbfgs"``.
    annealing : bool, default=True
        Whether ``solver="sgd"`` lets :math:`\sigma^2` fall from epoch to epoch by the
        schedule of [1]_, faster and faster until it is .4 below its first value or, if
        that is not positive, for as long as there are epochs, but not below .01.
        Constant otherwise.
    {representability}
    {priors}
    {init}
    {solver}
    {max_iter}
    {tol}
    learning_rate : "auto" or float, default="auto"
        :math:`\alpha` of ``"sgd"`` before the first epoch; it falls to a hundredth
        during ``max_iter`` epochs. ``"auto"`` is :math:`\sigma^2 / 10`.
    {batch_size}
    {shuffle}
    {warm_start}
    {random_state}
    {verbose}

    Attributes
    ----------
    {prototypes_}
    {prototype_labels_}
    sigma2_ : float
        The variance that was used last.
    priors_ : ndarray of shape (n_prototypes_in_all,)
        The prior weights P(l) of the prototypes.
    {classes_}
    {loss_curve_}
    {n_iter_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    PLRSQ : For SPD matrices, with the metrics that suit them.
    GMLVQ : Learns the metric as well.

    References
    ----------
    {likelihood_references}

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skgeom import RSLVQ
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), RSLVQ()).fit(X, y)
    >>> bool(model.score(X, y) > 0.98)
    True
    """

    _accepts_vectors = True

    def __init__(
        self,
        n_prototypes=1,
        *,
        sigma2="auto",
        annealing=True,
        representability="auto",
        priors=None,
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
        self.sigma2 = sigma2
        self.annealing = annealing
        self.representability = representability
        self.priors = priors
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
        return EuclideanSPDSpace() if ndim == 3 else FlatSpace()

    def _first_rate(self, scale, space):
        return scale / 10 if self.learning_rate == "auto" else self.learning_rate
