"""Class-conditional means and covariances: from data, in pieces, merged, projected."""

from functools import reduce

import numpy as np
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_X_y, column_or_1d

from skgeom.objectives import ProjectedClasses
from skgeom.utils._dask import is_dask, row_blocks
from skgeom.utils._sklearn import check_sample_weight
from skgeom.utils._validation import check_semidefinite, check_symmetric

# Rows copied to float64 at a time: large enough for BLAS, small compared with X.
_ROWS_PER_BLOCK = 2048

# Parts that are merged at once, on a cluster as in one process.
_BRANCHES = 8

# Sums of squares up to this can still be added over classes and pairs.
_LARGEST = 1e290

# The estimators of pyriemann.geometry.covariance that estimate a covariance.
# The M-estimators "hub", "stu" and "tyl" are left out: they estimate a covariance up to
# a factor, and distances between Gaussians compare covariances with mean differences.
_ESTIMATOR_NAMES = ("cov", "lwf", "mcd", "oas", "sch", "scm")


class ClassStatistics:
    r"""Counts, means and covariances of the classes of labelled data.

    This is all that SQFA needs to know about the data. The statistics of pieces of the
    data add up to those of the whole, up to rounding: ``a + b``, ``sum(pieces)`` and
    ``a.update(X, y)`` pool the observations, in any order.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        The distinct labels, in any order; they are sorted.
    counts : array-like of shape (n_classes,)
        Number of samples of each class, or the sum of their weights, at least 1.
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
        Number of samples of each class, or the sum of their weights.
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
        means = check_array(means, dtype=np.float64, input_name="means")
        covariances = _checked_matrices(covariances, "covariances", means.shape)
        classes, counts, order = _checked_labels(classes, counts, len(means))
        self._set(classes, counts, means[order], covariances[order])

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
    def from_data(cls, X, y, covariance_estimator=None, *, sample_weight=None):
        """Compute the statistics of labelled samples.

        The rows of each class are copied and multiplied in blocks, so that one block
        is all the memory needed besides the result. Sums are in float64 for every
        dtype of X.

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
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples: a weight of 2 counts a sample twice, a weight of 0
            leaves it out. Those of a class must add up to at least 1.

        Returns
        -------
        ClassStatistics
            The statistics of the classes in ``y``.

        Raises
        ------
        ValueError
            If X, y or ``sample_weight`` is malformed, if the weights of a class add up
            to less than 1, if ``covariance_estimator`` is unknown, or if it is given
            together with weights.
        """
        if is_dask(X):
            return _statistics_of_blocks(X, y, covariance_estimator, sample_weight)
        X, y, sample_weight = _checked_samples(X, y, sample_weight)
        return cls._from_valid_data(X, y, covariance_estimator, sample_weight)

    @classmethod
    def from_blocks(cls, blocks):
        """Compute the statistics of samples that come in blocks.

        One block at a time is in memory, so that the blocks may be those of a file, of
        a database, or of a generator. The statistics are those of all samples at once,
        up to rounding, for any order and sizes of blocks.

        Parameters
        ----------
        blocks : iterable of (X, y) or (X, y, sample_weight)
            As :meth:`from_data` takes them. A block may lack classes, may be empty, and
            may have any weights: those of a class must add up to at least 1 over all
            blocks. Data frames must have their columns in one order.

        Returns
        -------
        ClassStatistics
            The statistics of all samples.

        Raises
        ------
        ValueError
            If a block is malformed, with its number, counted from 0; if blocks differ
            in their features or in the kind of their labels; or if there are no
            samples.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skgeom import ClassStatistics
        >>> X, y = load_digits(return_X_y=True)
        >>> blocks = ((X[i : i + 500], y[i : i + 500]) for i in range(0, len(X), 500))
        >>> ClassStatistics.from_blocks(blocks)
        ClassStatistics(10 classes, 64 features, 1797 samples)
        """
        total = _merge_one_by_one(_moments_of(blocks))
        if total is None:
            raise ValueError(
                "There are no samples: all blocks are empty, or none came."
            )
        return total.statistics()

    @classmethod
    def _from_valid_data(cls, X, y, covariance_estimator=None, sample_weight=None):
        if sample_weight is not None and covariance_estimator is not None:
            raise ValueError(
                "sample_weight needs sample covariances, covariance_estimator="
                f"None, but covariance_estimator={covariance_estimator!r}."
            )
        classes, rows = _rows_of_classes(y)
        n_features = X.shape[1]
        means = np.empty((len(classes), n_features))
        covariances = np.empty((len(classes), n_features, n_features))
        counts = np.empty(len(rows), dtype=int if sample_weight is None else float)
        take = _Rows(X)
        for k, of_class in enumerate(rows):
            if covariance_estimator is None:
                moments = _sample_moments(X, of_class, classes[k], take, sample_weight)
                counts[k], means[k] = moments.count, moments.mean
                covariances[k] = moments.covariance(classes[k])
            else:
                counts[k] = len(of_class)
                samples = X[of_class].astype(np.float64, copy=False)
                means[k] = samples.mean(axis=0)
                covariances[k] = _estimated_covariance(
                    covariance_estimator, samples, classes[k]
                )
        return cls._make(classes, counts, means, covariances, covariance_estimator)

    @classmethod
    def from_second_moments(cls, classes, counts, second_moments):
        r"""Make statistics that hold second moments about the origin only.

        These are enough for :class:`SecondMomentSQFA`. Their ``means`` and
        ``covariances`` are None.

        Parameters
        ----------
        classes : array-like of shape (n_classes,)
            The distinct labels.
        counts : array-like of shape (n_classes,)
            Number of samples of each class, at least 1.
        second_moments : array-like of shape (n_classes, n_features, n_features)
            The mean :math:`\Psi_i` of :math:`x x^\top` over the samples of each class.

        Returns
        -------
        ClassStatistics
            With second moments only.

        Raises
        ------
        ValueError
            If shapes do not fit, labels repeat, counts are below 1, numbers are not
            finite, or matrices are not symmetric or have negative eigenvalues.
        """
        second_moments = _checked_matrices(second_moments, "second_moments")
        classes, counts, order = _checked_labels(classes, counts, len(second_moments))
        return _SecondMoments._make(classes, counts, second_moments[order])

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

        Each class has the weight count / n_samples. The within-class covariance is the
        weighted mean of ``covariances``; the total covariance adds the weighted
        covariance of the class means.

        Returns
        -------
        within : ndarray of shape (n_features, n_features)
            Weighted mean of the class covariances.
        total : ndarray of shape (n_features, n_features)
            The same plus the weighted covariance of the class means.
        """
        weights = self.counts / self.counts.sum()
        within = np.tensordot(weights, self.covariances, axes=1)
        offsets = self.means - weights @ self.means
        return within, within + (offsets.T * weights) @ offsets

    def shrunk(self):
        r"""Statistics with each covariance drawn towards that within the classes.

        The covariance :math:`S_i` of a class of :math:`n_i` samples becomes

        .. math::

           (1 - a_i) S_i + a_i W, \qquad a_i = \frac{q}{n_i - 1 + q}, \qquad
           q = \frac{\operatorname{tr} W^2 + (\operatorname{tr} W)^2}{D}

        with W the mean of all covariances, weighted by :math:`n_i - 1`: as if W came
        with q samples more. This is the best linear estimate where the true covariances
        scatter about W with the mean square D, in the Frobenius norm, and the
        classes are Gaussians, so that the numerator of q, over :math:`n_i - 1`, is the
        mean square error of :math:`S_i` where the classes agree. D is estimated as a
        variance between groups is, by moments [1]_; but q is at most the sum of the
        weights, since W is worth no more samples than it is made of.

        Returns
        -------
        ClassStatistics
            The same classes, counts and means. Such statistics cannot be merged.

        Raises
        ------
        ValueError
            If these are second moments only, or no sample covariances.

        References
        ----------
        .. [1] R. DerSimonian and N. Laird, "Meta-analysis in clinical trials",
           Controlled Clinical Trials 7, 1986.

        Examples
        --------
        A class of three samples gets nearly the covariance of the other one:

        >>> import numpy as np
        >>> from skgeom import ClassStatistics
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(103, 5)), np.repeat([0, 1], [100, 3])
        >>> shrunk = ClassStatistics.from_data(X, y).shrunk()
        >>> bool(np.linalg.eigvalsh(shrunk.covariances[1])[0] > 0.5)
        True
        """
        self._check_sample_covariances("shrunk")
        degrees = self.counts - 1.0
        weights = degrees / max(degrees.sum(), 1)
        pooled = np.tensordot(weights, self.covariances, axes=1)
        trace = np.trace(pooled) or 1.0
        # In units of the trace, so that very small or large numbers stay in range.
        error = 1 + _square_norm(pooled / trace)
        squares = [_square_norm((own - pooled) / trace) for own in self.covariances]
        excess = degrees @ squares - (len(degrees) - 1) * error
        # The mean of the excess is D times this.
        divisor = degrees @ (1 - weights)
        scatter = excess / divisor if divisor > 0 else 0.0
        # W is not worth more samples than it is made of.
        scatter = max(scatter, error / max(degrees.sum(), 1))
        intensities = error / (error + degrees * scatter)
        offsets = intensities[:, None, None] * (pooled - self.covariances)
        return self._make(
            self.classes, self.counts, self.means, self.covariances + offsets, "shrunk"
        )

    def project(self, components):
        """Statistics of the linear features ``X @ components.T``.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features)
            The filters, one per row.

        Returns
        -------
        ClassStatistics
            With ``n_components`` features.

        Raises
        ------
        ValueError
            If ``components`` does not have ``n_features`` columns.
        """
        components = self._checked_components(components)
        moments = _projected(self.means, self.covariances, components)
        return self._make(
            self.classes, self.counts, *moments, self._covariance_estimator
        )

    def _checked_components(self, components):
        components = check_array(components, dtype=np.float64, input_name="components")
        if components.shape[1] != self.n_features:
            raise ValueError(
                f"components must have {self.n_features} columns, one per feature, got "
                f"shape {components.shape}."
            )
        return components

    def update(self, X, y, sample_weight=None):
        """Add samples to these statistics, in place.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples; they may be of new classes.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights, as in :meth:`from_data`.

        Returns
        -------
        ClassStatistics
            This object, updated.

        Raises
        ------
        ValueError
            If X or y is malformed or has another number of features.
        """
        merged = self + self.from_data(X, y, sample_weight=sample_weight)
        self._set(merged.classes, merged.counts, merged.means, merged.covariances)
        return self

    def __add__(self, other):
        """Statistics of the union of two sets of samples."""
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        self._check_addition(other)
        for part in (self, other):
            part._check_sample_covariances("added")
        return self._merged(other)

    def _check_sample_covariances(self, what):
        if self._covariance_estimator is not None:
            raise ValueError(
                f"Statistics can be {what} only if their covariances are sample "
                "covariances, not estimates of covariance_estimator="
                f"{self._covariance_estimator!r}."
            )

    def _merged(self, *others):
        """Statistics of the union of several sets of samples, without checks."""
        total = _Total(self)
        for other in others:
            total.add(other, check=False)
        return total.statistics()

    def _sums(self):
        """Label, count, mean and scatter of one class after another."""
        classes = self.classes.tolist()
        for label, count, mean, covariance in zip(
            classes, self.counts, self.means, self.covariances, strict=True
        ):
            yield label, count, mean, (count - 1) * covariance

    def _check_addition(self, other):
        if (self.means is None) != (other.means is None):
            raise ValueError(
                "Statistics that hold second moments only can be added to others of "
                "that kind only. ClassStatistics.from_second_moments(s.classes, "
                "s.counts, s.second_moments) converts other statistics s."
            )
        _check_alike(self, other)

    def __radd__(self, other):
        """The statistics themselves if ``other`` is 0, the start value of ``sum``."""
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


