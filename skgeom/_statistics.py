"""Class-conditional means and covariances, from data, in pieces, merged, projected."""

import numpy as np
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_X_y, column_or_1d

from skgeom.utils._validation import check_semidefinite, check_symmetric

# Rows that are copied, as float64, at a time. Large enough for BLAS, small beside X.
_ROWS_PER_BLOCK = 2048

# The estimators of pyriemann.geometry.covariance that estimate a covariance.
# The M-estimators "hub", "stu" and "tyl" are not among them: they give the shape of a
# covariance, but not its size, which has to fit that of the means.
_ESTIMATOR_NAMES = ("cov", "lwf", "mcd", "oas", "sch", "scm")


class ClassStatistics:
    r"""Counts, means and covariances of the classes of labelled data.

    Everything that SQFA needs to know of the data. Statistics of pieces of the data
    add up exactly to those of the whole: ``a + b``, ``sum(pieces)`` and
    ``a.update(X, y)`` pool the observations, and the order does not matter but for
    rounding.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        The distinct labels; they are kept in sorted order.
    counts : array-like of shape (n_classes,)
        Number of samples of each class, at least 1.
    means : array-like of shape (n_classes, n_features)
        Mean :math:`\gamma_i` of each class.
    covariances : array-like of shape (n_classes, n_features, n_features)
        Covariance :math:`\Phi_i` of each class, taken as the unbiased estimate
        (divided by count - 1) where statistics are merged.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The labels in sorted order.
    counts : ndarray of shape (n_classes,)
        Number of samples of each class.
    means : ndarray of shape (n_classes, n_features), float64
        Mean of each class.
    covariances : ndarray of shape (n_classes, n_features, n_features), float64
        Covariance of each class.

    Raises
    ------
    ValueError
        If shapes do not fit, labels repeat, counts are below 1, numbers are not finite,
        or covariances are not symmetric or have negative eigenvalues.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom import ClassStatistics
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [5.0, 1.0], [5.0, 3.0]])
    >>> y = ["a", "a", "b", "b"]
    >>> statistics = ClassStatistics.from_data(X, y)
    >>> statistics.means
    array([[1., 0.],
           [5., 2.]])
    >>> statistics.covariances[0]
    array([[2., 0.],
           [0., 0.]])

    From two pieces:

    >>> first = ClassStatistics.from_data(X[::2], y[::2])
    >>> whole = first + ClassStatistics.from_data(X[1::2], y[1::2])
    >>> bool(np.allclose(whole.covariances, statistics.covariances))
    True
    """

    def __init__(self, classes, counts, means, covariances):
        classes = column_or_1d(np.asarray(classes))
        counts = column_or_1d(np.asarray(counts))
        means = check_array(means, dtype=np.float64, input_name="means")
        covariances = check_array(
            covariances, dtype=np.float64, allow_nd=True, input_name="covariances"
        )
        n_classes, n_features = means.shape
        expected = (n_classes, n_features, n_features)
        if covariances.shape != expected:
            raise ValueError(
                f"covariances must have shape {expected} to go with means of shape "
                f"{means.shape}, got {covariances.shape}."
            )
        check_symmetric(covariances, "covariances")
        check_semidefinite(covariances, "covariances")
        covariances = (covariances + covariances.mT) / 2
        whole = counts.dtype.kind in "iuf" and np.all(
            (counts == np.round(counts)) & (counts < 2**53)
        )
        if len(counts) != n_classes or not whole or np.any(counts < 1):
            raise ValueError(
                f"counts must hold the number of samples, a whole number of at least "
                f"1, of each of the {n_classes} classes, got {counts}."
            )
        labels, order = np.unique(classes, return_index=True)
        if len(classes) != n_classes or len(labels) != n_classes:
            raise ValueError(
                f"classes must hold {n_classes} distinct labels, one for each row of "
                f"means, got {classes}."
            )
        in_order = np.array_equal(order, np.arange(n_classes))
        self._set(
            labels,
            counts[order].astype(np.int64),
            means[order],
            covariances if in_order else covariances[order],
        )

    def _set(self, classes, counts, means, covariances, covariance_estimator=None):
        self.classes = classes
        self.counts = counts
        self.means = means
        self.covariances = covariances
        self._covariance_estimator = covariance_estimator

    @classmethod
    def _make(cls, *arrays):
        """An instance of arrays that are known to be valid."""
        statistics = cls.__new__(cls)
        statistics._set(*arrays)
        return statistics

    @classmethod
    def from_data(cls, X, y, covariance_estimator=None):
        """Compute the statistics of labelled samples.

        The rows of each class are copied and multiplied in blocks, so that the extra
        memory is one block beside the result. Sums are in float64 whatever X is.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their labels.
        covariance_estimator : None, str, or object, default=None
            None for the sample covariance; the name of an estimator of
            ``pyriemann.geometry.covariance``, one of ``"cov"``, ``"lwf"``, ``"mcd"``,
            ``"oas"``, ``"sch"`` and ``"scm"``; or an object whose ``fit(X)`` sets
            ``covariance_``, such as ``sklearn.covariance.LedoitWolf()``, which is
            cloned for each class. Only sample covariances can be merged later.

        Returns
        -------
        ClassStatistics
            The statistics of the classes in ``y``.

        Raises
        ------
        ValueError
            If X or y is malformed, or if ``covariance_estimator`` is unknown.
        """
        X, y = check_X_y(X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        return cls._from_valid_data(X, y, covariance_estimator)

    @classmethod
    def _from_valid_data(cls, X, y, covariance_estimator=None):
        classes, encoded, counts = np.unique(y, return_inverse=True, return_counts=True)
        n_features = X.shape[1]
        means = np.empty((len(classes), n_features))
        covariances = np.empty((len(classes), n_features, n_features))
        rows = np.split(np.argsort(encoded, kind="stable"), np.cumsum(counts)[:-1])
        for k, of_class in enumerate(rows):
            if covariance_estimator is None:
                means[k], covariances[k] = _sample_moments(X, of_class)
            else:
                samples = X[of_class].astype(np.float64, copy=False)
                means[k] = samples.mean(axis=0)
                covariances[k] = _estimate(covariance_estimator, samples, classes[k])
        return cls._make(classes, counts, means, covariances, covariance_estimator)

    @property
    def n_features(self):
        """Number of features."""
        return self.means.shape[1]

    @property
    def second_moments(self):
        r"""Second-moment matrices :math:`\Psi_i = \Phi_i + \gamma_i \gamma_i^\top`."""
        return self.covariances + self.means[:, :, None] * self.means[:, None, :]

    def pooled_covariances(self):
        """Within-class and total covariance, with the classes weighted by counts.

        The former is the mean of the class covariances as they are, with weights
        count / n_samples; the latter is the former plus the covariance of the class
        means with these weights.

        Returns
        -------
        within : ndarray of shape (n_features, n_features)
            Mean of the class covariances.
        total : ndarray of shape (n_features, n_features)
            The same plus the covariance of the class means.
        """
        weights = self.counts / self.counts.sum()
        within = np.tensordot(weights, self.covariances, axes=1)
        offsets = self.means - weights @ self.means
        return within, within + (offsets.T * weights) @ offsets

    def project(self, components):
        """Statistics of the linear features ``X @ components.T``.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features)
            One filter a row.

        Returns
        -------
        ClassStatistics
            With ``n_components`` features.

        Raises
        ------
        ValueError
            If ``components`` does not have ``n_features`` columns.
        """
        components = check_array(components, dtype=np.float64, input_name="components")
        if components.shape[1] != self.n_features:
            raise ValueError(
                f"components must have {self.n_features} columns, one a feature, got "
                f"shape {components.shape}."
            )
        projected = components @ self.covariances @ components.T
        return self._make(
            self.classes,
            self.counts,
            self.means @ components.T,
            (projected + projected.mT) / 2,
            self._covariance_estimator,
        )

    def update(self, X, y):
        """Add samples to these statistics, in place.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples; classes that were not seen before are added.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        ClassStatistics
            This object, updated.

        Raises
        ------
        ValueError
            If X or y is malformed or has another number of features.
        """
        merged = self + self.from_data(X, y)
        self._set(merged.classes, merged.counts, merged.means, merged.covariances)
        return self

    def __add__(self, other):
        """Statistics of the union of two sets of samples."""
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        if other.n_features != self.n_features:
            raise ValueError(
                "Statistics can be added only for one number of features, got "
                f"{self.n_features} and {other.n_features}."
            )
        if _kind_of(self.classes) != _kind_of(other.classes):
            raise ValueError(
                "Statistics can be added only if their class labels are of one kind, "
                f"got {self.classes} and {other.classes}."
            )
        for part in (self, other):
            if part._covariance_estimator is not None:
                raise ValueError(
                    "Statistics can be added only if their covariances are sample "
                    "covariances, not estimates of covariance_estimator="
                    f"{part._covariance_estimator!r}."
                )
        classes = np.union1d(self.classes, other.classes)
        n_classes, n_features = len(classes), self.n_features
        counts = np.zeros(n_classes, dtype=np.int64)
        means = np.zeros((n_classes, n_features))
        scatters = np.zeros((n_classes, n_features, n_features))
        for part in (self, other):
            k = np.searchsorted(classes, part.classes)
            total = counts[k] + part.counts
            offsets = part.means - means[k]
            weights = counts[k] * (part.counts / total)
            scatters[k] += (part.counts - 1)[:, None, None] * part.covariances
            scatters[k] += (weights[:, None] * offsets)[:, :, None] * offsets[:, None]
            means[k] += (part.counts / total)[:, None] * offsets
            counts[k] = total
        scatters /= np.maximum(counts - 1, 1)[:, None, None]
        return self._make(classes, counts, means, scatters)

    def __radd__(self, other):
        """The statistics themselves where ``other`` is 0, with which ``sum`` begins."""
        if not (isinstance(other, int) and other == 0):
            return NotImplemented
        return self._make(
            self.classes,
            self.counts,
            self.means,
            self.covariances,
            self._covariance_estimator,
        )

    def __repr__(self):
        return (
            f"{type(self).__name__}({len(self.classes)} classes, "
            f"{self.n_features} features, {self.counts.sum()} samples)"
        )


def _samples(count):
    return f"{count} sample{'s' * (count != 1)}"


def _kind_of(labels):
    """Text, numbers, or the dtype of anything else: what can be sorted together."""
    if all(isinstance(label, str) for label in labels.tolist()):
        return "text"
    return "numbers" if labels.dtype.kind in "biuf" else labels.dtype


def _sample_moments(X, rows):
    """Mean and unbiased covariance of some rows of X, in one pass, block by block.

    Each block is centred by its own mean and its scatter is merged into that of the
    blocks before it (Chan, Golub and LeVeque, 1983), so a large common offset costs no
    digits. numpy evaluates ``block.T @ block`` by a symmetric rank-k update.
    """
    n_features = X.shape[1]
    count, mean, scatter = 0, np.zeros(n_features), np.zeros((n_features, n_features))
    for start in range(0, len(rows), _ROWS_PER_BLOCK):
        block = X[rows[start : start + _ROWS_PER_BLOCK]].astype(np.float64, copy=False)
        block_mean = block.mean(axis=0)
        block -= block_mean
        scatter += block.T @ block
        offset = block_mean - mean
        total = count + len(block)
        scatter += np.outer(offset * (count * len(block) / total), offset)
        mean += offset * (len(block) / total)
        count = total
    scatter /= max(count - 1, 1)
    return mean, scatter


def _estimate(estimator, samples, label):
    """Covariance of the samples of one class by a named estimator or an object."""
    if isinstance(estimator, str) and estimator not in _ESTIMATOR_NAMES:
        raise ValueError(
            f"covariance_estimator must be None, one of {_ESTIMATOR_NAMES}, or an "
            f"object with fit and covariance_, got {estimator!r}."
        )
    fit = _fit_by_name if isinstance(estimator, str) else _fit_object
    failure = (
        f"covariance_estimator={estimator!r} fails for class {label}, which has "
        f"{_samples(len(samples))}"
    )
    try:
        covariance = check_array(fit(estimator, samples), dtype=np.float64)
        if covariance.shape != 2 * samples.shape[1:]:
            raise ValueError(f"the covariance has shape {covariance.shape}.")
        check_symmetric(covariance, "the covariance")
        check_semidefinite(covariance[None], "the covariance")
    except (ValueError, ArithmeticError) as error:
        raise ValueError(f"{failure}: {error}") from error
    return (covariance + covariance.T) / 2


def _fit_by_name(name, samples):
    # pyriemann imports matplotlib, which takes as long as all of scikit-learn.
    from pyriemann.geometry.covariance import covariances

    # Unseeded, "mcd" would draw its starts from the global random state.
    options = {"random_state": 0} if name == "mcd" else {}
    return covariances(samples.T, estimator=name, **options)


def _fit_object(estimator, samples):
    fitted = clone(estimator).fit(samples)
    if not hasattr(fitted, "covariance_"):
        raise ValueError("it has no attribute covariance_ after fit.")
    return fitted.covariance_
