"""Robust soft learning vector quantization, RSLVQ."""

from skgeom._prototypes._prototype_classifier import (
    PrototypeClassifier,
    StreamingPrototypeClassifier,
)
from skgeom._prototypes.plrsq import LikelihoodClassifier
from skgeom.utils.docs import documented_parameters, substitute_docs


@substitute_docs(
    **documented_parameters(
        PrototypeClassifier, StreamingPrototypeClassifier, LikelihoodClassifier
    )
)
class RSLVQ(LikelihoodClassifier):
    r"""Robust soft learning vector quantization, with Euclidean distances.

    Each class has one or several prototypes, the centers of Gaussian densities with a
    common variance :math:`\sigma^2`. Training maximizes the probabilities of the
    classes of the samples [2]_:

    .. math::

       \min_w \; -\sum_i \log p(y_i \mid x_i), \qquad
       p(y \mid x) \propto \sum_{l: c_l = y} P(l)
       \exp\left(-\frac{\|x - w_l\|^2}{2 \sigma^2}\right),

    where :math:`c_l` is the class of the prototype :math:`w_l`, and :math:`P(l)` its
    prior probability.

    The samples are vectors or SPD matrices. For SPD matrices, :class:`PLRSQ` is usually
    more accurate and faster. To keep prototypes of SPD matrices positive definite,
    their eigenvalues are raised to at least 1e-4 (section 6.1.5 of [1]_), or to at
    least the smallest eigenvalue of the samples of the last ``fit`` (without ``fit``,
    of the first call of ``partial_fit``) if this eigenvalue is below 1e-4.

    Parameters
    ----------
    {n_prototypes}
    sigma2 : float, "auto" or "learn", default="auto"
        The variance :math:`\sigma^2`, in squared units of X. ``"auto"`` is
        half of the mean squared distance of the samples from the nearest initial
        prototype of their class, see ``init``. With ``"learn"``, ``solver="lbfgs"``
        optimizes the variance together with the prototypes, starting from the value of
        ``"auto"``.
    representability : "auto" or float, default="auto"
        Weight of an additional term of the cost, which attracts prototypes to the
        samples of their class. For a sample x of class y, the term is

        .. math:: -\log \sum_{l: c_l = y} P(l) \exp(-\|x - w_l\|^2 / 2 \sigma_0^2),

        where :math:`\sigma_0^2` is the automatic ``sigma2``. Without the term, the
        prototypes of separable classes move to infinity. The value 0 yields the cost of
        [1]_ and [2]_.

        ``"auto"`` selects one of 10 values from 1e-4 to 0.1 by held-out samples, see
        :ref:`selection`. It is 0 for ``"sgd"``.
    temperature : float or "auto", default="auto"
        Divisor T of the log densities of the classes in predictions: with the priors
        :math:`\pi_k`, the probability of class k is proportional to
        :math:`\pi_k \, p(x \mid k)^{1 / T}`. ``"auto"`` selects T by held-out samples,
        see :ref:`selection`. If ``representability`` is not selected, this requires up
        to five additional trainings. A number saves this time, and does not change the
        predicted classes for ``priors="uniform"``. ``partial_fit`` keeps the value of
        the last ``fit``; without ``fit``, it uses 1.
    {priors}
    {class_weight}
    {init}
    {solver}
    {max_iter}
    {tol}
    learning_rate : "auto" or float, default="auto"
        Learning rate of ``"sgd"`` before the first epoch. The rate decreases to a
        hundredth over ``max_iter`` epochs. ``"auto"`` is :math:`\sigma^2 / 10`.
    {random_state}
    {verbose}

    Attributes
    ----------
    prototypes_ : ndarray of shape (n_total_prototypes, n_features) or (..., n, n)
        The prototypes of all classes, class by class.
    {prototype_labels_}
    {sigma2_}
    {representability_}
    {temperature_}
    {selection_}
    {priors_}
    {classes_}
    {loss_curve_}
    {n_iter_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    PLRSQ : Prototypes of SPD matrices, with Riemannian metrics.
    GMLVQ : Also learns the metric.

    References
    ----------
    .. [1] F. Tang, H. Feng, P. Tino, B. Si and D. Ji, "Probabilistic learning vector
       quantization on manifold of symmetric positive definite matrices", Neural
       Networks 142, 2021.
    .. [2] S. Seo and K. Obermayer, "Soft learning vector quantization", Neural
       Computation 15(7), 2003.

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

    _accepts_vectors = _accepts_sparse = True

    def __init__(
        self,
        n_prototypes=1,
        *,
        sigma2="auto",
        representability="auto",
        temperature="auto",
        priors=None,
        class_weight=None,
        init="kmeans",
        solver="auto",
        max_iter=100,
        tol=0.01,
        learning_rate="auto",
        random_state=None,
        verbose=0,
    ):
        self.n_prototypes = n_prototypes
        self.sigma2 = sigma2
        self.representability = representability
        self.temperature = temperature
        self.priors = priors
        self.class_weight = class_weight
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.verbose = verbose