class _Moments:
    """Count, mean, and scatter about the mean, of samples that come in parts.

    Parts with n_a and n_b samples have the joint scatter

        S = S_a + S_b + n_a n_b / (n_a + n_b) d d',    d = mean_b - mean_a,

    (Chan, Golub and LeVeque, 1983). Scatters about means are added, and never sums of
    x x', which lose the digits of a covariance that is small compared with the means.
    The first part meets n_a = 0, which makes the last term zero.
    """

    def __init__(self, n_features):
        self.count = 0
        self.mean = np.zeros(n_features)
        self.scatter = np.zeros((n_features, n_features))

    def add(self, count, mean, scatter):
        total = self.count + count
        offset = mean - self.mean
        self.scatter += scatter
        if self.count:
            self.scatter += np.outer(offset * (self.count * (count / total)), offset)
        self.mean += offset * (count / total)
        self.count = total

    def covariance(self, label):
        """The unbiased estimate; zero of one sample."""
        # Without a degree of freedom, a scatter would be lost in the estimate.
        lost = self.count <= 1 and self.scatter.any()
        if self.count < 1 or lost:
            raise ValueError(
                f"The sample_weight of class {label} adds up to {self.count:.3g}, but "
                "a weight counts samples: those of each class must add up to at least "
                "1, and to more if its samples differ. Multiply sample_weight by a "
                "constant, such as n_samples / its sum."
            )
        return self.scatter / (self.count - 1 if self.count > 1 else 1)


