"""Generalised learning Riemannian space quantization, GLRSQ."""

from numbers import Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from skgeom._lvq.base import PrototypeClassifier
from skgeom._lvq.blocks import by_blocks_if_stochastic
from skgeom._lvq.docs import LVQ_DOCS
from skgeom._lvq.lbfgs import fit_lbfgs
from skgeom._lvq.losses import MarginLoss
from skgeom._lvq.sgd import STOCHASTIC_CONSTRAINTS, Schedule, decay, falling, fit_sgd
from skgeom.utils.estimator import estimator_method, substitute_docs

# Slope of the sigmoid where all samples are learnt from together.
_SLOPE = 10.0


@substitute_docs(**LVQ_DOCS)
class GLRSQ(PrototypeClassifier):
    r"""Generalised learning vector quantisation of SPD matrices.

    Each class has prototypes. With the squared distance :math:`d_J` of a sample from
    the nearest prototype of its class, and :math:`d_K` from the nearest of the others,
    they minimise [1]_

    .. math:: \sum_i \phi\left(s \, \frac{d_J - d_K}{d_J + d_K}\right), \qquad
       \phi(t) = \frac{1}{1 + e^{-t}}.

    Parameters
    ----------
    {n_prototypes}
    metric : str, default="riemann"
        {metric}
    slope : "auto" or float, default="auto"
        The slope s. ``"auto"`` is 10 for ``"lbfgs"``; for ``"sgd"`` it is the number of
        the epoch, as in the authors' code: in the end it is the samples close to the
        border that count.
    class_weight : "balanced", None or dict, default="balanced"
        What the weights of the samples are multiplied by in training, for each class.
        ``"balanced"`` makes the sums of their weights equal, lest a large class take
        the samples of a small one; in ``partial_fit``, the sums are those of all
        samples so far. A dict has labels and positive numbers.
    {init}
    {solver}
    {max_iter}
    {tol}
    learning_rate : "auto" or float, default="auto"
        :math:`\alpha` of ``"sgd"`` before the first epoch, for the slope 1; it falls to
        a hundredth during ``max_iter`` epochs. ``"auto"`` is n / 100 for SPD matrices
        of size n; with a metric whose distances have a unit, such as the Euclidean one,
        it is a tenth of the mean squared distance of the samples from the nearest
        prototype of their class at the start.
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

    Notes
    -----
    There is no ``predict_proba``: margins are relative distances, not likelihoods, and
    a softmax of them would not tell how often a prediction is right. Use :class:`PLRSQ`
    for probabilities.

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
        **PrototypeClassifier._parameter_constraints,
        **STOCHASTIC_CONSTRAINTS,
        "metric": [str],
        "slope": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_prototypes=1,
        *,
        metric="riemann",
        slope="auto",
        class_weight="balanced",
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
        self.slope = slope
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
        rng = check_random_state(self.random_state)
        problem = self._problem(X, y, sample_weight, rng)
        loss = MarginLoss(problem.labels)

        def finish(model, outcome):
            model._store(problem, outcome, slope=outcome.scale)

        report = self._reporter(problem, finish)
        if self._choose_solver(problem.space) == "sgd":
            slopes = [self._slope(epoch) for epoch in range(1, self.max_iter + 1)]
            first_rates = [self._first_rate(problem, slope) for slope in slopes]
            rates = falling(first_rates, problem.weights)
            shuffle = rng if self.shuffle else None
            schedule = Schedule(rates, slopes, self.batch_size, shuffle)
            outcome = fit_sgd(problem, loss, schedule, report)
        else:
            slope = _SLOPE if self.slope == "auto" else float(self.slope)
            outcome = fit_lbfgs(
                problem, loss, slope, report=report, **self._search_options
            )
        finish(self, outcome)
        return self

    @estimator_method
    @substitute_docs(**LVQ_DOCS)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Take one epoch of stochastic steps over some samples, in a shuffled order.

        The first call, on an object that is not fitted, finds the start from its
        samples; these must then contain each class, unless ``init`` is given. With the
        samples, the learning rate falls, to a hundredth after ``max_iter`` epochs, and
        the automatic slope grows; from there on they stay. A call counts as an epoch
        or, if its samples are fewer than the rows of all prototypes together, as that
        fraction of one. After ``fit``, rate and slope have come to their end already.
        Each call adds one to ``n_iter_``, and the sum of the losses of its samples to
        the end of ``loss_curve_``.

        Parameters
        ----------
        {X_to_fit}
        y : array-like of shape (n_samples,)
            Their classes.
        {classes_of_calls}
        {sample_weight}

        Returns
        -------
        self
            This object, fitted.

        Raises
        ------
        ValueError
            If y holds a class that is not in ``classes_``, and as ``fit`` does.
        """
        rng = check_random_state(self.random_state)
        problem = self._partial_problem(X, y, sample_weight, rng, classes)
        n_epochs = self._n_epochs(problem)
        epoch = min(n_epochs, self.max_iter)
        slope = self._slope(epoch)
        if self.slope == "auto" and n_epochs == np.inf:
            slope = self._progress.slope
        rate = decay(epoch, self.max_iter) * self._first_rate(problem, slope)
        shuffle = rng if self.shuffle else None
        schedule = Schedule([rate], [slope], self.batch_size, shuffle)
        outcome = fit_sgd(problem, MarginLoss(problem.labels), schedule)
        self._store(problem, outcome, n_epochs=n_epochs, slope=slope)
        return self

    def _slope(self, epoch):
        """Slope of the sigmoid in an epoch of stochastic steps."""
        return max(float(epoch), 1.0) if self.slope == "auto" else float(self.slope)

    def _first_rate(self, problem, slope):
        rate = self.learning_rate
        if rate == "auto":
            squared_distance = 2 * problem.spread
            rate = problem.space.first_rate(self.n_features_in_, squared_distance)
        # The loss is that many times as steep; the steps are those for slope 1.
        return rate / slope
