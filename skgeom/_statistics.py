"""Class-conditional means and covariances: from data, in pieces, merged, projected."""

from contextlib import nullcontext
from copy import copy, deepcopy
from functools import partial, reduce
from itertools import zip_longest
from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import gen_batches
from sklearn.utils.validation import _num_samples, column_or_1d

from skgeom.objectives import (
    ClassMoments,
    StructuredCovariances,
    plus_outer_products,
)
from skgeom.utils._dask import map_row_blocks, merged, naming_block
from skgeom.utils.array_api import (
    has_float64,
    in_double,
    is_by_numpy,
    is_dask,
    is_dispatched,
    like,
    namespace,
    on_cpu,
    take,
    to_numpy,
)
from skgeom.utils.estimator import get_feature_names
from skgeom.utils.linalg import leading_eigenvectors, project
from skgeom.utils.validation import (
    check_array,
    check_semidefinite,
    check_symmetric,
    checked_samples,
    kind_of,
    memory,
    require_memory,
    union_of_classes,
)

# The estimators of pyriemann.geometry.covariance that estimate a covariance.
# The M-estimators "hub", "stu" and "tyl" are excluded: they estimate a covariance up to
# a factor, and distances between Gaussians compare covariances with mean differences.
_ESTIMATOR_NAMES = ("cov", "lwf", "mcd", "oas", "sch", "scm")

# Rows copied to float64 at a time: 128 take 1.7 times the time, and 32,768 as long
# (statistics of MNIST, benchmarks/bench_constants.py).
ROWS_PER_BLOCK = 2048

# Sums of squares in this range have all digits, and can be added over classes.
_RANGE = np.finfo(np.float64)
_SMALLEST, _LARGEST = _RANGE.tiny, _RANGE.eps * _RANGE.max