class _Total:
    """The moments of classes that come in parts, in place.

    Unlike statistics, these may be of weights that add up to less than one sample.
    """

    def __init__(self, first):
        self.n_features = first.n_features
        self.classes = first.classes
        self._moments = {}
        self.add(first, check=False)

    @classmethod
    def of_samples(cls, X, y, sample_weight):
        """The moments of valid samples."""
        total = cls.__new__(cls)
        total.n_features = X.shape[1]
        total.classes, rows = _rows_of_classes(y)
        take = _Rows(X)
        total._moments = {
            label: _sample_moments(X, of_class, label, take, sample_weight)
            for label, of_class in zip(total.classes.tolist(), rows, strict=True)
        }
        return total

    def add(self, part, check=True):
        if check:
            _check_alike(self, part)
        self.classes = np.union1d(self.classes, part.classes)
        for label, *sums in part._sums():
            if label not in self._moments:
                self._moments[label] = _Moments(part.n_features)
            self._moments[label].add(*sums)

    def _sums(self):
        for label, moments in self._moments.items():
            yield label, moments.count, moments.mean, moments.scatter

    def statistics(self):
        labels = self.classes.tolist()
        moments = [self._moments[label] for label in labels]
        covariances = [m.covariance(k) for m, k in zip(moments, labels, strict=True)]
        return ClassStatistics._make(
            self.classes,
            np.array([m.count for m in moments]),
            np.array([m.mean for m in moments]),
            np.array(covariances),
        )


