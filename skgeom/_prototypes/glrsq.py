"""Generalized learning Riemannian space quantization, GLRSQ."""

import numpy as np

from skgeom._prototypes._losses import MarginLoss, nearest_scores
from skgeom._prototypes._metrics import SPD_METRICS
from skgeom._prototypes._prototype_classifier import (
    PrototypeClassifier,
    StreamingPrototypeClassifier,
    streaming_constraints,
)
from skgeom._selection import fit_temperature
from skgeom.utils._sklearn import StrOptions, positive
from skgeom.utils.docs import documented_parameters, substitute_docs

# Slope of the sigmoid for "lbfgs". Chosen on BCI IV 2a in `bench_lvq.py fits`.
_SLOPE = 10.0
# Number of held-out samples that select the temperature. With 1,000 samples, the
# log-loss of GMLVQ on digits and of GLRSQ on BCI IV 2a, both with balanced classes,
# differs by less than 2 %, and GMLVQ takes 2.5 times as long.
_ENOUGH = 200


class MarginMixin:
    r"""Margin loss, and class probabilities with a temperature.

    Parameters
    ----------
    temperature : float or "auto", default="auto"
        Temperature T of the class probabilities (see Notes). ``"auto"`` selects
        T by the log-loss of about 200 distinct held-out samples. This requires one
        additional training for more than about 1,000 distinct samples, and up to five
        for fewer samples. With ``metric="riemann"``,
        the additional trainings use the tangent space; with ``metric="mahalanobis"``,
        they estimate the covariance without the held-out samples. A number saves this
        time and does not change the predicted classes.

    Attributes
    ----------
    temperature_ : float
        The temperature T. ``partial_fit`` does not select T by held-out samples: it
        keeps the value of the last ``fit`` or, without ``fit``, uses half of the root
        mean square distance of the samples from the nearest initial prototype of their
        class, divided by that between the initial prototypes.
    """

    def _loss(self, model, streams=False):
        return MarginLoss(model.labels)

    def _class_scores(self, model, Z):
        squared = model.squared_distances(Z)
        return nearest_scores(squared, model.counts, model.extent)

    def _joint(self, scores):
        return scores / self.temperature_

    def _calibrate(self, samples, model):
        self._calibrate_stream(model, after_fit=False)
        if self.temperature != "auto":
            return
        folds = self._folds(samples, model, enough=_ENOUGH)
        if folds.parts:
            scores = self._held_out_scores(folds, self._loss(model), self._limits())
            folds.warn_if_at_chance(scores)
            found = fit_temperature(scores, folds.labels, folds.weights)
            self.temperature_ = found

    def _calibrate_stream(self, model, after_fit):
        if self.temperature != "auto":
            self.temperature_ = float(self.temperature)
        elif not after_fit:
            self.temperature_ = initial_temperature(model)


def initial_temperature(model):
    """The temperature without held-out samples, see ``temperature_``."""
    return (model.variance / model.n_copies / 2) ** 0.5 / model.extent


margin_constraints = {"temperature": [StrOptions({"auto"}), positive]}


@substitute_docs(
    **documented_parameters(
        PrototypeClassifier, StreamingPrototypeClassifier, MarginMixin
    )
)
class GLRSQ(MarginMixin, StreamingPrototypeClassifier):
    r"""Generalized learning vector quantization of SPD matrices.

    Each class has one or several prototypes. Training minimizes the cost [1]_

    .. math:: \sum_i \phi\left(s \, \frac{d_J - d_K}{d_J + d_K}\right), \qquad
       \phi(t) = \frac{1}{1 + e^{-t}},

    where :math:`d_J` is the squared distance of sample i from the nearest prototype of
    its class, :math:`d_K` is its squared distance from the nearest prototype of all
    other classes, and s is the slope.

    Parameters
    ----------
    {n_prototypes}
    metric : str, default="tangent"
        Metric of SPD matrices, one of the values that :class:`PLRSQ` lists.
    slope : "auto" or float, default="auto"
        The slope s. ``"auto"`` is 10 for ``"lbfgs"``. For ``"sgd"``, it is the number
        of the epoch, as in the code of the authors of [1]_: in late epochs, samples
        close to the decision boundary contribute most to the steps.
    class_weight : "balanced", None or dict, default="balanced"
        Class weights, which multiply ``sample_weight``. A dict maps labels to positive
        numbers, and labels that it does not contain have the weight 1. With
        ``"balanced"``, all classes have the same total weight; ``partial_fit`` balances
        the weights of all samples so far. The default differs from the other prototype
        classifiers, because on matrices with one large class, it increases the accuracy
        of GLRSQ, not only the balanced accuracy.
    {temperature}
    {init}
    {solver}
    {max_iter}
    {tol}
    learning_rate : "auto" or float, default="auto"
        Learning rate of ``"sgd"`` before the first epoch. The rate decreases to a
        hundredth over ``max_iter`` epochs. Each step uses the rate divided by the slope
        s. ``"auto"`` is n / 100 for matrices of size n. For ``metric="euclid"``, whose
        distances have a unit, it is a tenth of the mean squared distance of the samples
        from the nearest initial prototype of their class.
    {random_state}
    verbose : int, default=0
        If positive, prints the loss of each epoch or iteration.

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
    PLRSQ : Maximizes class probabilities instead of margins.

    Notes
    -----
    The class probabilities are

    .. math:: p(k \mid X) \propto \exp(-\delta_k^2(X) / (T u \bar\delta(X))),

    where :math:`\delta_k(X)` is the distance of X from the nearest prototype of class
    k, :math:`\bar\delta(X)` is the root mean square of these distances, and u that of
    the distances between the prototypes. The cost does not determine the temperature T,
    so held-out samples are used to select it.

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
        "slope": [StrOptions({"auto"}), positive],
    }

    def __init__(
        self,
        n_prototypes=1,
        *,
        metric="tangent",
        slope="auto",
        class_weight="balanced",
        temperature="auto",
        init="kmeans",
        solver="auto",
        max_iter=100,
        tol=0.01,
        learning_rate="auto",
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
        self.random_state = random_state
        self.verbose = verbose

    def _scale(self, model, epoch=None):
        if self.slope != "auto":
            return float(self.slope)
        if epoch is None:
            return _SLOPE
        if np.isinf(epoch):
            return model.scale
        return max(float(min(epoch, self.max_iter)), 1.0)

    def _first_rate(self, model, slope):
        rate = self.learning_rate
        if rate == "auto":
            squared_distance = 2 * model.variance
            size = self._n_copies * self.n_features_in_
            rate = model.metric.first_rate(size, squared_distance)
        # The gradient is proportional to the slope. The division makes the steps as
        # long as for slope 1.
        return rate / slope