class ClassStatistics:
    r"""Counts, means and covariances of the classes of labeled data.

    ``fit_statistics`` of :class:`SQFA`, :class:`SecondMomentSQFA` and
    :class:`GaussianClassifier`, and :func:`bayes_error`, require only these statistics.
    Statistics of parts of the data can be merged in any order: ``a + b``,
    ``merge(parts)`` and ``a.update(X, y)`` equal the statistics of all data up to
    rounding.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        The distinct labels, in any order; they are sorted.
    counts : array-like of shape (n_classes,)
        Number of samples of each class, or the sum of their weights, at least 1.
    means : array-like of shape (n_classes, n_features)
        Mean :math:`\gamma_i` of each class.
    covariances : array-like of shape (n_classes, n_features, n_features), or tuple
        Covariance :math:`\Phi_i` of each class. Merging assumes unbiased estimates
        (divided by count - 1). Structured covariances are never formed as arrays, and
        cannot be merged. An array of shape (n_classes, n_blocks, d, d) defines
        block-diagonal covariances of n_blocks * d features. A tuple ``(diagonal,
        factors)`` defines low rank plus diagonal covariances
        :math:`D_i + A_i^\top A_i`, with the diagonals of :math:`D_i`, of shape
        (n_classes, n_features), or blocks of :math:`D_i`, and factors :math:`A_i`, of
        shape (n_classes, r, n_features), not copied if they are C-contiguous in
        float64. Objectives equal those of arrays up to rounding; filters equal to 1e-8
        require ``tol=1e-13``. See the :ref:`user guide <structured>`.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The labels in sorted order.
    counts : ndarray of shape (n_classes,)
        Number of samples of each class, or the sum of their weights.
    means : ndarray of shape (n_classes, n_features), float64
        Mean of each class. With scikit-learn's ``array_api_dispatch``, means have the
        namespace and device of the samples.
    covariances : ndarray of shape (n_classes, n_features, n_features), float64
        Covariance of each class, with the namespace and device of the means.
        Structured covariances cannot be converted to an array.
    axes : ndarray of shape (n_axes, n_features) or None
        The orthonormal axes of statistics in fewer dimensions, see ``n_axes``. Means
        and covariances then belong to the ``n_axes`` features ``X @ axes.T``.
    covariance_estimator : None, str or object
        Estimator of the covariances, as in :meth:`from_data`; None for sample
        covariances, "shrunk" after :meth:`shrunk`, and "given" if a class of one sample
        was given a covariance.
    feature_names_in_ : ndarray of shape (n_features,) or None
        The names of the columns of X, if X is a data frame with string names. Adding
        statistics of different names raises a ValueError. If one summand has no names,
        its columns must be in the order of the names of the other summand.

    Raises
    ------
    ValueError
        If shapes do not match, labels repeat, counts are below 1, numbers are not
        finite, or covariances are not symmetric or have negative eigenvalues.

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

    Add the statistics of two parts:

    >>> first = ClassStatistics.from_data(X[::2], y[::2])
    >>> whole = first + ClassStatistics.from_data(X[1::2], y[1::2])
    >>> bool(np.allclose(whole.covariances, statistics.covariances))
    True
    """

    def __init__(self, classes, counts, means, covariances):
        means = check_array(on_cpu(means), dtype=np.float64, input_name="means")
        covariances = _checked_matrices(covariances, "covariances", means.shape)
        classes, counts, order = _checked_labels(classes, counts, len(means))
        covariances, single = covariances[order], counts <= 1
        if not isinstance(covariances, StructuredCovariances):
            single = covariances[single]
        # One sample has no sample covariance.
        estimator = "given" if single.any() else None
        self._set(
            classes,
            counts,
            means[order],
            covariances,
            covariance_estimator=estimator,
        )

    def _set(
        self,
        classes,
        counts,
        means,
        matrices,
        remainders=None,
        axes=None,
        covariance_estimator=None,
        feature_names_in_=None,
    ):
        """Set the state; ``means`` is None if the matrices are second moments.

        The matrix of a class is its scatter, divided by its degrees of freedom. The
        remainders are the rounding errors of the means, or None.
        """
        self.classes = classes
        self.counts = counts
        self.means = means
        self._matrices = matrices
        self._remainders = remainders
        self.axes = axes
        self.covariance_estimator = covariance_estimator
        self.feature_names_in_ = feature_names_in_

    def _with(self, **changes):
        """The same statistics with changes."""
        other = copy(self)
        vars(other).update(changes)
        return other

    @classmethod
    def empty(cls):
        """Return statistics with zero samples: ``empty() + a`` is ``a``.

        Returns
        -------
        ClassStatistics
            Statistics without classes. A sum has the features of the second summand.

        Examples
        --------
        >>> from skgeom import ClassStatistics
        >>> sum([], ClassStatistics.empty())
        ClassStatistics(0 classes, 0 features, 0 samples)
        """
        labels, means = np.empty(0), np.empty((0, 0))
        return make_statistics(labels, np.zeros(0, int), means, np.empty((0, 0, 0)))

    @classmethod
    def from_data(
        cls, X, y, covariance_estimator=None, *, sample_weight=None, n_axes=None
    ):
        """Compute the statistics of labeled samples.

        The rows of each class are copied and multiplied in blocks, so the additional
        memory is one block. Sums are computed in float64 for every dtype of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Labels of the samples.
        covariance_estimator : None, str, or object, default=None
            None for the sample covariance; the name of an estimator of
            ``pyriemann.geometry.covariance``, one of ``"cov"``, ``"lwf"``, ``"mcd"``,
            ``"oas"``, ``"sch"`` and ``"scm"``; or an object whose ``fit(X)`` sets
            ``covariance_``, such as ``sklearn.covariance.LedoitWolf()``, which is
            copied for each class. Only sample covariances can be merged later.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples: a weight of 2 counts a sample twice, a weight of 0
            excludes it. The weights of each class must add up to more than 1 if its
            samples differ.
        n_axes : int, default=None
            If given, the statistics are computed in the leading principal axes of all
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
            If the covariances do not fit in memory.
        """
        if is_by_numpy(X):
            options = {"sample_weight": sample_weight, "n_axes": n_axes}
            found = cls.from_data(to_numpy(X), y, covariance_estimator, **options)
            return found.__sklearn_array_api_convert__(partial(like, model=X))
        if covariance_estimator is not None and (n_axes is not None or is_dask(X)):
            raise ValueError(
                "Statistics of blocks and of n_axes need sample covariances, "
                f"covariance_estimator=None, but {covariance_estimator=!r}."
            )

        def read(*options):
            return _read(X, y, sample_weight, covariance_estimator, *options)

        return read() if n_axes is None else _in_leading_axes(n_axes, read)

    @classmethod
    def from_blocks(cls, blocks, *, n_axes=None):
        """Compute the statistics of samples in blocks.

        One block at a time is in memory, so the blocks may come from a file, a database
        or a generator. The result equals the statistics of all samples up to rounding,
        for any order and sizes of blocks.

        If the covariances of all classes do not fit in memory, use ``n_axes`` for fewer
        dimensions: a first pass over the blocks computes the principal axes of all
        samples, and a second pass the statistics of ``X @ axes.T``.

        Parameters
        ----------
        blocks : iterable of (X, y) or (X, y, sample_weight), or callable
            Samples as in :meth:`from_data`, or a function without parameters that
            returns such an iterable. A block may lack classes, may be empty, and may
            have any weights; the weights of each class must add up to more than 1 over
            all blocks if its samples differ. Data frames must have their columns in the
            same order.
        n_axes : int, default=None
            Number of leading principal axes to keep. The blocks are then read twice:
            pass a function that returns a new generator instead of a generator.

        Returns
        -------
        ClassStatistics
            The statistics of all samples.

        Raises
        ------
        ValueError
            If a block is malformed (the message contains its number, counted from 0);
            if blocks differ in their features or in the type of their labels; if there
            are no samples; or if ``n_axes`` is given and blocks can be read only once.
        MemoryError
            If the covariances do not fit in memory.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skgeom import ClassStatistics
        >>> X, y = load_digits(return_X_y=True)
        >>> blocks = ((X[i : i + 500], y[i : i + 500]) for i in range(0, len(X), 500))
        >>> ClassStatistics.from_blocks(blocks)
        ClassStatistics(10 classes, 64 features, 1797 samples)

        In fewer dimensions; the filters still act on the 64 features:

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
                "n_axes needs two passes over the blocks, but the blocks can be read "
                "only once. Pass a list, or a function that returns a new generator."
            )
        read = partial(_read_blocks, blocks)
        return read() if n_axes is None else _in_leading_axes(n_axes, read)

    @classmethod
    def from_second_moments(cls, classes, counts, second_moments):
        r"""Create statistics that contain second moments about the origin only.

        Second moments suffice for :class:`SecondMomentSQFA`. ``means`` and
        ``covariances`` are None.

        Parameters
        ----------
        classes : array-like of shape (n_classes,)
            The distinct labels.
        counts : array-like of shape (n_classes,)
            Number of samples of each class, at least 1.
        second_moments : array-like of shape (n_classes, n, n) or tuple
            The mean :math:`\Psi_i` of :math:`x x^\top` over the samples of each class.
            They may be structured, like ``covariances`` of :class:`ClassStatistics`.

        Returns
        -------
        ClassStatistics
            Statistics without means and covariances.

        Raises
        ------
        ValueError
            If shapes do not match, labels repeat, counts are below 1, numbers are not
            finite, or matrices are not symmetric or have negative eigenvalues.
        """
        second_moments = _checked_matrices(second_moments, "second_moments")
        classes, counts, order = _checked_labels(classes, counts, len(second_moments))
        return make_statistics(classes, counts, None, second_moments[order])

    @classmethod
    def merge(cls, parts):
        """Merge the statistics of several sets of samples.

        Parameters
        ----------
        parts : iterable of ClassStatistics
            Statistics with sample covariances and the same features. A part may lack
            classes, may be empty, and may have weights that add up to less than 1.

        Returns
        -------
        ClassStatistics
            Statistics with the namespace and device of the first part; empty if there
            are no parts.

        Raises
        ------
        ValueError
            If parts have different features or axes, or labels of different kinds, or
            covariances that are not sample covariances.

        Examples
        --------
        >>> import numpy as np
        >>> from skgeom import ClassStatistics
        >>> X, y = np.arange(12.0).reshape(6, 2), [0, 0, 0, 1, 1, 1]
        >>> parts = [ClassStatistics.from_data(X[i::3], y[i::3]) for i in range(3)]
        >>> ClassStatistics.merge(parts)
        ClassStatistics(2 classes, 2 features, 6 samples)
        """
        total = cls.empty()
        for part in parts:
            total = total + part
        return total

    @property
    def covariances(self):
        """Covariance of each class; None if there are second moments only.

        Raises
        ------
        ValueError
            If the sum of the weights of a class is too small for a covariance.
        """
        if self.means is None:
            return None
        is_sample = self.covariance_estimator is None
        for k in np.flatnonzero((self.counts <= 1) & is_sample):
            # Without a degree of freedom, a scatter is no covariance.
            if namespace(self.means).any(self._matrices[int(k), ...]):
                raise ValueError(
                    f"The weight of class {self.classes[k]} adds up to "
                    f"{self.counts[k]:.3g}, but a weight counts samples: those of each "
                    "class must add up to more than 1 if its samples differ. Multiply "
                    "sample_weight by a constant, such as n_samples / its sum. After "
                    "decay, exclude classes without recent samples, for statistics s "
                    "by s.of_classes(s.classes[s.counts > 1])."
                )
        return self._matrices

    @property
    def n_features(self):
        """Number of features of the means and covariances."""
        return self._matrices.shape[-1]

    @property
    def second_moments(self):
        r"""Second-moment matrices :math:`\Psi_i = \Phi_i + \gamma_i \gamma_i^\top`."""
        if self.means is None:
            return self._matrices
        if isinstance(self._matrices, StructuredCovariances):
            return self._matrices.plus(self.means, np.eye(len(self.means)))
        return self.covariances + self.means[:, :, None] * self.means[:, None, :]

    def pooled_covariances(self):
        """Within-class and total covariance, with the classes weighted by counts.

        Each class has the weight count / n_samples. The within-class covariance is the
        weighted mean of ``covariances``; the total covariance adds the weighted
        covariance of the class means.

        Returns
        -------
        within : ndarray of shape (n_features, n_features)
            Weighted mean of the class covariances. Structured covariances of more than
            1,000 features remain structured.
        total : ndarray of shape (n_features, n_features)
            The within-class covariance plus the weighted covariance of the class means.
        """
        matrices = self._matrices if self.means is None else self.covariances
        weights = like(self.counts / self.counts.sum(), matrices)
        if isinstance(matrices, StructuredCovariances):
            within = matrices.mean(weights)
            if self.n_features <= 1000:  # 8 MB
                within = within @ np.eye(self.n_features)
        else:
            within = namespace(matrices).tensordot(weights, matrices, axes=1)
        if self.means is None:
            return within, within
        offsets = self.means - weights @ self.means
        return within, plus_outer_products(within, offsets, weights)

    def shrunk(self, shrinkage=None):
        r"""Shrink the class covariances towards the within-class covariance.

        The covariance :math:`S_i` of a class of :math:`n_i` samples becomes
        :math:`(1 - \rho_i) S_i + \rho_i W`, where W is the mean of all covariances,
        weighted by :math:`n_i - 1`.

        Parameters
        ----------
        shrinkage : None, float or array-like of shape (n_classes,), default=None
            The intensities :math:`\rho_i`, from 0 to 1, for all classes or for each
            class. None computes the intensities from the statistics:

            .. math::

               \rho_i = \frac{q}{n_i - 1 + q}, \qquad
               q = \frac{\operatorname{tr} W^2 + (\operatorname{tr} W)^2}{D}

            as if W were the covariance of q additional samples. These intensities
            minimize the mean square error in the Frobenius norm, if the classes are
            Gaussian and their true covariances have the mean square distance D from W:
            the numerator of q, divided by :math:`n_i - 1`, is the mean square error of
            :math:`S_i` if all true covariances are equal. The method of moments
            estimates D, as a variance between groups [1]_; q is at most the sum of all
            :math:`n_i - 1`. The intensities depend on the units of single features.

        Returns
        -------
        ClassStatistics
            The same classes, counts and means. Shrunk statistics cannot be merged.

        Raises
        ------
        ValueError
            If the statistics contain second moments only, or covariances that are not
            sample covariances, or if ``shrinkage`` has a wrong shape or a number below
            0 or above 1.

        References
        ----------
        .. [1] R. DerSimonian and N. Laird, "Meta-analysis in clinical trials",
           Controlled Clinical Trials 7, 1986.

        Examples
        --------
        The covariance of a class of three samples becomes nearly the covariance of the
        large class:

        >>> import numpy as np
        >>> from skgeom import ClassStatistics
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(103, 5)), np.repeat([0, 1], [100, 3])
        >>> shrunk = ClassStatistics.from_data(X, y).shrunk()
        >>> bool(np.linalg.eigvalsh(shrunk.covariances[1])[0] > 0.5)
        True
        """
        self._check_sample_covariances("shrunk")
        if self.means is None:
            raise ValueError(
                "Statistics can be shrunk only if they hold covariances, not second "
                "moments only."
            )
        covariances, n_classes = self.covariances, len(self.classes)
        if shrinkage is None:
            shrinkage = closed_form_shrinkage(covariances, self.counts)
        shrinkage = np.asarray(on_cpu(shrinkage), dtype=np.float64)
        inside = np.all((shrinkage >= 0) & (shrinkage <= 1))
        if shrinkage.shape not in ((), (n_classes,)) or not inside:
            raise ValueError(
                "shrinkage must be None, a number from 0 to 1, or one for each of the "
                f"{n_classes} classes, got {shrinkage}."
            )
        intensities = np.broadcast_to(shrinkage, n_classes)
        intensities = like(intensities.copy(), covariances)[:, None, None]
        pooled, _ = _pooled(covariances, self.counts)
        return self._with(
            _matrices=covariances + intensities * (pooled - covariances),
            covariance_estimator="shrunk",
        )

    def project(self, components):
        """Compute the statistics of the linear features ``X @ components.T``.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features)
            The filters, one per row, of the features of X, also if these statistics
            have ``axes``.

        Returns
        -------
        ClassStatistics
            Statistics with ``n_components`` features and without axes.

        Raises
        ------
        ValueError
            If ``components`` does not have ``n_features`` columns, or if a filter is
            not in the span of the ``axes``.
        """
        components = check_array(
            on_cpu(components), dtype=np.float64, input_name="components"
        )
        n_features = self.n_features if self.axes is None else self.axes.shape[1]
        if components.shape[1] != n_features:
            raise ValueError(
                f"components must have {n_features} columns, one per feature, got "
                f"shape {components.shape}."
            )
        if self.axes is not None:
            components = _coordinates(components, self.axes)
        matrices, means = self._matrices, self.means
        given = np.zeros(matrices.shape[:2]) if means is None else means
        projected, products, _ = ClassMoments(given, matrices, 0.0)(components.T)
        return make_statistics(
            self.classes,
            self.counts,
            None if means is None else like(projected, matrices),
            like(products, matrices),
            covariance_estimator=self.covariance_estimator,
        )

    def of_classes(self, classes):
        """Select classes.

        Parameters
        ----------
        classes : array-like of shape (n_selected,)
            Labels of the classes to keep, in any order.

        Returns
        -------
        ClassStatistics
            Copies of the statistics of these classes.

        Raises
        ------
        ValueError
            If the statistics lack a class.

        Examples
        --------
        >>> from skgeom import ClassStatistics
        >>> statistics = ClassStatistics.from_data([[0.0], [2.0], [3.0]], [0, 0, 1])
        >>> statistics.of_classes(statistics.classes[statistics.counts > 1])
        ClassStatistics(1 classes, 1 features, 2 samples)
        """
        rows = np.unique(_rows_of_labels(self, column_or_1d(on_cpu(classes))))
        if not len(rows):
            return ClassStatistics.empty()
        if rows[0] < 0:
            raise ValueError(
                f"classes must be labels of these statistics, {self.classes}, but are "
                f"{classes}. Remove the other labels."
            )
        names = "means", "_remainders", "_matrices", "classes", "counts"
        arrays = {k: v for k, v in vars(self).items() if k in names and v is not None}
        return self._with(**{name: take(v, rows) for name, v in arrays.items()})

    def decay(self, factor):
        """Reduce the weights of the samples.

        For data that change over time, ``statistics = statistics.decay(0.9) + batch``
        in a loop computes exponentially weighted statistics: the last batch has the
        weight 1, the previous batch 0.9, and so on. :meth:`of_classes` excludes classes
        without recent samples, whose counts become too small for a covariance.

        Parameters
        ----------
        factor : float
            Factor of all weights; above 0, and at most 1.

        Returns
        -------
        ClassStatistics
            Statistics with the same means, counts times ``factor``, and the covariances
            for the new counts. Classes whose count falls below 2.2e-16 are removed:
            they are lost to rounding when a sample is added.

        Raises
        ------
        ValueError
            If ``factor`` is out of range, or if the covariances are not sample
            covariances.

        Examples
        --------
        >>> from skgeom import ClassStatistics
        >>> old = ClassStatistics.from_data([[0.0], [2.0], [3.0], [5.0]], [0, 0, 1, 1])
        >>> new = ClassStatistics.from_data([[8.0], [9.0], [3.0], [5.0]], [0, 0, 1, 1])
        >>> (old.decay(0.5) + new).means
        array([[6.],
               [4.]])
        """
        if not (isinstance(factor, Real) and 0 < factor <= 1):
            raise ValueError(f"factor must be a number in (0, 1], got {factor!r}.")
        self._check_sample_covariances("decayed")
        found = reweighted(self, factor)
        return found.of_classes(found.classes[found.counts >= np.finfo(float).eps])

    def update(self, X, y, sample_weight=None):
        """Add samples to these statistics, in place.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples, which may belong to new classes.
        y : array-like of shape (n_samples,)
            Labels of the samples.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; the weights of each class must add up to more than 1
            if its samples differ, including earlier samples.

        Returns
        -------
        ClassStatistics
            This object, updated.

        Raises
        ------
        ValueError
            If X or y is malformed, or if the number of features differs.
        """
        self._check_sample_covariances("added")
        new = _read(X, y, sample_weight, None, self.axes)
        if self.means is None:
            new = _second_moments_of(new)
        vars(self).update(vars(self + new))
        return self

    def __add__(self, other):
        """Statistics of the union of two sets of samples, on the first device."""
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        if not len(self.classes) or not len(other.classes):
            return deepcopy(self if len(self.classes) else other)
        _check_addition(self, other)
        return _combined(self, other)

    def __radd__(self, other):
        """The statistics themselves if ``other`` is 0, the start value of ``sum``."""
        if not (isinstance(other, int) and other == 0):
            return NotImplemented
        return deepcopy(self)

    def _check_sample_covariances(self, what):
        if self.covariance_estimator is not None:
            raise ValueError(
                f"Statistics can be {what} only if their covariances are sample "
                "covariances, not estimates of covariance_estimator="
                f"{self.covariance_estimator!r}."
            )

    # For scikit-learn's move_estimator_to.
    def __sklearn_array_api_convert__(self, converter):
        if self.means is None:
            return self  # always in CPU memory
        remainders = self._remainders
        return self._with(
            means=converter(self.means),
            _matrices=converter(self._matrices),
            _remainders=None if remainders is None else converter(remainders),
        )

    def to_dict(self):
        """Convert the statistics to lists, numbers and strings, for example for JSON.

        Returns
        -------
        dict
            The entries that :meth:`save` lists, with lists instead of arrays. ``json``
            stores the numbers exactly.

        Examples
        --------
        >>> import json
        >>> from skgeom import ClassStatistics
        >>> statistics = ClassStatistics.from_data([[0.1], [0.3]], ["a", "a"])
        >>> text = json.dumps(statistics.to_dict())
        >>> ClassStatistics.from_dict(json.loads(text)).means
        array([[0.2]])
        """
        state = _state(self)
        if not {*map(type, state["classes"].tolist())} <= {bool, int, float, str}:
            raise ValueError(
                f"Labels of dtype {self.classes.dtype} cannot be stored in JSON. "
                "Convert them to text or to integers, or use save."
            )
        return {name: np.asarray(value).tolist() for name, value in state.items()}

    @classmethod
    def from_dict(cls, state):
        """Restore statistics from the result of :meth:`to_dict`.

        Parameters
        ----------
        state : dict
            The entries that :meth:`save` lists.

        Returns
        -------
        ClassStatistics
            Statistics that equal the stored statistics exactly.

        Raises
        ------
        ValueError
            If ``state`` is malformed, or has a later version of the format.
        """
        try:
            return _statistics_of_state(state)
        except Exception as error:
            raise ValueError(f"No valid state of statistics: {error}") from error

    def save(self, path):
        """Write the statistics to a file, as a NumPy archive (npz) without pickle.

        The entries of the archive are

        - ``format``: the text "skgeom.ClassStatistics"; ``version``: 1; ``entries``:
          the names of all entries;
        - ``classes``, (c,), sorted, and ``labels``: their dtype as text, "O" for texts
          that are Python objects; ``counts``, (c,): sums of weights;
        - ``matrices``, (c, n, n): scatters about the means, divided by count - 1 where
          the count is above 1; or second moments, if there are no means;
        - ``means`` and ``remainders``, (c, n): their sum is the mean in twice the
          precision of float64;
        - ``axes``, (n, n_features); ``covariance_estimator``, a text;
          ``feature_names_in_``, (n_features,).

        Entries that are None are omitted.

        Parameters
        ----------
        path : str, path-like or binary file
            The path, whose file is overwritten if it exists, or an open file.

        Examples
        --------
        >>> import tempfile, os
        >>> from skgeom import ClassStatistics
        >>> statistics = ClassStatistics.from_data([[0.1], [0.3]], ["a", "a"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "statistics.npz")
        ...     statistics.save(path)
        ...     ClassStatistics.load(path)
        ClassStatistics(1 classes, 1 features, 2 samples)
        """
        state = _state(self)  # an error leaves the file as it is
        with _opened(path, "wb") as file:
            np.savez(file, **state)

    @classmethod
    def load(cls, path):
        """Load statistics from a file of :meth:`save`.

        Parameters
        ----------
        path : str, path-like or binary file
            The path, or an open file.

        Returns
        -------
        ClassStatistics
            Statistics that equal the stored statistics exactly, in NumPy arrays.

        Raises
        ------
        ValueError
            If the file is truncated, or has a different format or a later version.
        """
        with _opened(path, "rb") as file:
            try:
                with np.load(file) as archive:
                    state = {name: archive[name] for name in archive.files}
                return _statistics_of_state(state)
            except Exception as error:  # many types, depending on the damage
                if "pickle" in str(error):  # NumPy advises to load them
                    error = "it contains pickled objects."
                raise ValueError(
                    f"{path} is not a complete file of ClassStatistics.save: {error}"
                ) from None

    def __repr__(self):
        features = f"{self.n_features} features"
        if self.axes is not None:
            features = "{} axes of {} features".format(*self.axes.shape)
        return (
            f"{type(self).__name__}({len(self.classes)} classes, {features}, "
            f"{self.counts.sum()} samples)"
        )


def make_statistics(classes, counts, means, matrices, **state):
    """Statistics of valid arrays, as for ``ClassStatistics._set``."""
    statistics = ClassStatistics.__new__(ClassStatistics)
    statistics._set(classes, counts, means, matrices, **state)
    return statistics


def statistics_of_samples(X, y, sample_weight=None, covariance_estimator=None):
    """Statistics of valid samples."""
    if is_by_numpy(X) or not has_float64(X):
        found = statistics_of_samples(
            to_numpy(X), y, sample_weight, covariance_estimator
        )
        return found.__sklearn_array_api_convert__(partial(like, model=X))
    if sample_weight is not None and covariance_estimator is not None:
        raise ValueError(
            "sample_weight needs sample covariances, covariance_estimator="
            f"None, but covariance_estimator={covariance_estimator!r}."
        )
    classes, rows = _rows_of_classes(y)
    _check_memory(len(classes), X.shape[1])
    if covariance_estimator is None:
        of_classes = (
            _moments_of_class(X, own, label, sample_weight)
            for own, label in zip(rows, classes, strict=True)
        )
        moments = _joined(*of_classes)
        check_underflow(_sum_of_squares(*moments[1::2]), X)
        return _statistics_of_moments(classes, moments)
    parts = [in_double(to_numpy(take(X, own))) for own in rows]
    means = np.stack([part.mean(axis=0) for part in parts])
    covariances = np.stack(
        [
            _estimated_covariance(covariance_estimator, part, label)
            for part, label in zip(parts, classes, strict=True)
        ]
    )
    check_underflow(np.einsum("cii->", covariances) + np.square(means).sum(), X)
    counts = np.array([len(own) for own in rows])
    return make_statistics(
        classes, counts, means, covariances, covariance_estimator=covariance_estimator
    ).__sklearn_array_api_convert__(partial(like, model=X))


def reweighted(statistics, factors):
    """Statistics of samples with all weights times a factor, or one for each class."""
    counts = factors * statistics.counts
    degrees = [_degrees(statistics, n) for n in (statistics.counts, counts)]
    scales = np.broadcast_to(factors * degrees[0] / degrees[1], counts.shape)
    matrices = like(scales, statistics._matrices)[:, None, None] * statistics._matrices
    return statistics._with(counts=counts, _matrices=matrices)


def without(total, part, kept, counts=None):
    """Statistics of the samples of ``total`` that are not in ``part``.

    Only the classes of the mask ``kept`` remain, with the given counts, or the sums of
    their weights. The covariance of a class is zero if its count is 1 or less.
    """
    found = _combined(total, part, sign=-1, kept=kept)
    if counts is not None:
        found = reweighted(found, counts / found.counts)
    single = like(np.where(found.counts > 1, 1.0, 0.0), found._matrices)
    return found._with(_matrices=single[:, None, None] * found._matrices)


def _combined(first, second, sign=1, kept=slice(None)):
    """Statistics of the samples of both, or of the first without the second."""
    classes = union_of_classes(first.classes, second.classes)[kept]
    _check_memory(len(classes), first.n_features)
    rows_first, rows_second = (_rows_of_labels(p, classes) for p in (first, second))
    in_first, in_second = rows_first >= 0, rows_second >= 0
    both = in_first & in_second
    moments = _combined_moments(
        _moments(first, 1, rows_first[both], first),
        _moments(second, sign, rows_second[both], first),
    )
    if not both.all():
        one, other = in_first & ~in_second, in_second & ~in_first
        alone = _moments(first, 1, rows_first[one], first)
        moments = _joined(
            moments, alone, _moments(second, sign, rows_second[other], first)
        )
        numbers = [np.flatnonzero(which) for which in (both, one, other)]
        order = np.argsort(np.concatenate(numbers))
        moments = [take(column, order) for column in moments]
    names = first.feature_names_in_
    return _statistics_of_moments(
        classes,
        moments,
        about_means=first.means is not None,
        axes=first.axes,
        feature_names_in_=second.feature_names_in_ if names is None else names,
    )


def _rows_of_labels(statistics, labels):
    """The row of each label in the arrays of statistics, -1 if there is none."""
    rows = {label: row for row, label in enumerate(statistics.classes.tolist())}
    return np.array([rows.get(label, -1) for label in labels.tolist()])


def _moments(statistics, sign, rows, model):
    """Moments of some classes, as for ``_combined_moments``, where the model is.

    A negative sign removes the samples.
    """
    means, matrices = statistics.means, statistics._matrices
    means = np.zeros(matrices.shape[:2]) if means is None else means
    remainders = statistics._remainders
    remainders = 0 * means if remainders is None else remainders
    arrays = means, remainders, matrices
    if len(rows) < len(statistics.classes):
        arrays = [take(array, rows) for array in arrays]
    means, remainders, matrices = (like(array, model._matrices) for array in arrays)
    degrees = sign * _degrees(statistics, statistics.counts)[rows]
    scatters = like(1.0 * degrees, matrices)[:, None, None] * matrices
    return sign * statistics.counts[rows], means, remainders, scatters


def _joined(*parts):
    """The moments of the classes of all parts."""
    parts = [part for part in parts if len(part[0])]
    if len(parts) == 1:
        return parts[0]
    counts, *arrays = zip(*parts, strict=True)
    xp = namespace(arrays[0][0])
    return np.concatenate(counts), *(xp.concat(column, axis=0) for column in arrays)


def _statistics_of_moments(classes, moments, about_means=True, **state):
    """Statistics of the moments of the classes, as for ``_combined_moments``."""
    counts, means, remainders, matrices = moments
    found = make_statistics(classes, counts, None, matrices, **state)
    if about_means:
        found.means, found._remainders = means, remainders
    matrices /= like(_degrees(found, 1.0 * counts), matrices)[:, None, None]
    return found


def _degrees(statistics, counts):
    """Divisors of scatters; divisors below one sample are kept as they are."""
    if statistics.means is None:
        return counts
    return np.where(counts > 1, counts - 1.0, 1.0)


def _second_moments_of(statistics):
    """Statistics of second moments only, in CPU memory, of the same samples."""
    statistics = statistics.__sklearn_array_api_convert__(to_numpy)
    means, counts = statistics.means, statistics.counts[:, None, None]
    scatters = _degrees(statistics, counts) * statistics._matrices
    moments = scatters / counts + means[:, :, None] * means[:, None]
    return statistics._with(means=None, _remainders=None, _matrices=moments)


# Moments


def _combined_moments(first, second):
    """The moments of two sets of samples together.

    Sets of n_a and n_b samples have the joint scatter

        S = S_a + S_b + n_a n_b / (n_a + n_b) d d',    d = mean_b - mean_a,

    (Chan, Golub and LeVeque, 1983). A negative n_b with a negative S_b removes samples.

    Parameters
    ----------
    first, second : tuple of arrays of shape (c,), (c, n), (c, n) and (c, n, n)
        Counts of the same classes; means, and their remainders, which are smaller than
        the rounding of the means; and scatters about the means. The scatters of
        ``first`` are changed.
    """
    n_a, mean_a, remainder_a, scatter = first
    n_b, mean_b, remainder_b, more = second
    count = n_a + n_b
    share = n_b / count
    share, weight = (like(v[:, None], mean_a) for v in (share, n_a * share))
    offset = (mean_b - mean_a) + (remainder_b - remainder_a)
    scatter += more
    scatter += (offset * weight)[:, :, None] * offset[:, None, :]
    # The sum of two numbers, and its rounding error (Knuth).
    change = remainder_a + offset * share
    mean = mean_a + change
    added = mean - mean_a
    remainder = (mean_a - (mean - added)) + (change - added)
    return count, mean, remainder, scatter


def _moments_of_class(X, rows, label, sample_weight=None):
    """The moments of the rows of X of a class, block by block.

    Each block is centered by its own mean, so that a large offset costs no digits.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        blocks = (rows[batch] for batch in gen_batches(len(rows), ROWS_PER_BLOCK))
        parts = (_moments_of_block(X, block, sample_weight) for block in blocks)
        moments = reduce(_combined_moments, parts)
        # One number bounds all entries: neither these sums of squares nor their later
        # sums over classes may overflow.
        if not _sum_of_squares(*moments[1::2]) < _LARGEST:
            raise ValueError(
                f"The squares of the numbers of class {label}, which are up to "
                f"{_largest(take(X, rows)):.3g}, are too large for floating-point "
                "numbers. Divide X by a common factor, or use StandardScaler."
            )
    return moments


def _moments_of_block(X, rows, sample_weight):
    block = _dense_rows(X, rows)
    if sample_weight is None:
        counts, weights = np.array([len(rows)]), None
    else:
        weights = sample_weight[rows]
        counts = weights.sum(keepdims=True)
    mean = _mean(block, weights)
    block -= mean
    # The mean of many equal numbers is not quite that number: center once more.
    error = _mean(block, weights)
    block -= error
    exact = mean + error
    remainder = (mean - exact) + error
    if weights is not None:
        block *= like(np.sqrt(weights), block)[:, None]
    return counts, exact[None, :], remainder[None, :], (block.T @ block)[None, ...]


def _mean(block, weights):
    xp = namespace(block)
    if weights is None:
        return xp.mean(block, axis=0)
    weights = weights / weights.sum()
    if xp is np:
        # BLAS would make it depend on the number of threads.
        return np.einsum("i,ij", weights, block)
    return like(weights, block) @ block


def _dense_rows(X, rows):
    """A copy of some rows, dense and in double precision."""
    if namespace(X) is np and not issparse(X) and X.flags.c_contiguous:
        # In a third less time than X[rows].
        return X.take(rows, axis=0).astype(np.float64, copy=False)
    part = take(X, rows)
    return in_double(part.toarray() if issparse(part) else part)


def _sum_of_squares(means, scatters):
    """The squares of samples, in part about the means."""
    xp = namespace(means)
    return float(xp.sum(xp.linalg.trace(scatters)) + xp.sum(xp.square(means)))


def check_underflow(squares, X):
    """Raise ValueError if the sum of all squares of X is lost."""
    if squares < _SMALLEST and _largest(X) > 0:
        raise ValueError(
            f"The squares of the numbers of X, which are up to {_largest(X):.3g}, "
            "are too small for floating-point numbers. Multiply X by a common factor, "
            "or use StandardScaler."
        )


def _largest(X):
    xp = namespace(X)
    if xp is np:
        return abs(X).max()  # sparse matrices have this, too
    return float(xp.max(xp.abs(X)))


def _check_memory(n_classes, n_features):
    """Raise MemoryError if the class covariances do not fit into memory."""
    entry = 8 * n_classes
    # Covariances in n_axes axes need at most an eighth of the memory.
    n_axes = max(int(min(np.sqrt(memory() / 8 / entry), n_features)), 1)
    require_memory(
        2 * entry * n_features**2,  # they are made of sums that take as much
        f"The covariances of {n_classes} classes of {n_features} features",
        f"ClassStatistics.from_blocks and from_data with n_axes={n_axes} need "
        f"{entry * n_axes**2 / 1e9:.2g} GB for covariances in the leading axes of the "
        "data; fit_statistics accepts them.",
    )


def _rows_of_classes(y):
    """The sorted labels, and the rows of each."""
    order = np.argsort(_of_few_bits(y), kind="stable")
    labels = y[order]
    starts = np.flatnonzero(labels[1:] != labels[:-1]) + 1
    return labels[np.append(0, starts)], np.split(order, starts)


def _of_few_bits(y):
    """Labels in the same order, in 16 bits if that is enough: these sort faster."""
    if y.dtype.kind in "iu":
        least, largest = int(y.min()), int(y.max())
        if largest - least < 2**16:
            return y.astype(np.uint16) - np.uint16(least % 2**16)  # modulo 2^16
    return y


# Reading


def statistics_of_block(
    number, X, y, sample_weight, axes=None, pooled=False, covariance_estimator=None
):
    """Statistics of the samples of a block, or of their coordinates in axes.

    Errors have the number of the block, if it is not None. If ``pooled``, all samples
    are of one class.
    """
    with naming_block(number):
        if y is not None and np.shape(y)[:1] == (0,) and _num_samples(X) == 0:
            return ClassStatistics.empty()
        names = get_feature_names(X)
        X, y, sample_weight = checked_samples(X, y, sample_weight, number is None)
        if not len(y):
            return ClassStatistics.empty()
        if axes is not None:
            if X.shape[1] != axes.shape[1]:
                raise ValueError(
                    f"X must have {axes.shape[1]} features, like the axes, got "
                    f"shape {X.shape}."
                )
            X = like(project(X, axes.T), X)
        y = np.zeros(len(y), dtype=int) if pooled else y
        found = statistics_of_samples(X, y, sample_weight, covariance_estimator)
        return found._with(axes=axes, feature_names_in_=names)


def _read(X, y, sample_weight, covariance_estimator=None, axes=None, pooled=False):
    """Statistics of samples in memory, or in a Dask array or frame."""
    if not is_dask(X):
        options = axes, pooled, covariance_estimator
        return statistics_of_block(None, X, y, sample_weight, *options)
    parts = map_row_blocks(statistics_of_block, X, y, sample_weight, axes, pooled)
    return merged(parts, ClassStatistics.merge).compute()


def _read_blocks(blocks, axes=None, pooled=False):
    """Statistics of the blocks of ``ClassStatistics.from_blocks``, one in memory."""
    total, number = ClassStatistics.empty(), 0
    for block in blocks() if callable(blocks) else blocks:
        if not isinstance(block, tuple | list) or len(block) not in (2, 3):
            length = f" of length {len(block)}" if hasattr(block, "__len__") else ""
            raise ValueError(
                "blocks must yield pairs (X, y) or triples (X, y, sample_weight), but "
                f"block {number} is of type {type(block).__name__}{length}."
            )
        weights = block[2] if len(block) == 3 else None
        part = statistics_of_block(number, *block[:2], weights, axes, pooled)
        # Nothing may hold the block while the next one is read; enumerate would.
        del block, weights
        with naming_block(number):
            total = total + part
        number += 1
    return total


def _in_leading_axes(n_axes, read):
    """Statistics in the leading axes of all samples, which are read twice.

    ``read(axes, pooled)`` computes the statistics as ``statistics_of_block``.
    """
    if not isinstance(n_axes, Integral) or n_axes < 1:
        raise ValueError(f"n_axes must be None or at least 1, got {n_axes!r}.")
    pooled = read(None, True)
    if not len(pooled.classes):
        return pooled
    if n_axes > pooled.n_features:
        raise ValueError(
            f"n_axes={n_axes} must not exceed the number of features: "
            f"n_features={pooled.n_features}."
        )
    axes = leading_eigenvectors(to_numpy(pooled._matrices)[0], n_axes)
    statistics = read(axes)
    if not np.isclose(statistics.counts.sum(), pooled.counts[0], rtol=1e-9, atol=0):
        raise ValueError(
            "n_axes needs the same blocks twice, but their samples were "
            f"{pooled.counts[0]} the first time and {statistics.counts.sum()} the "
            "second time."
        )
    return statistics


# Storage

_FORMAT = "skgeom.ClassStatistics"
_VERSION = 1


def _opened(path, mode):
    """The open file of a path, or a file that is open, and remains open."""
    return nullcontext(path) if hasattr(path, "seek") else open(path, mode)


def _state(statistics):
    """Arrays, numbers and texts by name, as ``ClassStatistics.save`` documents them."""
    statistics = statistics.__sklearn_array_api_convert__(to_numpy)
    classes, estimator = statistics.classes, statistics.covariance_estimator
    texts = kind_of(classes) == "text"
    if classes.dtype == object and not texts:
        raise ValueError(
            f"Only labels of numbers or text can be stored, got {classes}."
        )
    names = statistics.feature_names_in_
    state = {
        "format": _FORMAT,
        "version": _VERSION,
        "classes": classes.astype(str) if texts else classes,
        "labels": classes.dtype.str,
        "counts": statistics.counts,
        "matrices": np.asarray(statistics._matrices),
        "means": statistics.means,
        "remainders": statistics._remainders,
        "axes": statistics.axes,
        "covariance_estimator": None if estimator is None else str(estimator),
        "feature_names_in_": None if names is None else names.astype(str),
    }
    state = {name: value for name, value in state.items() if value is not None}
    return state | {"entries": ["entries", *state]}


def _statistics_of_state(state):
    lost = sorted(set(np.ravel(state["entries"])) ^ set(state))
    if lost:
        raise ValueError(f"entries are missing or unknown: {lost}.")
    version = state["version"]
    if str(state["format"]) != _FORMAT or version not in range(1, _VERSION + 1):
        raise ValueError(
            f"its format is {state['format']}, version {version}, but this release of "
            f"skgeom reads {_FORMAT}, versions 1 to {_VERSION}."
        )
    given = np.array(state["classes"], dtype=object)
    classes = np.array(given, dtype=str(state["labels"]))
    if classes.tolist() != sorted({*given.tolist()}) or kind_of(classes) == "O":
        raise ValueError(f"classes are no sorted {state['labels']}: {given}.")
    if not len(classes):
        return ClassStatistics.empty()
    shape = len(classes), np.shape(state["matrices"])[-1]
    least = np.finfo(np.float64).smallest_subnormal
    _, counts, _ = _checked_labels(classes, state["counts"], shape[0], least)
    # These are stored with their rounding errors, and not made symmetric.
    _checked_matrices(state["matrices"], "matrices", shape)
    arrays = {"matrices": np.array(state["matrices"], dtype=np.float64)}
    for name in {"means", "remainders", "axes"} & state.keys():
        arrays[name] = check_array(
            state[name], dtype=np.float64, copy=True, input_name=name
        )
        if name != "axes" and arrays[name].shape != shape:
            raise ValueError(f"{name} have the shape {arrays[name].shape}.")
    axes, n_columns = arrays.get("axes"), shape[1]
    if axes is not None:
        n_columns = axes.shape[1]
        if not np.allclose(axes @ axes.T, np.eye(shape[1])):
            raise ValueError(f"axes are not {shape[1]} orthonormal rows.")
    names = np.array(state.get("feature_names_in_", [""] * n_columns))
    estimator = state.get("covariance_estimator")
    if names.shape != (n_columns,) or names.dtype.kind != "U" or np.ndim(estimator):
        raise ValueError("feature_names_in_ or covariance_estimator are no texts.")
    names = names.astype(object) if "feature_names_in_" in state else None
    return make_statistics(
        classes,
        counts,
        arrays.pop("means", None),
        covariance_estimator=None if estimator is None else str(estimator),
        feature_names_in_=names,
        **arrays,
    )


# Checks


def checked_statistics(statistics):
    """The ClassStatistics, in CPU memory unless arrays of their library are dispatched.

    Raises
    ------
    TypeError
        If they are not ClassStatistics.
    """
    if not isinstance(statistics, ClassStatistics):
        raise TypeError(
            "statistics must be a ClassStatistics, made for example by "
            f"ClassStatistics.from_data(X, y), got {type(statistics).__name__}."
        )
    if namespace(statistics.means) is np or is_dispatched(statistics.means):
        return statistics
    return statistics.__sklearn_array_api_convert__(to_numpy)


def without_axes(statistics):
    """The same statistics, as if the coordinates in the axes were the features."""
    names = statistics.feature_names_in_ if statistics.axes is None else None
    return statistics._with(axes=None, feature_names_in_=names)


def with_noise(statistics, noise):
    """The same statistics with a covariance added to the matrix of each class.

    Statistics with noise cannot be merged. None leaves them as they are.
    """
    if noise is None:
        return statistics
    matrices = statistics._matrices
    matrices = matrices + like(noise, matrices)
    return statistics._with(_matrices=matrices, covariance_estimator="given")


def _check_addition(first, second):
    """Raise ValueError if statistics cannot be added."""
    if (first.means is None) != (second.means is None):
        raise ValueError(
            "Statistics of second moments can be added only to statistics of second "
            "moments. ClassStatistics.from_second_moments(s.classes, "
            "s.counts, s.second_moments) converts other statistics s."
        )
    if first.n_features != second.n_features:
        raise ValueError(
            "Statistics can be added only if they have the same number of features, "
            f"got {first.n_features} and {second.n_features}."
        )
    names = [part.feature_names_in_ for part in (first, second)]
    if all(n is not None for n in names) and not np.array_equal(*names):
        fault = "names of their features are"
        remedy = "Use the same columns in both, or rename them."
        if sorted(names[0]) == sorted(names[1]):
            fault = "order of their features is"
            remedy = "Reorder the columns: X[names], with the names of the first."
        pairs = enumerate(zip_longest(*names))
        number, pair = next((i, pair) for i, pair in pairs if pair[0] != pair[1])
        raise ValueError(
            f"Statistics can be added only if the {fault} equal, "
            f"but feature {number} is {pair[0]!r} in the first and {pair[1]!r} in the "
            f"second. {remedy}"
        )
    if kind_of(first.classes) != kind_of(second.classes):
        raise ValueError(
            "Statistics can be added only if their class labels are of one "
            f"kind, got {first.classes} and {second.classes}."
        )
    if not np.array_equal(first.axes, second.axes):
        raise ValueError(
            "Statistics in axes can be added only if they have the same axes."
        )
    for part in (first, second):
        part._check_sample_covariances("added")


def _pooled(covariances, counts):
    """The mean of covariances, weighted by counts - 1, and the normalized weights."""
    weights = (counts - 1.0) / max((counts - 1.0).sum(), 1)
    xp = namespace(covariances)
    return xp.tensordot(like(weights, covariances), covariances, axes=1), weights


def closed_form_shrinkage(covariances, counts):
    """The intensities of ``ClassStatistics.shrunk(None)``, (n_classes,)."""
    degrees, (pooled, weights) = counts - 1.0, _pooled(covariances, counts)
    trace = float(namespace(pooled).linalg.trace(pooled)) or 1.0
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
    # W counts as at most as many samples as it is computed from.
    scatter = max(scatter, error / max(degrees.sum(), 1))
    return error / (error + degrees * scatter)


def _square_norm(matrix):
    xp = namespace(matrix)
    flat = xp.reshape(matrix, (-1,))
    return float(xp.vecdot(flat, flat))


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
        covariance = check_array(
            fit(estimator, samples), dtype=np.float64, input_name="covariance_estimator"
        )
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
    if isinstance(matrices, tuple) and len(matrices) == 2 and np.ndim(matrices[1]) == 3:
        matrices = StructuredCovariances(*matrices)
    if not isinstance(matrices, StructuredCovariances):
        matrices = check_array(
            on_cpu(matrices), dtype=np.float64, allow_nd=True, input_name=name
        )
        if matrices.ndim == 4:
            matrices = StructuredCovariances(matrices)
    if shape_of_means is not None:
        n_classes, n_features = shape_of_means
        expected = (n_classes, n_features, n_features)
        if matrices.shape != expected:
            raise ValueError(
                f"{name} must have shape {expected} to go with means of shape "
                f"{shape_of_means}, got {matrices.shape}."
            )
    elif len(matrices.shape) != 3:
        raise ValueError(
            f"{name} must have shape (n_classes, n_features, n_features), got "
            f"{matrices.shape}."
        )
    if isinstance(matrices, StructuredCovariances):
        return matrices
    check_symmetric(matrices, name)
    check_semidefinite(matrices, name)
    return (matrices + matrices.mT) / 2


def _checked_labels(classes, counts, n_classes, least=1):
    """Sorted labels, their counts, and the indices that sort the classes."""
    classes = column_or_1d(np.asarray(on_cpu(classes)))
    counts = column_or_1d(np.asarray(on_cpu(counts)))
    numbers = counts.dtype.kind in "iuf"
    if (
        len(counts) != n_classes
        or not numbers
        or not np.all((counts >= least) & (counts < 2**53))
    ):
        raise ValueError(
            "counts must hold the number of samples, or the sum of their weights, at "
            f"least {least}, of each of the {n_classes} classes, got {counts}."
        )
    whole = counts.dtype.kind != "f" or (least == 1 and np.all(counts % 1 == 0))
    counts = counts.astype(np.int64 if whole else np.float64)
    labels, order = np.unique(classes, return_index=True)
    if len(classes) != n_classes or len(labels) != n_classes:
        raise ValueError(
            f"classes must hold {n_classes} distinct labels, one for each of the "
            f"classes, got {classes}."
        )
    return labels, counts[order], order


def _coordinates(components, axes):
    """Coordinates of filters, in rows, in axes that span them."""
    coordinates = components @ axes.T
    outside = np.linalg.norm(components - coordinates @ axes, axis=1)
    # Filters may be in float32.
    far = outside > 1e-5 * np.linalg.norm(components, axis=1)
    if far.any():
        raise ValueError(
            f"Row {np.argmax(far)} of components is not in the span of the axes of "
            "these statistics. Use filters learned from them, or more axes."
        )
    return coordinates