def check_statistics(statistics):
    """Raise TypeError unless ``statistics`` is a ClassStatistics."""
    if not isinstance(statistics, ClassStatistics):
        raise TypeError(
            "statistics must be a ClassStatistics, made for example by "
            f"ClassStatistics.from_data(X, y), got {type(statistics).__name__}."
        )


def _checked_samples(X, y, sample_weight, some=True):
    """Valid samples, labels and weights; ``some`` of the weights must be positive."""
    X, y = check_X_y(X, y, dtype=[np.float64, np.float32])
    check_classification_targets(y)
    if sample_weight is not None:
        X, y, sample_weight = weighted_samples(X, y, sample_weight, some=some)
    return X, y, sample_weight


def _statistics_of_blocks(X, y, covariance_estimator, sample_weight):
    """Statistics of a Dask array or frame: one task a block, merged by a tree."""
    import dask

    if covariance_estimator is not None:
        raise ValueError(
            "Statistics of blocks add up only if they are sample covariances, "
            f"covariance_estimator=None, but {covariance_estimator=!r}."
        )
    of_block, merge = dask.delayed(_of_block), dask.delayed(_merge)
    parts = [
        of_block(number, *block)
        for number, block in enumerate(row_blocks(X, y, sample_weight))
    ]
    while len(parts) > 1:
        starts = range(0, len(parts), _BRANCHES)
        parts = [merge(parts[i : i + _BRANCHES]) for i in starts]
    (total,) = dask.compute(parts[0])
    if total is None:
        raise ValueError("There are no samples: all blocks of X are empty.")
    return total.statistics()


