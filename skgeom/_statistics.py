"""Class-conditional means and covariances: from data, in pieces, merged, projected."""

from copy import copy
from functools import partial
from numbers import Integral

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array, column_or_1d

from skgeom._leading_axes import InAxes, sums_in_axes
from skgeom._moments import (
    ClassSums,
    check_alike,
    check_memory,
    check_underflow,
    checked_samples,
    rows_of_classes,
    sums_of_blocks,
    sums_of_samples,
    union_of_classes,
)
from skgeom.objectives import projected_classes
from skgeom.utils._frames import get_feature_names
from skgeom.utils.array_api import (
    by_numpy,
    in_double,
    is_by_numpy,
    is_dask,
    is_dispatched,
    like,
    namespace,
    on_host,
    take,
    to_numpy,
)
from skgeom.utils.validation import check_semidefinite, check_symmetric

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
        Mean of each class. Those of samples of another library than numpy, with
        scikit-learn's ``array_api_dispatch``, are arrays where the samples are.
    covariances : ndarray of shape (n_classes, n_features, n_features), float64
        Covariance of each class, where the means are.
    axes : ndarray of shape (n_axes, n_features) or None
        Where statistics are made in fewer dimensions, with ``n_axes``: the orthonormal
        axes. Means and covariances are those of the ``n_axes`` features ``X @ axes.T``.
    covariance_estimator : None, str or object
        What estimated the covariances, as in :meth:`from_data`; None for sample
        covariances, and "shrunk" after :meth:`shrunk`.
    feature_names_in_ : ndarray of shape (n_features,) or None
        The names of the columns of X, where X is a data frame whose names are all
        strings. Statistics of different names do not add up. Where one summand has no
        names, the sum has those of the other: its columns must be in the same order.

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
        means = check_array(on_host(means), dtype=np.float64, input_name="means")
        covariances = _checked_matrices(covariances, "covariances", means.shape)
        classes, counts, order = _checked_labels(classes, counts, len(means))
        self._set(classes, counts, means[order], covariances[order])

    def _set(
        self,
        classes,
        counts,
        means,
        covariances,
        covariance_estimator=None,
        axes=None,
        feature_names_in_=None,
    ):
        self.classes = classes
        self.counts = counts
        self.means = means
        self.covariances = covariances
        self.covariance_estimator = covariance_estimator
        self.axes = axes
        self.feature_names_in_ = feature_names_in_

    def _with(self, **attributes):
        """The same statistics with other attributes."""
        other = copy(self)
        vars(other).update(attributes)
        return other

    @classmethod
    def _make(cls, *arrays):
        """An instance of arrays that are known to be valid."""
        statistics = cls.__new__(cls)
        statistics._set(*arrays)
        return statistics

    @classmethod
    def from_data(
        cls, X, y, covariance_estimator=None, *, sample_weight=None, n_axes=None
    ):
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
            copied for each class. Only sample covariances can be merged later.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples: a weight of 2 counts a sample twice, a weight of 0
            leaves it out. Those of a class must add up to at least 1.
        n_axes : int, default=None
            If given, the statistics are those of the leading principal axes of all
            samples, as in :meth:`from_blocks`.

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
        MemoryError
            If the covariances need more memory than there is.
        """
        if is_by_numpy(X):
            options = {"sample_weight": sample_weight, "n_axes": n_axes}
            return by_numpy(cls.from_data, X, X, y, covariance_estimator, **options)
        if n_axes is None and not is_dask(X):
            names = get_feature_names(X)
            X, y, sample_weight = checked_samples(X, y, sample_weight)
            statistics = cls._from_valid_data(X, y, covariance_estimator, sample_weight)
            statistics.feature_names_in_ = names
            return statistics
        if covariance_estimator is not None:
            raise ValueError(
                "Statistics of blocks and of n_axes need sample covariances, "
                f"covariance_estimator=None, but {covariance_estimator=!r}."
            )
        return cls._summed(partial(sums_of_samples, X, y, sample_weight), n_axes)

    @classmethod
    def _summed(cls, summed, n_axes):
        """Statistics of the samples that ``summed`` adds up."""
        if n_axes is None:
            return statistics_of_sums(summed())
        if not isinstance(n_axes, Integral) or n_axes < 1:
            raise ValueError(f"n_axes must be None or at least 1, got {n_axes!r}.")
        sums, axes = sums_in_axes(n_axes, summed)
        return statistics_of_sums(sums, axes)

    @classmethod
    def from_blocks(cls, blocks, *, n_axes=None):
        """Compute the statistics of samples that come in blocks.

        One block at a time is in memory, so that the blocks may be those of a file, of
        a database, or of a generator. The statistics are those of all samples at once,
        up to rounding, for any order and sizes of blocks.

        Where the covariances of all classes are too large for the memory, ``n_axes``
        takes them in fewer dimensions: a first pass over the blocks finds the principal
        axes of all samples together, and a second one the statistics of ``X @ axes.T``.

        Parameters
        ----------
        blocks : iterable of (X, y) or (X, y, sample_weight), or callable
            As :meth:`from_data` takes them, or a function without parameters that
            returns such an iterable. A block may lack classes, may be empty, and
            may have any weights: those of a class must add up to at least 1 over all
            blocks. Data frames must have their columns in one order.
        n_axes : int, default=None
            Number of leading principal axes to keep. The blocks are then read twice,
            so that a generator must be given as a function that returns a new one.

        Returns
        -------
        ClassStatistics
            The statistics of all samples.

        Raises
        ------
        ValueError
            If a block is malformed, with its number, counted from 0; if blocks differ
            in their features or in the kind of their labels; if there are no
            samples; or if ``n_axes`` is given and blocks can be read only once.
        MemoryError
            If the covariances need more memory than there is.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skgeom import ClassStatistics
        >>> X, y = load_digits(return_X_y=True)
        >>> blocks = ((X[i : i + 500], y[i : i + 500]) for i in range(0, len(X), 500))
        >>> ClassStatistics.from_blocks(blocks)
        ClassStatistics(10 classes, 64 features, 1797 samples)

        In fewer dimensions; the filters are those of the 64 features:

        >>> def read():
        ...     for i in range(0, len(X), 500):
        ...         yield X[i : i + 500], y[i : i + 500]
        >>> statistics = ClassStatistics.from_blocks(read, n_axes=20)
        >>> statistics.covariances.shape
        (10, 20, 20)
        >>> from skgeom import SQFA
        >>> SQFA(9).fit_statistics(statistics).components_.shape
        (9, 64)
        """
        if n_axes is not None and not callable(blocks) and iter(blocks) is blocks:
            raise ValueError(
                "n_axes needs two passes over the blocks, but these can be read only "
                "once: give a list, or a function that returns a new generator."
            )
        return cls._summed(partial(sums_of_blocks, blocks), n_axes)

    @classmethod
    def _from_valid_data(cls, X, y, covariance_estimator=None, sample_weight=None):
        """Statistics of samples that need no validation."""
        if covariance_estimator is None:
            return statistics_of_sums(ClassSums.of_samples(X, y, sample_weight))
        if sample_weight is not None:
            raise ValueError(
                "sample_weight needs sample covariances, covariance_estimator="
                f"None, but covariance_estimator={covariance_estimator!r}."
            )
        classes, rows = rows_of_classes(y)
        check_memory(len(classes), X.shape[1])
        parts = [in_double(to_numpy(take(X, of_class))) for of_class in rows]
        means = np.stack([part.mean(axis=0) for part in parts])
        covariances = np.stack(
            [
                _estimated_covariance(covariance_estimator, part, label)
                for part, label in zip(parts, classes, strict=True)
            ]
        )
        check_underflow(np.einsum("cii->", covariances) + np.square(means).sum(), X)
        counts = np.array([len(of_class) for of_class in rows])
        statistics = cls._make(
            classes, counts, means, covariances, covariance_estimator
        )
        return statistics._beside(X)

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
        """Number of features of the means and covariances."""
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
        xp = namespace(self.covariances)
        weights = like(self.counts / self.counts.sum(), self.means)
        within = xp.tensordot(weights, self.covariances, axes=1)
        offsets = self.means - weights @ self.means
        return within, within + (offsets.T * weights) @ offsets

    def _of_coordinates(self):
        """The same statistics, as if the coordinates in the axes were the features."""
        names = self.feature_names_in_ if self.axes is None else None
        return self._with(axes=None, feature_names_in_=names)

    def shrunk(self, shrinkage=None):
        r"""Statistics with each covariance shrunk towards the one within the classes.

        The covariance :math:`S_i` of a class of :math:`n_i` samples becomes
        :math:`(1 - \rho_i) S_i + \rho_i W`, where W is the mean of all covariances,
        weighted by :math:`n_i - 1`.

        Parameters
        ----------
        shrinkage : None, float or array-like of shape (n_classes,), default=None
            The intensities :math:`\rho_i`, from 0 to 1, of all classes or of each one.
            None computes them from the statistics:

            .. math::

               \rho_i = \frac{q}{n_i - 1 + q}, \qquad
               q = \frac{\operatorname{tr} W^2 + (\operatorname{tr} W)^2}{D}

            as if W were the covariance of q additional samples. They minimize the mean
            square error in the Frobenius norm, if the classes are Gaussian and their
            true covariances have the mean square distance D from W: the numerator
            of q, divided by :math:`n_i - 1`, is the mean square error of :math:`S_i` if
            all true covariances are equal. The method of moments estimates D, as a
            variance between groups [1]_; q is at most the sum of all
            :math:`n_i - 1`. They depend on the units of single features.

        Returns
        -------
        ClassStatistics
            The same classes, counts and means. Such statistics cannot be merged.

        Raises
        ------
        ValueError
            If these are second moments only, or no sample covariances, or if
            ``shrinkage`` has a wrong shape or a number below 0 or above 1.

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
        xp, covariances = namespace(self.covariances), self.covariances
        degrees = self.counts - 1.0
        weights = degrees / max(degrees.sum(), 1)
        pooled = xp.tensordot(like(weights, covariances), covariances, axes=1)
        if shrinkage is None:
            shrinkage = closed_form_shrinkage(covariances, self.counts)
        shrinkage = np.asarray(on_host(shrinkage), dtype=np.float64)
        inside = np.all((shrinkage >= 0) & (shrinkage <= 1))
        if shrinkage.shape not in ((), degrees.shape) or not inside:
            raise ValueError(
                "shrinkage must be None, a number from 0 to 1, or one for each of the "
                f"{len(degrees)} classes, got {shrinkage}."
            )
        intensities = np.broadcast_to(shrinkage, degrees.shape)
        intensities = like(intensities.copy(), covariances)[:, None, None]
        offsets = intensities * (pooled - covariances)
        return self._with(
            covariances=covariances + offsets, covariance_estimator="shrunk"
        )

    def project(self, components):
        """Statistics of the linear features ``X @ components.T``.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features)
            The filters, one per row, of the features of X, also if these statistics
            have ``axes``.

        Returns
        -------
        ClassStatistics
            With ``n_components`` features, and no axes.

        Raises
        ------
        ValueError
            If ``components`` does not have ``n_features`` columns, or, where there are
            axes, if a filter is not in their span.
        """
        components = self._checked_components(components)
        if self.axes is not None:
            components = _coordinates(components, self.axes)
        means, covariances = _projected(self.means, self.covariances, components)
        return self._with(
            means=means, covariances=covariances, axes=None, feature_names_in_=None
        )

    def _checked_components(self, components):
        components = check_array(
            on_host(components), dtype=np.float64, input_name="components"
        )
        n_features = self.n_features if self.axes is None else self.axes.shape[1]
        if components.shape[1] != n_features:
            raise ValueError(
                f"components must have {n_features} columns, one per feature, got "
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
            Their weights; those of a class must add up to at least 1 with those before.

        Returns
        -------
        ClassStatistics
            This object, updated.

        Raises
        ------
        ValueError
            If X or y is malformed or has another number of features.
        """
        merged = self._with_samples(X, y, sample_weight)
        vars(self).update(vars(merged))
        return self

    def _with_samples(self, X, y, sample_weight=None):
        """Statistics of these samples and new ones."""
        self._check_sample_covariances("added")
        prepare = None if self.axes is None else InAxes(self.axes)
        new = sums_of_samples(X, y, sample_weight, prepare)
        check_alike(self, new)
        return self._merged(new)

    def __add__(self, other):
        """Statistics of the union of two sets of samples, where these ones lie."""
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        self._check_addition(other)
        for part in (self, other):
            part._check_sample_covariances("added")
        return self._merged(other)

    def _check_sample_covariances(self, what):
        if self.covariance_estimator is not None:
            raise ValueError(
                f"Statistics can be {what} only if their covariances are sample "
                "covariances, not estimates of covariance_estimator="
                f"{self.covariance_estimator!r}."
            )

    def _merged(self, *others):
        """Statistics of the union of several sets of samples, without checks."""
        total = ClassSums(self)
        for other in others:
            total.add(other, check=False)
        return statistics_of_sums(total, self.axes)

    def _sums(self):
        """Label, count, mean and scatter of one class after another."""
        counts = self.counts.tolist()
        for k, label in enumerate(self.classes.tolist()):
            scatter = (counts[k] - 1) * self.covariances[k, ...]
            yield label, counts[k], self.means[k, ...], scatter

    def _check_addition(self, other):
        if (self.means is None) != (other.means is None):
            raise ValueError(
                "Statistics that hold second moments only can be added to others of "
                "that kind only. ClassStatistics.from_second_moments(s.classes, "
                "s.counts, s.second_moments) converts other statistics s."
            )
        check_alike(self, other)
        if not np.array_equal(self.axes, other.axes):
            raise ValueError(
                "Statistics in axes can be added only if they have the same axes."
            )

    def __radd__(self, other):
        """The statistics themselves if ``other`` is 0, the start value of ``sum``."""
        if not (isinstance(other, int) and other == 0):
            return NotImplemented
        return copy(self)

    def _moved(self, convert):
        """The same statistics, with arrays that lie elsewhere."""
        return self._with(
            means=convert(self.means), covariances=convert(self.covariances)
        )

    # For scikit-learn's move_estimator_to.
    def __sklearn_array_api_convert__(self, converter):
        return self._moved(converter)

    def _beside(self, array):
        """The same statistics, of the library and on the device of an array."""
        if namespace(array) is np is namespace(self.means):
            return self
        return self._moved(partial(like, model=array))

    def __repr__(self):
        features = f"{self.n_features} features"
        if self.axes is not None:
            features = "{} axes of {} features".format(*self.axes.shape)
        return (
            f"{type(self).__name__}({len(self.classes)} classes, {features}, "
            f"{self.counts.sum()} samples)"
        )


def make_statistics(*arrays):
    """Statistics of valid classes, counts, means and covariances."""
    return ClassStatistics._make(*arrays)


def statistics_of_sums(sums, axes=None):
    """Statistics of the sums of samples, or of their coordinates in axes."""
    return make_statistics(*sums.arrays(), None, axes, sums.feature_names_in_)


def checked_statistics(statistics):
    """The ClassStatistics, on the host unless arrays of their library are dispatched.

    Raises
    ------
    TypeError
        If they are something else.
    """
    if not isinstance(statistics, ClassStatistics):
        raise TypeError(
            "statistics must be a ClassStatistics, made for example by "
            f"ClassStatistics.from_data(X, y), got {type(statistics).__name__}."
        )
    if namespace(statistics.means) is np or is_dispatched(statistics.means):
        return statistics
    return statistics._moved(to_numpy)


def closed_form_shrinkage(covariances, counts):
    """The intensities of ``ClassStatistics.shrunk(None)``, (n_classes,)."""
    xp, degrees = namespace(covariances), counts - 1.0
    weights = degrees / max(degrees.sum(), 1)
    pooled = xp.tensordot(like(weights, covariances), covariances, axes=1)
    trace = float(xp.linalg.trace(pooled)) or 1.0
    # In units of the trace, so that very small or large numbers stay in range.
    error = 1 + _square_norm(pooled / trace)
    squares = [
        _square_norm((covariances[k, ...] - pooled) / trace)
        for k in range(len(degrees))
    ]
    excess = degrees @ squares - (len(degrees) - 1) * error
    # The mean of the excess is D times this.
    divisor = degrees @ (1 - weights)
    scatter = excess / divisor if divisor > 0 else 0.0
    # W is not worth more samples than it is made of.
    scatter = max(scatter, error / max(degrees.sum(), 1))
    return error / (error + degrees * scatter)


def _square_norm(matrix):
    xp = namespace(matrix)
    flat = xp.reshape(matrix, (-1,))
    return float(xp.vecdot(flat, flat))


class _SecondMoments(ClassStatistics):
    """Statistics that hold counts and second moments only."""

    def shrunk(self, shrinkage=None):
        raise ValueError(
            "Statistics can be shrunk only if they hold covariances, not second "
            "moments only."
        )

    def _moved(self, convert):
        return self  # always on the host

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
        new = new._moved(to_numpy)
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
        classes = union_of_classes(self.classes, other.classes)
        counts = np.zeros(len(classes), dtype=np.result_type(self.counts, other.counts))
        sums = np.zeros((len(classes), *self._second_moments.shape[1:]))
        for part in (self, other):
            k = np.searchsorted(classes, part.classes.astype(classes.dtype))
            counts[k] += part.counts
            sums[k] += part.counts[:, None, None] * part._second_moments
        return self._make(classes, counts, sums / counts[:, None, None])

    def __radd__(self, other):
        if not (isinstance(other, int) and other == 0):
            return NotImplemented
        return copy(self)


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
    fitted = clone(estimator, safe=False)  # a copy if it is no scikit-learn estimator
    fitted.fit(samples)
    if not hasattr(fitted, "covariance_"):
        raise ValueError("it has no attribute covariance_ after fit.")
    return fitted.covariance_


def _checked_matrices(matrices, name, shape_of_means=None):
    """A float64 copy of semidefinite matrices, exactly symmetric."""
    matrices = check_array(
        on_host(matrices), dtype=np.float64, allow_nd=True, input_name=name
    )
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
    classes = column_or_1d(np.asarray(on_host(classes)))
    counts = column_or_1d(np.asarray(on_host(counts)))
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


def _coordinates(components, axes):
    """Those of filters, in rows, in axes that span them."""
    coordinates = components @ axes.T
    outside = np.linalg.norm(components - coordinates @ axes, axis=1)
    # Filters may be in float32.
    far = outside > 1e-5 * np.linalg.norm(components, axis=1)
    if far.any():
        raise ValueError(
            f"Row {np.argmax(far)} of components is not in the span of the axes of "
            "these statistics. Use filters learnt from them, or more axes."
        )
    return coordinates


def _projected(means, matrices, components):
    """Means and matrices, such as covariances, of ``X @ components.T``."""
    projected, products, _ = projected_classes(means, matrices, 0.0)(components.T)
    return like(projected, matrices), like(products, matrices)
