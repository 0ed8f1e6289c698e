"""Probabilistic learning Riemannian space quantization, PLRSQ."""

from dataclasses import replace
from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval

from skgeom._prototypes._base import initial_subspace
from skgeom._prototypes._docs import LVQ_DOCS
from skgeom._prototypes._solvers import BilinearProjection
from skgeom._prototypes.rslvq import LikelihoodClassifier
from skgeom.utils.array_api import like, to_numpy
from skgeom.utils.estimator import substitute_docs


@substitute_docs(**LVQ_DOCS)
class PLRSQ(LikelihoodClassifier):
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
    metric : str, default="tangent"
        {metric}
    sigma2 : float, "auto" or "learn", default="auto"
        The variance :math:`\sigma^2`, in squared units of distance: the softness of the
        assignment. ``"auto"`` is half of the mean squared distance of the samples from
        the nearest prototype of their class at the start. ``"learn"`` starts there and
        is learnt together with the prototypes by ``solver="lbfgs"``.
    {sigma2_scale}
    annealing : bool, default=True
        Whether ``solver="sgd"`` lets :math:`\sigma^2` fall from epoch to epoch by the
        paper's schedule, faster and faster until it is .4 below its first value or, if
        that is not positive, for as long as there are epochs, but not below .01.
        Constant otherwise.
    {representability}
    n_components : int or None, default=None
        If given, samples become :math:`F^\top X F` of this size, with orthonormal
        columns F. They begin as the subspace in which the class means differ most.
        ``"lbfgs"`` with the metric ``"riemann"`` or ``"logdet"`` learns them together
        with the prototypes; otherwise they stay.
    {priors}
    {class_weight}
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
    {representability_}
    {priors_}
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
        **LikelihoodClassifier._parameter_constraints,
        "metric": [str],
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_prototypes=1,
        *,
        metric="tangent",
        sigma2="auto",
        sigma2_scale=1.0,
        annealing=True,
        representability="auto",
        n_components=None,
        priors="uniform",
        class_weight=None,
        init="auto",
        solver="auto",
        max_iter=100,
        tol=0.01,
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
        self.sigma2_scale = sigma2_scale
        self.annealing = annealing
        self.representability = representability
        self.n_components = n_components
        self.priors = priors
        self.class_weight = class_weight
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

    def _optimized(self, problem):
        problem, options = super()._optimized(problem)
        if self.n_components is None or not problem.metric.learns_subspace:
            return problem, options
        prototypes = problem.metric.decode(problem.prototypes)
        metric = self._new_metric(3, self.metric)  # without whitening
        problem = replace(problem, metric=metric, Z=problem.X, prototypes=prototypes)
        matrix = self.components_.T
        return problem, {**options, "reduction": BilinearProjection, "matrix": matrix}

    def _store(self, problem, outcome, n_epochs=None):
        if outcome.matrix is not None:
            rows = np.ascontiguousarray(to_numpy(outcome.matrix).T)
            self.components_ = like(rows, problem.Z)
        super()._store(problem, outcome, n_epochs)

    def _find_components(self, X, y, weights):
        if self.n_components is None:
            vars(self).pop("components_", None)  # of a fit before
            return
        if self.n_components > self.n_features_in_:
            raise ValueError(
                f"n_components={self.n_components} must not exceed the size of the "
                f"matrices, {self.n_features_in_}."
            )
        labels = np.unique(to_numpy(y))
        if len(labels) < len(self.classes_):
            missing = np.setdiff1d(np.arange(len(self.classes_)), labels)[0]
            raise ValueError(
                f"Class {self.classes_[missing]} has no sample; n_components needs "
                "some of each class at the start."
            )
        self.components_ = initial_subspace(X, y, weights, self.n_components).T

    def _reduce(self, X):
        if not hasattr(self, "components_"):
            return X
        return self.components_ @ X @ self.components_.T

    def _check_same(self, classes, counts):
        super()._check_same(classes, counts)
        before = None
        if hasattr(self, "components_"):
            before = self.components_.shape[0]
        if before != self.n_components:
            raise ValueError(
                f"To go on learning, a model needs the same n_components as before, "
                f"{before}, got {self.n_components}."
            )