def _moments_of(blocks):
    """Moments of the blocks of ``from_blocks``, one after another."""
    first, names, number = None, None, 0
    for block in blocks:
        if not isinstance(block, tuple | list) or len(block) not in (2, 3):
            length = f" of length {len(block)}" if hasattr(block, "__len__") else ""
            raise ValueError(
                "blocks must yield pairs (X, y) or triples (X, y, sample_weight), but "
                f"block {number} is of type {type(block).__name__}{length}."
            )
        if hasattr(block[0], "columns"):
            columns = list(block[0].columns)
            if names not in (None, columns):
                raise ValueError(
                    f"Block {number}: its columns are {columns}, but those of the "
                    f"blocks before are {names}. Give all in one order."
                )
            names = columns
        moments = _of_block(number, *block)
        # Nothing may hold it while the next one is read; enumerate would.
        del block
        if moments is not None:
            # Its sum is changed later, but neither its features nor the kind of labels.
            first = first or moments
            _check_alike(first, moments, f"Block {number}: ")
        yield moments
        number += 1


def _of_block(number, X, y, sample_weight=None):
    """Moments of a block, None if it is empty; errors have its number."""
    try:
        if len(X) == len(y) == 0:
            return None
        X, y, sample_weight = _checked_samples(X, y, sample_weight, some=False)
        return _Total.of_samples(X, y, sample_weight) if len(X) else None
    except ValueError as error:
        raise ValueError(f"Block {number}: {error}") from error


def _merge(parts):
    """The sum of moments, or None. A task may run twice, so parts are not changed."""
    total = None
    for part in parts:
        if total is None and part is not None:
            total = _Total(part)
        else:
            total = _added(total, part)
    return total


def _merge_one_by_one(parts):
    """The sum of moments, or None, each of which is changed once it has been given.

    They are added in the order of the tree of Dask, so that the sum is the same to the
    last digit. One sum is held for each level of the tree.
    """
    sums, counts = [], []

    def add(level, part):
        if level == len(sums):
            sums.append(None)
            counts.append(0)
        sums[level] = _added(sums[level], part)
        counts[level] += 1
        if counts[level] == _BRANCHES:
            done, sums[level], counts[level] = sums[level], None, 0
            add(level + 1, done)

    for part in parts:
        add(0, part)
    # The last branches, which are not complete.
    return reduce(lambda below, own: _added(own, below), sums, None)


def _added(total, part):
    """``part`` added to ``total`` in place; both may be None."""
    if total is None or part is None:
        return part if total is None else total
    total.add(part)
    return total


def _check_alike(first, second, where=""):
    """Raise ValueError if features or kinds of labels do not allow addition."""
    if first.n_features != second.n_features:
        raise ValueError(
            f"{where}Statistics can be added only for one number of features, got "
            f"{first.n_features} and {second.n_features}."
        )
    if kind_of(first.classes) != kind_of(second.classes):
        raise ValueError(
            f"{where}Statistics can be added only if their class labels are of one "
            f"kind, got {first.classes} and {second.classes}."
        )


def _square_norm(matrix):
    return np.vdot(matrix, matrix)


