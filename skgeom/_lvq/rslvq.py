"""Robust soft learning vector quantisation, RSLVQ."""

from sklearn.utils import check_random_state

from skgeom._lvq.blocks import by_blocks_if_stochastic
from skgeom._lvq.docs import LVQ_DOCS
from skgeom._lvq.lbfgs import fit_lbfgs
from skgeom._lvq.likelihood import LikelihoodClassifier
from skgeom._lvq.sgd import fit_sgd
from skgeom.utils.estimator import estimator_method, substitute_docs


@substitute_docs(**LVQ_DOCS)
class RSLVQ(LikelihoodClassifier):
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
    {sigma2_scale}
    annealing : bool, default=True
        Whether ``solver="sgd"`` lets :math:`\sigma^2` fall from epoch to epoch by the
        schedule of [1]_, faster and faster until it is .4 below its first value or, if
        that is not positive, for as long as there are epochs, but not below .01.
        Constant otherwise.
    {representability}
    {priors}
    {class_weight}
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
    {representability_}
    {priors_}
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
        sigma2_scale=1.0,
        annealing=True,
        representability="auto",
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
        self.sigma2 = sigma2
        self.sigma2_scale = sigma2_scale
        self.annealing = annealing
        self.representability = representability
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

    @estimator_method
    @by_blocks_if_stochastic
    @substitute_docs(**LVQ_DOCS)
    def fit(self, X, y, sample_weight=None):
        """Learn the prototypes.

        Parameters
        ----------
        {X_to_fit}
        y : array-like of shape (n_samples,)
            Their classes, at least two.
        {sample_weight}

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        {raised_by_fit}

        Warns
        -----
        {warned_by_fit}
        """

        def finish(model, outcome):
            model._store(problem, outcome)
            model.sigma2_ = outcome.scale

        rng = check_random_state(self.random_state)
        problem = self._problem(X, y, sample_weight, rng)
        solver = self._choose_solver(problem.space)
        loss, sigma2 = self._loss(problem, solver), self._first_sigma2(problem)
        report = self._reporter(problem, finish)
        if solver == "sgd":
            schedule = self._schedule(problem, sigma2, rng)
            outcome = fit_sgd(problem, loss, schedule, report)
        else:
            outcome = fit_lbfgs(
                problem,
                loss,
                sigma2,
                learn_scale=self.sigma2 == "learn",
                report=report,
                **self._search_options,
            )
        finish(self, outcome)
        return self
