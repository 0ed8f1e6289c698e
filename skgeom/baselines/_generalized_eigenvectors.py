"""Generalised eigenvectors of the second moments of pairs of classes."""

from itertools import permutations
from numbers import Integral, Real

import numpy as np
from scipy.linalg import eigh
from sklearn.utils._param_validation import Interval

from skgeom._statistics import ClassStatistics
from skgeom.baselines._base import (
    PROJECTION_DOCS,
    LinearProjection,
)
from skgeom.utils.estimator import estimator_method, substitute_docs
from skgeom.utils.linalg import fix_signs, space_of
from skgeom.utils.threads import map_threads


@substitute_docs(**PROJECTION_DOCS)
class GeneralizedEigenvectors(LinearProjection):
    r"""Generalised eigenvectors of the second moments of pairs of classes (GEM).

    For each ordered pair of classes i and j, the components are the directions in which
    the mean square of class i is largest relative to that of class j,

    .. math::

       \Psi_i v = \lambda \left(\Psi_j + \gamma \tfrac{\operatorname{tr} \Psi_j}{n} I
       \right) v, \qquad
       \Psi_i = \frac{1}{n_i} \sum_{y_k = i} x_k x_k^\top

    with the leading :math:`\lambda` [1]_. They depend on the origin of the data. Each
    pair is solved separately, so components of different pairs are often similar.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components: those with the largest :math:`\lambda` of all pairs. None
        for all of them, ``n_per_pair`` for each of the C (C - 1) pairs.
    n_per_pair : int, default=1
        Number of leading eigenvectors of each pair, at most ``n_features``.
    regularization : float, default=0.01
        :math:`\gamma`, the variance that is added to class j, as a fraction of its mean
        variance. With 0, all second moments must be regular.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The eigenvectors, scaled such that the regularised mean square of class j is
        one, in falling order of :math:`\lambda`; the largest entry of each is positive.
    eigenvalues_ : ndarray of shape (n_components,)
        :math:`\lambda`, the mean square of class i.
    pairs_ : ndarray of shape (n_components, 2)
        The labels of i and j.
    {classes_}
    {n_features_in_}
    {feature_names_in_}

    See Also
    --------
    skgeom.SecondMomentSQFA : A few components for all pairs together.

    Notes
    -----
    With ``regularization=0`` an invertible linear map of X changes neither the features
    nor the eigenvalues.

    References
    ----------
    .. [1] N. Karampatziakis and P. Mineiro, "Discriminative Features via Generalized
       Eigenvectors", International Conference on Machine Learning, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skgeom.baselines import GeneralizedEigenvectors
    >>> X, y = load_iris(return_X_y=True)
    >>> gem = GeneralizedEigenvectors().fit(X, y)
    >>> gem.components_.shape
    (6, 4)
    """

    _parameter_constraints = {
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "n_per_pair": [Interval(Integral, 1, None, closed="left")],
        "regularization": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, n_components=None, *, n_per_pair=1, regularization=0.01):
        self.n_components = n_components
        self.n_per_pair = n_per_pair
        self.regularization = regularization

    @estimator_method
    def fit(self, X, y):
        """Find the eigenvectors.

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
        ValueError
            If X or y is malformed, if there is one class only, if there are not as many
            components as asked for, or if the second moment of a class is singular in
            spite of the regularisation.
        """
        X, codes = self._validate(X, y)
        pairs = list(permutations(range(len(self.classes_)), 2))
        self._check_sizes(len(pairs))
        space = space_of(X, centred=False, n_least=self.n_per_pair)
        scale = np.abs(X).max() or 1.0  # squares could overflow or underflow
        moments = _second_moments(space.samples / scale, codes)
        regular = np.array(
            [self._regularized(moment, k) for k, moment in enumerate(moments)]
        )
        last = len(moments[0]) - 1
        leading = [last - self.n_per_pair + 1, last]

        def solve(pair):
            i, j = pair
            return eigh(moments[i], regular[j], subset_by_index=leading)

        solutions = map_threads(solve, pairs, parallel=last > 50)
        values = np.concatenate([values for values, _ in solutions])
        order = np.argsort(-values, kind="stable")[: self.n_components]
        vectors = np.concatenate([vectors.T for _, vectors in solutions])
        self.components_ = fix_signs(space.lift(vectors[order].T).T / scale)
        self.eigenvalues_ = values[order]
        self.pairs_ = self.classes_[np.repeat(pairs, self.n_per_pair, axis=0)[order]]
        return self

    def _check_sizes(self, n_pairs):
        if self.n_per_pair > self.n_features_in_:
            raise ValueError(
                f"n_per_pair={self.n_per_pair} must not exceed the number of features: "
                f"n_features={self.n_features_in_}."
            )
        available = n_pairs * self.n_per_pair
        if self.n_components is not None and self.n_components > available:
            raise ValueError(
                f"n_components={self.n_components}, but the {n_pairs} ordered pairs of "
                f"classes have {available} eigenvectors with "
                f"n_per_pair={self.n_per_pair}; increase that."
            )

    def _regularized(self, moment, code):
        """The regularised second moment of class j; an error if it is singular."""
        size = len(moment)
        noise = self.regularization * np.trace(moment) / self.n_features_in_
        regular = moment + noise * np.eye(size)
        # Judged by correlations, since features may have very different scales.
        deviations = np.sqrt(np.diag(regular))
        definite = deviations.all()
        if definite:
            correlations = regular / np.outer(deviations, deviations)
            smallest = np.linalg.eigvalsh(correlations)[0]
            definite = smallest > size * np.finfo(float).eps
        if not definite:
            raise ValueError(
                f"The second moment of class {self.classes_.tolist()[code]!r} is "
                "singular, so that the quotients of others by it have no bound. "
                + (
                    "Increase regularization, or remove features that depend on others."
                    if np.trace(moment) > 0
                    else "All its samples are zero."
                )
            )
        return regular


def _second_moments(X, codes):
    """Second moments of the classes about the origin, (n_classes, n, n)."""
    statistics = ClassStatistics._from_valid_data(X, codes)
    # Covariances are divided by count - 1, mean squares by count.
    scatters = (1 - 1 / statistics.counts)[:, None, None] * statistics.covariances
    means = statistics.means
    return scatters + means[:, :, None] * means[:, None, :]