class _SecondMoments(ClassStatistics):
    """Statistics that hold counts and second moments only."""

    def shrunk(self):
        raise ValueError(
            "Statistics can be shrunk only if they hold covariances, not second "
            "moments only."
        )

    def _set(self, classes, counts, second_moments):
        super()._set(classes, counts, None, None)
        self._second_moments = second_moments

    @property
    def n_features(self):
        return self._second_moments.shape[1]

    @property
    def second_moments(self):
        return self._second_moments

    def pooled_covariances(self):
        weights = self.counts / self.counts.sum()
        pooled = np.tensordot(weights, self._second_moments, axes=1)
        return pooled, pooled

    def project(self, components):
        components = self._checked_components(components)
        means = np.zeros((len(self.classes), self.n_features))
        _, moments = _projected(means, self._second_moments, components)
        return self._make(self.classes, self.counts, moments)

    def update(self, X, y, sample_weight=None):
        new = ClassStatistics.from_data(X, y, sample_weight=sample_weight)
        # The mean of x x' is the covariance, divided by count, plus mean mean'.
        scatters = (1 - 1 / new.counts)[:, None, None] * new.covariances
        moments = scatters + new.means[:, :, None] * new.means[:, None]
        merged = self + self._make(new.classes, new.counts, moments)
        self._set(merged.classes, merged.counts, merged._second_moments)
        return self

    def __add__(self, other):
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        self._check_addition(other)
        classes = np.union1d(self.classes, other.classes)
        counts = np.zeros(len(classes), dtype=np.result_type(self.counts, other.counts))
        sums = np.zeros((len(classes), *self._second_moments.shape[1:]))
        for part in (self, other):
            k = np.searchsorted(classes, part.classes)
            counts[k] += part.counts
            sums[k] += part.counts[:, None, None] * part._second_moments
        return self._make(classes, counts, sums / counts[:, None, None])

    def __radd__(self, other):
        if not (isinstance(other, int) and other == 0):
            return NotImplemented
        return self._make(self.classes, self.counts, self._second_moments)


def _rows_of_classes(y):
    """The sorted labels, and the rows of each."""
    order = np.argsort(y, kind="stable")
    labels = y[order]
    starts = np.flatnonzero(labels[1:] != labels[:-1]) + 1
    return labels[np.append(0, starts)], np.split(order, starts)


class _Rows:
    """Rows of X by their numbers, in float64, in memory that is used again each time.

    The workers of Dask give freed memory back to the system at once, and new memory
    would take as long as the products do.
    """

    def __init__(self, X):
        shape = min(len(X), _ROWS_PER_BLOCK), X.shape[1]
        self._X = X
        self._double = np.empty(shape)
        self._same = self._double if X.dtype == np.float64 else np.empty(shape, X.dtype)

    def __call__(self, numbers):
        if self._X.flags.c_contiguous:
            rows = self._same[: len(numbers)]
            # The numbers are valid, and this mode needs no memory of its own.
            np.take(self._X, numbers, axis=0, out=rows, mode="clip")
        else:  # which np.take would copy as a whole
            rows = self._X[numbers]
        double = self._double[: len(numbers)]
        if rows is not double:
            double[...] = rows
        return double


def _sample_moments(X, rows, label, take, sample_weight=None):
    """Moments of the rows of X of a class, block by block.

    Each block is centred by its own mean, so a large common offset costs no digits.
    numpy evaluates ``block.T @ block`` by a symmetric rank-k update, which is most of
    the time. ``take`` is ``_Rows(X)``, made once for all classes.
    """
    moments = _Moments(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(rows), _ROWS_PER_BLOCK):
            of_block = rows[start : start + _ROWS_PER_BLOCK]
            block = take(of_block)
            if sample_weight is None:
                count, mean = len(block), block.mean(axis=0)
                block -= mean
            else:
                weights = sample_weight[of_block]
                count = weights.sum()
                mean = (weights / count) @ block
                block -= mean
                block *= np.sqrt(weights)[:, None]
            moments.add(count, mean, block.T @ block)
        # One number bounds all entries: these sums of squares must not overflow, nor
        # those over classes that are made of them later.
        trace = np.trace(moments.scatter) + np.square(moments.mean).sum()
    if not trace < _LARGEST:
        raise ValueError(
            f"The squares of the numbers of class {label}, which are up to "
            f"{np.abs(X[rows]).max():.3g}, are too large for floating-point numbers. "
            "Divide X by a common factor, or use StandardScaler."
        )
    return moments


