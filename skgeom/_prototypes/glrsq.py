"""Generalized learning Riemannian space quantization, GLRSQ."""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from skgeom._prototypes._losses import MarginLoss, nearest_scores
from skgeom._prototypes._metrics import SPD_METRICS
from skgeom._prototypes._prototype_classifier import (
    PrototypeClassifier,
    StreamingPrototypeClassifier,
    streaming_constraints,
)
from skgeom.utils.estimator import documented_parameters, substitute_docs

# Slope of the sigmoid with "lbfgs". Chosen on BCI IV 2a in `bench_lvq.py fits`.
_SLOPE = 10.0


class MarginMixin:
    r"""Prototypes that maximize margins, and probabilities by held-out distances.

    Parameters
    ----------
    temperature : float or "auto", default="auto"
        T of the class probabilities, in squared units of distance. ``"auto"`` minimizes
        the log-loss of about 200 distinct held-out samples, which requires one
        additional training for more than about 1,000 distinct samples, and up to five
        for fewer samples (in the tangent space with ``metric="riemann"``). A number
        saves this time and does not change the predicted classes.

    Attributes
    ----------
    temperature_ : float
        The temperature T. ``partial_fit`` does not select T: it keeps the value of the
        last ``fit``, or uses the mean squared distance of the samples from the nearest
        initial prototype of their class.
    """

    def _loss(self, training, streams=False):
        return MarginLoss(training.labels)

    def _scores(self, squared_distances):
        scores = nearest_scores(squared_distances, self._training.counts)
        return scores / self.temperature_

    def _calibrate(self, training, streams=False):
        variance = training.variance / self._n_copies
        if self.temperature != "auto":
            self.temperature_ = float(self.temperature)
        elif not streams:
            self.temperature_ = self._selected_temperature(training) or 2 * variance
        elif np.isfinite(training.n_epochs):
            self.temperature_ = 2 * variance


margin_constraints = {
    "temperature": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
}


@substitute_docs(
    **documented_parameters(
        PrototypeClassifier, StreamingPrototypeClassifier, MarginMixin
    )
)
class GLRSQ(MarginMixin, StreamingPrototypeClassifier):
    r"""Generalized learning vector quantization of SPD matrices.

    Each class has prototypes. With the squared distance :math:`d_J` of a sample from
    the nearest prototype of its class, and :math:`d_K` from the nearest prototype of
    the remaining classes, the prototypes minimize [1]_

    .. math:: \sum_i \phi\left(s \, \frac{d_J - d_K}{d_J + d_K}\right), \qquad
       \phi(t) = \frac{1}{1 + e^{-t}}.

    Parameters
    ----------
    {n_prototypes}
    metric : str, default="riemann"
        The geometry of SPD matrices, as in :class:`PLRSQ`.
    slope : "auto" or float, default="auto"
        The slope s. ``"auto"`` is 10 for ``"lbfgs"``. For ``"sgd"`` it is the number of
        the epoch, as in the authors' code: in late epochs, samples close to the
        decision boundary have the largest weights.
    class_weight : "balanced", None or dict, default="balanced"
        Factors of the sample weights of each class in training. With ``"balanced"``,
        all classes have the same total weight, in ``partial_fit`` over all samples so
        far, so a large class does not dominate a small class. A dict maps labels to
        positive numbers.
    {temperature}
    {init}
    {solver}
    {max_iter}
    {tol}
    learning_rate : "auto" or float, default="auto"
        :math:`\alpha` of ``"sgd"`` before the first epoch, for the slope 1. The rate
        decreases to a hundredth over ``max_iter`` epochs. ``"auto"`` is n / 100 for SPD
        matrices of size n. For metrics whose distances have a unit, such as the
        Euclidean metric, it is a tenth of the mean squared distance of the samples from
        the nearest initial prototype of their class.
    {batch_size}
    {shuffle}
    {warm_start}
    {random_state}
    {verbose}

    Attributes
    ----------
    {prototypes_}
    {prototype_labels_}
    {is_complex_}
    {temperature_}
    {classes_}
    {loss_curve_}
    {n_iter_}
    {n_features_in_}

    See Also
    --------
    PLRSQ : Maximizes probabilities instead of margins.

    Notes
    -----
    With the distance :math:`\delta_k` from the nearest prototype of class k, the class
    probabilities are

    .. math:: p(k \mid X) \propto \exp(-\delta_k^2(X) / T) .

    Held-out samples determine the temperature T, because margins are not likelihoods.

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
        **streaming_constraints,
        **margin_constraints,
        "metric": [StrOptions(SPD_METRICS.keys())],
        "slope": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_prototypes=1,
        *,
        metric="riemann",
        slope="auto",
        class_weight="balanced",
        temperature="auto",
        init="kmeans",
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
        self.temperature = temperature
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

    def _scale(self, training):
        return _SLOPE if self.slope == "auto" else float(self.slope)

    def _epoch_scale(self, training, epoch):
        if self.slope != "auto":
            return float(self.slope)
        if np.isinf(epoch):
            return training.scale
        return max(float(min(epoch, self.max_iter)), 1.0)

    def _first_rate(self, training, slope):
        rate = self.learning_rate
        if rate == "auto":
            squared_distance = 2 * training.variance
            size = self._n_copies * self.n_features_in_
            rate = training.metric.first_rate(size, squared_distance)
        # The loss is steeper by this factor; the steps are the steps for slope 1.
        return rate / slope
