"""Generalized eigenvectors of the second moments of pairs of classes."""

from itertools import permutations
from numbers import Integral, Real

import numpy as np
from scipy.linalg import eigh

from skgeom._filters._basis import span_of_samples
from skgeom.utils._mixins import LinearProjection
from skgeom.utils._sklearn import Interval
from skgeom.utils.linalg import fix_signs, whitening_basis
from skgeom.utils.methods import fit_method
from skgeom.utils.validation import encoded_labels, validated_samples


class GeneralizedEigenvectors(LinearProjection):
    r"""Generalized eigenvectors of the second moments of pairs of classes (GEM).

    The component of an ordered pair of classes i and j is the direction v in which the
    mean square of class i is largest, relative to the regularized mean square of class
    j. It is the generalized eigenvector with the largest eigenvalue :math:`\lambda` of
    [1]_

    .. math::

       \Psi_i v = \lambda \left(\Psi_j + \gamma \tfrac{\operatorname{tr} \Psi_j}{n} I
       \right) v, \qquad
       \Psi_i = \frac{1}{n_i} \sum_{y_k = i} x_k x_k^\top,

    where n is the number of features, and :math:`\Psi_i` is the second moment of the
    :math:`n_i` samples of class i. The data are not centered, so the components depend
    on the origin. Each pair is solved separately, so components of different pairs are
    often similar.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components. The components with the largest :math:`\lambda` are kept.
        None keeps all components, one for each of the C (C - 1) ordered pairs of C
        classes.
    regularization : float, default=0.01
        :math:`\gamma`, the variance that is added to the features of class j, as a
        fraction of their mean square. With 0, all second moments must be
        nonsingular in the span of the samples.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The eigenvectors, in descending order of :math:`\lambda`. They are scaled such
        that the regularized mean square of class j is 1. The entry of each eigenvector
        with the largest absolute value is positive.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues :math:`\lambda`, which are the mean squares of class i.
    pairs_ : ndarray of shape (n_components, 2)
        The labels of the classes i and j of each component.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features of the training data.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X is a data frame whose column names are all strings.

    See Also
    --------
    skgeom.SecondMomentSQFA : Learns a few components for all pairs of classes together.

    Notes
    -----
    With ``regularization=0``, an invertible linear map of X changes neither the
    eigenvalues nor, except for the signs of components, the transformed samples.

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
        "regularization": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, n_components=None, *, regularization=0.01):
        self.n_components = n_components
        self.regularization = regularization

    @fit_method
    def fit(self, X, y):
        """Compute the eigenvectors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples; not modified.
        y : array-like of shape (n_samples,)
            Class labels of the samples. At least two classes are required.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If X or y is malformed, if there is only one class, if ``n_components``
            exceeds the number of ordered pairs of classes, or if the regularized second
            moment of a class is singular.
        """
        X, y, *_ = validated_samples(self, X, y, double=True)
        self.classes_, codes = encoded_labels(y, type(self).__name__)
        pairs = list(permutations(range(len(self.classes_)), 2))
        if self.n_components is not None and self.n_components > len(pairs):
            raise ValueError(
                f"n_components={self.n_components} exceeds the number of ordered pairs "
                f"of classes, {len(pairs)}. Use at most {len(pairs)}."
            )
        basis, samples, _ = span_of_samples(X, centered=False)
        scale = np.abs(X).max() or 1.0  # squares could overflow or underflow
        samples = samples / scale
        groups = [samples[codes == code] for code in range(len(self.classes_))]
        moments = [group.T @ group / len(group) for group in groups]
        bases = [self._whitening(moment, k) for k, moment in enumerate(moments)]
        values, vectors = [], []
        for i, j in pairs:
            whitened = bases[j].T @ moments[i] @ bases[j]
            last = len(whitened) - 1
            value, axis = eigh(whitened, subset_by_index=[last, last])
            values.extend(value)
            vectors.extend((bases[j] @ axis).T)
        order = np.argsort(-np.array(values), kind="stable")[: self.n_components]
        self.eigenvalues_ = np.array(values)[order]
        filters = basis.lift(np.array(vectors)[order].T).T
        self.components_ = fix_signs(filters / scale)
        self.pairs_ = self.classes_[np.array(pairs)[order]]
        return self

    def _whitening(self, moment, code):
        """Basis in which the regularized second moment of a class is the identity."""
        variance = self.regularization * np.trace(moment) / self.n_features_in_
        basis = whitening_basis(moment + variance * np.eye(len(moment)))
        if basis.shape[1] < len(moment):
            remedy = "Its values in X are zero, or tiny compared with other values."
            if moment.any():
                remedy = (
                    "Increase regularization, or remove linearly dependent features."
                )
            raise ValueError(
                f"The second moment of class {self.classes_.tolist()[code]!r} is "
                f"singular, so the ratios of mean squares are unbounded. {remedy}"
            )
        return basis