def weighted_samples(X, y, sample_weight, *, some=True):
    """The samples of positive weight, at least one if ``some``, and their weights."""
    if not some and not np.any(sample_weight):
        return X[:0], y[:0], None
    sample_weight = check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    positive = sample_weight > 0
    if not positive.any():  # older versions of scikit-learn let this pass
        raise ValueError("sample_weight must have at least one non-zero number.")
    with np.errstate(over="ignore"):
        finite = np.isfinite(sample_weight.sum())
    if not finite:
        raise ValueError("sample_weight adds up to infinity. Divide it by a constant.")
    return X[positive], y[positive], sample_weight[positive]


def _estimated_covariance(estimator, samples, label):
    """Covariance of the samples of one class by a named estimator or an object."""
    if isinstance(estimator, str) and estimator not in _ESTIMATOR_NAMES:
        raise ValueError(
            f"covariance_estimator must be None, one of {_ESTIMATOR_NAMES}, or an "
            f"object with fit and covariance_, got {estimator!r}."
        )
    fit = _fit_by_name if isinstance(estimator, str) else _fit_object
    failure = (
        f"covariance_estimator={estimator!r} fails for class {label}, which has "
        f"{len(samples)} sample{'s' * (len(samples) != 1)}"
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


def _checked_matrices(matrices, name, shape_of_means=None):
    """A float64 copy of semidefinite matrices, exactly symmetric."""
    matrices = check_array(matrices, dtype=np.float64, allow_nd=True, input_name=name)
    if shape_of_means is not None:
        n_classes, n_features = shape_of_means
        expected = (n_classes, n_features, n_features)
        if matrices.shape != expected:
            raise ValueError(
                f"{name} must have shape {expected} to go with means of shape "
                f"{shape_of_means}, got {matrices.shape}."
            )
    elif matrices.ndim != 3:
        raise ValueError(
            f"{name} must have shape (n_classes, n_features, n_features), got "
            f"{matrices.shape}."
        )
    check_symmetric(matrices, name)
    check_semidefinite(matrices, name)
    return (matrices + matrices.mT) / 2


def _checked_labels(classes, counts, n_classes):
    """Sorted labels, their counts, and the indices that sort the classes."""
    classes = column_or_1d(np.asarray(classes))
    counts = column_or_1d(np.asarray(counts))
    numbers = counts.dtype.kind in "iuf"
    if (
        len(counts) != n_classes
        or not numbers
        or not np.all((counts >= 1) & (counts < 2**53))
    ):
        raise ValueError(
            "counts must hold the number of samples, or the sum of their weights, at "
            f"least 1, of each of the {n_classes} classes, got {counts}."
        )
    if np.all(counts == np.round(counts)):
        counts = counts.astype(np.int64)
    labels, order = np.unique(classes, return_index=True)
    if len(classes) != n_classes or len(labels) != n_classes:
        raise ValueError(
            f"classes must hold {n_classes} distinct labels, one for each of the "
            f"classes, got {classes}."
        )
    return labels, counts[order], order


def _projected(means, matrices, components):
    """Means and matrices, such as covariances, of ``X @ components.T``."""
    means, matrices, _ = ProjectedClasses(means, matrices, 0.0)(components.T)
    return means, matrices


def kind_of(labels):
    """Kind of labels: "text", "numbers" or a dtype. One kind can be sorted together."""
    if all(isinstance(label, str) for label in labels.tolist()):
        return "text"
    return "numbers" if labels.dtype.kind in "biuf" else labels.dtype
