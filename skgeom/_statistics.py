"""Counts, means and covariances of classes: estimation, merging and projection."""

from collections.abc import Iterable
from copy import copy, deepcopy
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from numbers import Integral, Real

import numpy as np
from scipy.linalg import eigh
from sklearn.utils.validation import column_or_1d

from skgeom._moments import Moments
from skgeom._sample_moments import moments_of_samples
from skgeom.objectives._covariances import (
    ArrayCovariances,
    StructuredCovariances,
    as_array,
    check_memory,
    covariances_of,
)
from skgeom.utils._dask import is_dask, map_row_blocks, merged, naming_block
from skgeom.utils._sklearn import get_feature_names, num_samples
from skgeom.utils.array_api import (
    is_dispatched,
    like,
    namespace,
    on_cpu,
    to_numpy,
)
from skgeom.utils.html import html_table
from skgeom.utils.linalg import fix_signs, project
from skgeom.utils.validation import (
    check_array,
    check_labels,
    check_same_features,
    check_semidefinite,
    check_symmetric,
    kind_of,
    known_labels,
    samples_of_block,
    union_of_classes,
)
from skgeom.utils.warn import warn_user

_MOST_ROWS = 20  # of the HTML table


class ClassStatistics:
    r"""Counts, means and covariances of the classes of labeled data.

    The methods ``fit_statistics`` of :class:`SQFA`, :class:`SecondMomentSQFA` and
    :class:`GaussianClassifier`, and the function :func:`bayes_error`, require only
    these statistics. Statistics of parts of the data can be merged in any order with
    ``a + b``, ``merge(parts)`` or ``a.update(X, y)``. The result equals the statistics
    of all data up to rounding.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        The distinct labels, in any order.
    counts : array-like of shape (n_classes,)
        Number of samples of each class, or the sum of their weights, at least 1.
    means : array-like of shape (n_classes, n_features)
        Mean :math:`\gamma_i` of each class.
    covariances : array-like of shape (n_classes, n_features, n_features), or tuple
        Covariance :math:`\Phi_i` of each class. If the statistics are merged later, the
        covariances must be unbiased estimates (divided by count - 1).

        Two other forms define structured covariances, which are never formed as full
        matrices and cannot be merged. An array of shape (n_classes, n_blocks, d, d)
        defines block-diagonal covariances of n_blocks * d features. A tuple
        ``(diagonal, factors)`` defines covariances :math:`D_i + A_i^\top A_i`. The
        array ``diagonal`` contains the diagonals of :math:`D_i`, of shape
        (n_classes, n_features), or diagonal blocks of shape (n_classes, n_blocks, d,
        d). The array ``factors`` of shape (n_classes, r, n_features) contains
        :math:`A_i`; it is not copied if it is C-contiguous and of dtype float64. The
        objectives of :class:`SQFA` are equal for structured and full covariances up to
        rounding. Filters that agree to 1e-8 require a fit with ``tol=1e-13``. See the
        :ref:`user guide <structured>`.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The labels in sorted order.
    counts : ndarray of shape (n_classes,)
        Number of samples of each class, or the sum of their weights.
    means : ndarray of shape (n_classes, n_features), float64
        Mean of each class. With ``array_api_dispatch=True`` in
        :func:`sklearn.set_config`, the means are arrays of the same namespace and
        device as the samples.
    covariances : ndarray of shape (n_classes, n_features, n_features), float64
        Covariance of each class, of the same namespace and device as the means. For
        structured covariances, the attribute is an object that cannot be converted to
        an array.
    axes : ndarray of shape (n_axes, n_features) or None
        The orthonormal axes if the statistics were computed with ``n_axes``. Means and
        covariances then belong to the ``n_axes`` features ``X @ axes.T``.
    covariance_estimator : None, str or object
        Estimator of the covariances, as in :meth:`from_data`. None for sample
        covariances, "shrunk" after :meth:`shrunk`, and "given" if a covariance was
        passed for a class of one sample.
    feature_names_in_ : ndarray of shape (n_features,) or None
        The names of the columns of X, if X is a data frame with string names. The sum
        of statistics with different names raises a ValueError. If one summand has no
        names, its columns must be in the order of the names of the other summand.

    Raises
    ------
    ValueError
        If shapes do not match, if labels are repeated, if counts are below 1, if values
        are infinite or NaN, if covariances are not symmetric or have negative
        eigenvalues, or if the labels of a data frame or series have a different order
        than ``classes``, or than the features of the means.

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
        _check_labels(classes, counts, covariances, "covariances", means)
        means = check_array(means, dtype=np.float64, input_name="means")
        covariances = _checked_matrices(covariances, "covariances", means.shape)
        self.classes, counts, order = _checked_labels(classes, counts, len(means))
        covariances = covariances.take(order)
        self.moments = Moments.of(counts, means[order], covariances)
        # One sample has no sample covariance.
        single = (covariances[k].diagonal() for k in np.flatnonzero(counts <= 1))
        self.covariance_estimator = "given" if any(map(np.any, single)) else None
        self.axes = self.feature_names_in_ = None

    def _with(self, **changes):
        """A shallow copy with changed attributes."""
        other = copy(self)
        vars(other).update(changes)
        return other

    @classmethod
    def empty(cls):
        """Return statistics without samples, such that ``empty() + a`` equals ``a``.

        Returns
        -------
        ClassStatistics
            Statistics without classes and features. They can be added to statistics
            with any number of features.

        Examples
        --------
        >>> from skgeom import ClassStatistics
        >>> sum([], ClassStatistics.empty())
        ClassStatistics(0 classes, 0 features, 0 samples)
        """
        none = np.zeros(0, int), np.empty((0, 0)), np.empty((0, 0, 0))
        return make_statistics(np.empty(0), Moments.of(*none))

    @classmethod
    def from_data(
        cls, X, y, covariance_estimator=None, *, sample_weight=None, n_axes=None
    ):
        """Compute the statistics of labeled samples.

        Sample covariances are computed in blocks of rows, so the only copy in memory is
        one block. Sums are computed in float64 for every dtype of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Labels of the samples.
        covariance_estimator : None, str, or object, default=None
            None for the sample covariance; the name of an estimator of
            ``pyriemann.geometry.covariance``, one of ``"cov"``, ``"lwf"``, ``"mcd"``,
            ``"oas"``, ``"sch"`` and ``"scm"``; or an object with a method ``fit(X)``
            that sets ``covariance_``, such as ``sklearn.covariance.LedoitWolf()``. A
            copy of the object is fitted to each class. Only sample covariances can be
            merged later.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples: an integer weight counts as that many copies. Unlike
            in the ``fit`` methods of estimators, small weights are not scaled, because
            statistics of parts of the samples can be added. A class whose weights have
            a small sum is treated like a class of few samples. The divisor of a
            covariance is the sum of the weights of the class minus 1, or half of the
            sum if it is below 2.
        n_axes : int, default=None
            If given, the statistics of the coordinates in this number of leading
            principal axes are computed, as in :meth:`from_blocks`.

        Returns
        -------
        ClassStatistics
            The statistics of the classes in ``y``.

        Raises
        ------
        ValueError
            If X, y or ``sample_weight`` is malformed, if ``covariance_estimator`` is
            unknown, or if ``covariance_estimator`` is given together with
            ``sample_weight``, ``n_axes`` or a Dask array.
        MemoryError
            If the covariances do not fit into memory.
        """
        if covariance_estimator is not None and (n_axes is not None or is_dask(X)):
            raise ValueError(
                "Statistics of Dask arrays or with n_axes need sample covariances, but "
                f"{covariance_estimator=!r}. Use covariance_estimator=None."
            )

        read = partial(_read, X, y, sample_weight, covariance_estimator)
        return read() if n_axes is None else _in_leading_axes(n_axes, read)

    @classmethod
    def from_blocks(cls, blocks, *, n_axes=None):
        """Compute the statistics of samples in blocks.

        Only one block at a time is in memory, so the blocks may come from a file, a
        database or a generator. The result equals the statistics of all samples up to
        rounding, for any order and sizes of the blocks.

        If the covariances of all classes do not fit into memory, use ``n_axes`` to
        reduce the number of dimensions. A first pass over the blocks then computes the
        leading principal axes of all samples, and a second pass computes the statistics
        of the coordinates ``X @ axes.T``.

        Parameters
        ----------
        blocks : iterable of (X, y) or (X, y, sample_weight), or callable
            Samples as in :meth:`from_data`, or a function without parameters that
            returns such an iterable. A block may lack classes and may be empty. The
            columns of all data frames must be in the same order.
        n_axes : int, default=None
            Number of leading principal axes. The blocks are then read twice, so pass a
            list, or a function that returns a new generator, instead of a generator.

        Returns
        -------
        ClassStatistics
            The statistics of all samples. Without samples, they equal :meth:`empty`.

        Raises
        ------
        ValueError
            If a block is malformed (the message contains its number, counted from 0);
            if blocks differ in their features or in the type of their labels; or if
            ``n_axes`` is given and the blocks can be read only once or change between
            the two passes.
        MemoryError
            If the covariances do not fit into memory.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from skgeom import ClassStatistics
        >>> X, y = load_digits(return_X_y=True)
        >>> blocks = ((X[i : i + 500], y[i : i + 500]) for i in range(0, len(X), 500))
        >>> ClassStatistics.from_blocks(blocks)
        ClassStatistics(10 classes, 64 features, 1797 samples)

        Compute the statistics in 20 dimensions. The filters are applied to all 64
        features:

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
        r"""Create statistics that contain only second moments about the origin.

        Use these statistics with :class:`SecondMomentSQFA`, which requires no means and
        covariances. Both attributes are None.

        Parameters
        ----------
        classes : array-like of shape (n_classes,)
            The distinct labels.
        counts : array-like of shape (n_classes,)
            Number of samples of each class, at least 1.
        second_moments : array-like of shape (n_classes, n, n) or tuple
            The mean :math:`\Psi_i` of :math:`x x^\top` over the samples x of each
            class. The second moments may be structured, like the parameter
            ``covariances`` of :class:`ClassStatistics`.

        Returns
        -------
        ClassStatistics
            Statistics without means and covariances.

        Raises
        ------
        ValueError
            If shapes do not match, if labels are repeated, if counts are below 1, if
            values are infinite or NaN, or if matrices are not symmetric or have
            negative eigenvalues.
        """
        _check_labels(classes, counts, second_moments, "second_moments")
        second_moments = _checked_matrices(second_moments, "second_moments")
        n_classes = second_moments.shape[0]
        classes, counts, order = _checked_labels(classes, counts, n_classes)
        moments = Moments.of(counts, None, second_moments.take(order))
        return make_statistics(classes, moments)

    @classmethod
    def merge(cls, parts):
        """Merge the statistics of several sets of samples.

        Parameters
        ----------
        parts : iterable of ClassStatistics
            Statistics with sample covariances and the same features. A part may lack
            classes and may be empty.

        Returns
        -------
        ClassStatistics
            Statistics of all samples, with the namespace and device of the first part.
            Empty if there are no parts.

        Raises
        ------
        TypeError
            If ``parts`` is not iterable, or if a part is not a ClassStatistics.
        ValueError
            If parts have different features or axes, labels of different types, such as
            strings and numbers, or covariances that are not sample covariances.

        Examples
        --------
        >>> import numpy as np
        >>> from skgeom import ClassStatistics
        >>> X, y = np.arange(12.0).reshape(6, 2), [0, 0, 0, 1, 1, 1]
        >>> parts = [ClassStatistics.from_data(X[i::3], y[i::3]) for i in range(3)]
        >>> ClassStatistics.merge(parts)
        ClassStatistics(2 classes, 2 features, 6 samples)
        """
        if not isinstance(parts, Iterable):
            raise TypeError(
                "parts must be an iterable of ClassStatistics, such as a list, got "
                f"{type(parts).__name__}."
            )
        return sum(map(_checked_type, parts), start=cls.empty())

    @property
    def counts(self):
        """Number of samples of each class, or the sum of their weights."""
        return self.moments.counts

    @property
    def means(self):
        """Mean of each class; None if there are second moments only."""
        return None if self.moments.about_origin else self.moments.means

    @property
    def covariances(self):
        """Covariance of each class; None if there are second moments only."""
        return None if self.means is None else self.moments.covariances.values

    @property
    def n_features(self):
        """Number of features of the means and covariances."""
        return self.moments.covariances.shape[-1]

    @property
    def second_moments(self):
        r"""Second-moment matrices :math:`\Psi_i = \Phi_i + \gamma_i \gamma_i^\top`.

        For sample covariances :math:`\Phi_i`, which are unbiased, the mean of
        :math:`x x^\top` over :math:`n_i` samples is :math:`\Psi_i - \Phi_i / n_i`.
        """
        covariances = self.moments.covariances.values
        if self.means is None:
            return covariances
        if isinstance(covariances, StructuredCovariances):
            return covariances.plus(self.means, np.eye(len(self.means)))
        return self.covariances + self.means[:, :, None] * self.means[:, None, :]

    def pooled_covariances(self):
        """Compute the within-class covariance and the total covariance.

        The weight of each class is proportional to its count. For statistics with
        second moments only, both results are the mean second moment.

        Returns
        -------
        within : ndarray of shape (n_features, n_features)
            Weighted mean of the class covariances.
        total : ndarray of shape (n_features, n_features)
            The within-class covariance plus the weighted covariance of the class means.
        """
        return tuple(map(as_array, self.moments.pooled()))

    def shrunk(self, shrinkage=None):
        r"""Shrink the class covariances towards the within-class covariance.

        The covariance :math:`S_i` of class i with :math:`n_i` samples becomes
        :math:`(1 - \rho_i) S_i + \rho_i W`, where W is the mean of the covariances of
        all classes with the weights :math:`n_i - 1`. Weights below 0 become 0; if all
        :math:`n_i` are at most 1, the weights are :math:`n_i`.

        Parameters
        ----------
        shrinkage : None, float or array-like of shape (n_classes,), default=None
            The intensities :math:`\rho_i`, from 0 to 1: one number for all classes, or
            one number for each class. None computes the intensities from the
            statistics,

            .. math::

               \rho_i = \frac{q}{n_i - 1 + q}, \qquad
               q = \frac{\operatorname{tr} W^2 + (\operatorname{tr} W)^2}{D}

            so W has the weight of q additional samples in each class. D is the mean
            square distance, in the Frobenius norm, of the true class covariances from
            W. For Gaussian classes, these intensities minimize the mean square error of
            the shrunk covariances: if all true covariances are equal, the numerator of
            q, divided by :math:`n_i - 1`, is the mean square error of :math:`S_i`. D is
            estimated by the method of moments, like a variance between groups [1]_, and
            q is at most the sum of all :math:`n_i - 1`. The intensities change if some
            of the features are expressed in different units.

        Returns
        -------
        ClassStatistics
            Statistics with the same classes, counts and means, and shrunk covariances.
            They cannot be merged.

        Raises
        ------
        ValueError
            If the statistics contain second moments only or covariances that are not
            sample covariances, or if ``shrinkage`` has a wrong shape or a value below 0
            or above 1.

        References
        ----------
        .. [1] R. DerSimonian and N. Laird, "Meta-analysis in clinical trials",
           Controlled Clinical Trials 7, 1986.

        Examples
        --------
        The sample covariance of a class of three samples in five dimensions is
        singular. After shrinkage, it is similar to the covariance of the larger class:

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
                "Statistics with second moments only cannot be shrunk. Use statistics "
                "with means and covariances."
            )
        covariances, n_classes = self.covariances, len(self.classes)
        if shrinkage is None:
            warn_if_weights_are_small(self)
            shrinkage = closed_form_shrinkage(covariances, self.counts)
        check_labels(shrinkage, 0, self.classes, "shrinkage", "classes")
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
        shrunk = covariances + intensities * (pooled - covariances)
        return self._with_covariances(shrunk, "shrunk")

    def with_noise(self, covariance):
        """Add the covariance of noise that the samples do not contain.

        Parameters
        ----------
        covariance : array-like of shape (n_features, n_features)
            The covariance of the noise, such as that of a sensor. If the statistics
            have ``axes``, ``n_features`` is the number of columns of the original X.

        Returns
        -------
        ClassStatistics
            Statistics with the same classes, counts and means, and the covariance added
            to that of each class. They cannot be merged.

        Raises
        ------
        ValueError
            If ``covariance`` has a wrong shape, or is not symmetric and positive
            semidefinite.

        Examples
        --------
        >>> import numpy as np
        >>> from skgeom import ClassStatistics
        >>> X, y = np.array([[0.0, 0], [2, 0], [0, 1], [0, 3]]), [0, 0, 1, 1]
        >>> statistics = ClassStatistics.from_data(X, y).with_noise(0.5 * np.eye(2))
        >>> statistics.covariances[0]
        array([[2.5, 0. ],
               [0. , 0.5]])
        """
        check_labels(
            covariance, -1, self.feature_names_in_, "covariance", "feature_names_in_"
        )
        noise = check_array(
            covariance, dtype=float, ensure_2d=False, input_name="covariance"
        )
        n_features = self.n_features if self.axes is None else self.axes.shape[1]
        if noise.shape != (n_features, n_features):
            raise ValueError(
                f"covariance has shape {noise.shape}. Use the shape "
                f"{(n_features, n_features)}, with one row for each feature."
            )
        check_symmetric(noise, "covariance")
        check_semidefinite(noise[None], "covariance")
        _check_not_structured(self, "with_noise")
        if self.axes is not None:
            axes = to_numpy(self.axes)
            noise = axes @ noise @ axes.T
        covariances = self.moments.covariances.values
        return self._with_covariances(covariances + like(noise, covariances), "given")

    def project(self, components):
        """Compute the statistics of the linear features ``X @ components.T``.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features)
            The filters in rows. If the statistics have ``axes``, ``n_features`` is the
            number of columns of the original X, not the number of axes.

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
        names = self.feature_names_in_
        check_labels(components, -1, names, "components", "feature_names_in_")
        components = check_array(components, dtype=np.float64, input_name="components")
        n_features = self.n_features if self.axes is None else self.axes.shape[1]
        if components.shape[1] != n_features:
            raise ValueError(
                f"components must have {n_features} columns, one per feature, got "
                f"shape {components.shape}."
            )
        if self.axes is not None:
            components = _coordinates(components, self.axes)
        return projected(self, components.T)

    def of_classes(self, classes):
        """Select some of the classes.

        Parameters
        ----------
        classes : array-like of shape (n_selected,)
            Labels of the classes to keep, in any order.

        Returns
        -------
        ClassStatistics
            The statistics of these classes.

        Raises
        ------
        ValueError
            If a label is not a class of the statistics.

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
                f"classes={classes} contains labels that are not in the statistics, "
                f"whose labels are {self.classes}. Remove these labels."
            )
        return self._with(classes=self.classes[rows], moments=self.moments.take(rows))

    def decay(self, factor):
        """Reduce the weights of the samples.

        Use this method for data that change over time. The statement
        ``statistics = statistics.decay(0.9) + batch`` in a loop computes exponentially
        weighted statistics, in which the last batch has the weight 1, the previous
        batch the weight 0.9, and so on. Classes without recent samples keep their
        means, but the divisor of a covariance decreases faster than the count, by which
        the covariance at most doubles. Exclude such classes with :meth:`of_classes`.

        Parameters
        ----------
        factor : float
            Factor of all weights, greater than 0 and at most 1.

        Returns
        -------
        ClassStatistics
            Statistics with the same means, counts multiplied by ``factor``, and the
            covariances for the new counts. Classes with a count below 2.2e-16 are
            removed, because such a count vanishes by rounding when a sample is added.

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
        found = self._with(moments=self.moments.scaled(factor))
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
            Weights of the samples, as in :meth:`from_data`. The sums of the weights
            include earlier samples.

        Returns
        -------
        ClassStatistics
            This object, updated.

        Raises
        ------
        ValueError
            If X, y or ``sample_weight`` is malformed, if the number of features
            differs, or if the covariances are not sample covariances.
        """
        self._check_sample_covariances("added")
        new = _read(X, y, sample_weight, None, self.axes)
        if self.means is None:
            new = new._with(moments=new.moments.second_moments())
        vars(self).update(vars(self + new))
        return self

    def __add__(self, other):
        """Statistics of both sets of samples, on the device of the first summand."""
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        if not len(self.classes) or not len(other.classes):
            return deepcopy(self if len(self.classes) else other)
        _check_addition(self, other)
        classes = union_of_classes(self.classes, other.classes)
        check_memory(len(classes), self.n_features)
        first, second = (_moments_of(part, classes) for part in (self, other))
        names = self.feature_names_in_
        return self._with(
            classes=classes,
            moments=first + second,
            feature_names_in_=other.feature_names_in_ if names is None else names,
        )

    def __radd__(self, other):
        """A copy of the statistics if ``other`` is 0, the start value of ``sum``."""
        if not (isinstance(other, int) and other == 0):
            return NotImplemented
        return deepcopy(self)

    def _check_sample_covariances(self, what):
        if isinstance(self.moments.covariances, StructuredCovariances):
            raise ValueError(
                f"Statistics with structured covariances cannot be {what}. Use the "
                "statistics of features, statistics.project(filters)."
            )
        if self.covariance_estimator is not None:
            raise ValueError(
                f"Statistics can be {what} only if their covariances are sample "
                "covariances, but covariance_estimator="
                f"{self.covariance_estimator!r}."
            )

    def _with_covariances(self, covariances, covariance_estimator):
        moments = replace(self.moments, covariances=covariances_of(covariances))
        return self._with(moments=moments, covariance_estimator=covariance_estimator)

    # Called by move_estimator_to of scikit-learn.
    def __sklearn_array_api_convert__(self, converter):
        if self.means is None:
            return self  # always in CPU memory
        return self._with(moments=self.moments.to(converter))

    def __repr__(self):
        features = f"{self.n_features} features"
        if self.axes is not None:
            features = "{} axes of {} features".format(*self.axes.shape)
        return (
            f"{type(self).__name__}({len(self.classes)} classes, {features}, "
            f"{self.counts.sum()} samples)"
        )

    def _repr_html_(self):
        columns = on_cpu(self.classes).tolist(), on_cpu(self.counts).tolist()
        rows, title = [*zip(*columns, strict=True)], repr(self)
        if len(rows) > _MOST_ROWS:
            title += f", of which the first {_MOST_ROWS} classes are shown"
        return html_table(title, ["class", "samples"], rows[:_MOST_ROWS])


def make_statistics(classes, moments, covariance_estimator=None):
    """Statistics of validated moments."""
    statistics = ClassStatistics.__new__(ClassStatistics)
    statistics.classes, statistics.moments = classes, moments
    statistics.covariance_estimator = covariance_estimator
    statistics.axes = statistics.feature_names_in_ = None
    return statistics


def statistics_of_samples(X, y, sample_weight=None, covariance_estimator=None):
    """Statistics of validated samples."""
    found = moments_of_samples(X, y, sample_weight, covariance_estimator)
    return make_statistics(*found, covariance_estimator)


def translated(statistics, offset):
    """Statistics of samples to which an offset is added."""
    means = statistics.moments.means + offset
    return statistics._with(moments=replace(statistics.moments, means=means))


def projected(statistics, filters):
    """Statistics of the features ``X @ filters``."""
    return statistics._with(
        moments=statistics.moments.project(filters), axes=None, feature_names_in_=None
    )


def with_counts(statistics, counts):
    """Statistics with different sums of the weights of the classes."""
    return statistics._with(moments=statistics.moments.with_counts(counts))


def pooled_matrices(statistics):
    """The pooled covariances in CPU memory; still structured for many features."""
    pooled = tuple(map(on_cpu, statistics.moments.pooled()))
    many = statistics.n_features > 1000  # 8 MB
    return pooled if many else tuple(map(as_array, pooled))


def without(total, part, kept, counts):
    """Statistics of the samples of ``total`` that are not in ``part``.

    The result contains only the classes of the mask ``kept``, with the given counts.
    """
    classes = total.classes[kept]
    moments = _moments_of(total, classes) - _moments_of(part, classes)
    return total._with(classes=classes, moments=moments.with_counts(counts))


def _moments_of(statistics, classes):
    """The moments of classes, which may have no samples."""
    if np.array_equal(classes, statistics.classes):
        return statistics.moments
    return statistics.moments.take(_rows_of_labels(statistics, classes))


def _rows_of_labels(statistics, labels):
    """The row of each label in the arrays of statistics; -1 for unknown labels."""
    rows = {label: row for row, label in enumerate(statistics.classes.tolist())}
    return np.array([rows.get(label, -1) for label in labels.tolist()])


# Reading


def statistics_of_block(
    number, X, y, sample_weight, axes=None, pooled=False, covariance_estimator=None
):
    """Statistics of the samples of a block, or of their coordinates in axes.

    Error messages contain the number of the block, if it is not None. If ``pooled``,
    all samples are treated as one class.
    """
    with naming_block(number):
        if y is not None and np.shape(y)[:1] == (0,) and num_samples(X) == 0:
            return ClassStatistics.empty()
        names = get_feature_names(X)
        X, y, sample_weight, *_ = samples_of_block(
            X, y, sample_weight, whole=number is None
        )
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
    """Statistics of the blocks of ``from_blocks``, with one block in memory."""
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
        # Free the block before the next one is read; enumerate would keep it.
        del block, weights
        with naming_block(number):
            total = total + part
        number += 1
    return total


def _in_leading_axes(n_axes, read):
    """Statistics in the leading axes of all samples, which are read twice.

    ``read(axes, pooled)`` computes the statistics, like ``statistics_of_block``.
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
    matrix, size = to_numpy(pooled.moments.covariances[0]), pooled.n_features
    _, columns = eigh(matrix, subset_by_index=[size - n_axes, size - 1])
    axes = np.ascontiguousarray(fix_signs(columns.T[::-1]))
    statistics = read(axes)
    if not np.isclose(statistics.counts.sum(), pooled.counts[0], rtol=1e-9, atol=0):
        raise ValueError(
            f"The blocks contain {pooled.counts[0]} samples in the first pass and "
            f"{statistics.counts.sum()} samples in the second pass. With n_axes, both "
            "passes must read the same blocks."
        )
    return statistics


# Checks


def checked_statistics(statistics):
    """Statistics in CPU memory, or unchanged if array API dispatch is enabled.

    Raises
    ------
    TypeError
        If ``statistics`` is not a ClassStatistics.
    """
    _checked_type(statistics)
    return statistics if is_dispatched(statistics.means) else in_host_memory(statistics)


def means_on_host(statistics):
    """The class means as a NumPy array; None if there are second moments only."""
    return on_cpu(statistics.means)


def in_host_memory(statistics):
    """Statistics with NumPy arrays."""
    if namespace(statistics.means) is np:
        return statistics
    return statistics.__sklearn_array_api_convert__(to_numpy)


def _checked_type(statistics):
    """The argument; TypeError if it is not a ClassStatistics."""
    if not isinstance(statistics, ClassStatistics):
        raise TypeError(
            "statistics must be a ClassStatistics, got "
            f"{type(statistics).__name__}. For samples, use ClassStatistics.from_data("
            "X, y). For statistics of parts, use ClassStatistics.merge(parts). "
            "For moments, use ClassStatistics(classes, counts, means, "
            "covariances) or ClassStatistics.from_second_moments(classes, counts, "
            "second_moments)."
        )
    return statistics


def check_covariances(statistics, name):
    """Raise ValueError if statistics contain no means and arrays of covariances."""
    if statistics.means is None:
        raise ValueError(
            f"statistics contains second moments only, but {name} needs means and "
            "covariances. Use ClassStatistics(classes, counts, means, covariances)."
        )
    _check_not_structured(statistics, name)


def _check_not_structured(statistics, name):
    if isinstance(statistics.moments.covariances, StructuredCovariances):
        raise ValueError(
            f"{name} needs arrays of covariances, but the covariances are structured. "
            "Use the statistics of features, statistics.project(filters)."
        )


def without_axes(statistics):
    """Statistics whose features are the coordinates in the axes."""
    names = statistics.feature_names_in_ if statistics.axes is None else None
    return statistics._with(axes=None, feature_names_in_=names)


def _check_addition(first, second):
    """Raise ValueError if statistics cannot be added."""
    if (first.means is None) != (second.means is None):
        raise ValueError(
            "Statistics with second moments only cannot be added to statistics s with "
            "covariances. Convert s with ClassStatistics.from_second_moments("
            "s.classes, s.counts, s.second_moments - s.covariances / "
            "s.counts[:, None, None])."
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
            remedy = "Use X[names] with the feature names of the first statistics."
        pairs = enumerate(zip_longest(*names))
        number, pair = next((i, pair) for i, pair in pairs if pair[0] != pair[1])
        raise ValueError(
            f"Statistics can be added only if the {fault} equal, "
            f"but feature {number} is {pair[0]!r} in the first statistics and "
            f"{pair[1]!r} in the second. {remedy}"
        )
    if kind_of(first.classes) != kind_of(second.classes):
        raise ValueError(
            "Statistics can be added only if their labels have the same type, got "
            f"{first.classes} and {second.classes}. Convert the labels, for example "
            "with y.astype(str)."
        )
    if not np.array_equal(first.axes, second.axes):
        raise ValueError(
            "Statistics with axes can be added only if their axes are equal."
        )
    for part in (first, second):
        part._check_sample_covariances("added")


def _pooled(covariances, counts):
    """The mean of covariances with the weights of ``shrunk``, which are normalized."""
    weights = np.maximum(counts - 1.0, 0)
    weights = weights if weights.any() else counts
    weights = weights / (weights.sum() or 1)
    xp = namespace(covariances)
    return xp.tensordot(like(weights, covariances), covariances, axes=1), weights


def warn_if_weights_are_small(statistics):
    """Warn if the samples vary, but no class has the weight of two samples."""
    counts, is_sample = statistics.counts, statistics.covariance_estimator is None
    if statistics.means is None or not is_sample or max(counts, default=2) >= 2:
        return
    if statistics.moments.pooled()[0].trace() > 0:
        warn_user(
            "The weights of the samples of each class add up to at most "
            f"{counts.max():.3g}, but automatic values require numbers of samples, and "
            "samples that vary are at least two. The classes are treated like classes "
            "of few samples. Multiply all weights by a larger number.",
            UserWarning,
        )


def closed_form_shrinkage(covariances, counts):
    """The intensities of ``ClassStatistics.shrunk(None)``, (n_classes,)."""
    degrees = np.maximum(counts - 1.0, 0)
    pooled, weights = _pooled(covariances, counts)
    trace = float(namespace(pooled).linalg.trace(pooled)) or 1.0
    # Division by the trace avoids overflow and underflow.
    error = 1 + _square_norm(pooled / trace)
    squares = [
        _square_norm((covariances[k, ...] - pooled) / trace)
        for k in range(len(degrees))
    ]
    excess = degrees @ squares - (len(degrees) - 1) * error
    # The expectation of the excess is D times the divisor.
    divisor = degrees @ (1 - weights)
    scatter = excess / divisor if divisor > 0 else 0.0
    # The weight q of W is at most the degrees of freedom of W.
    scatter = max(scatter, error / max(degrees.sum(), 1))
    return error / (error + degrees * scatter)


def _square_norm(matrix):
    xp = namespace(matrix)
    flat = xp.reshape(matrix, (-1,))
    return float(xp.vecdot(flat, flat))


def _is_diagonal_and_factors(matrices):
    """Whether matrices are the tuple of structured covariances."""
    is_pair = isinstance(matrices, tuple) and len(matrices) == 2
    return is_pair and np.ndim(matrices[1]) == 3


def _check_labels(classes, counts, matrices, name, means=None):
    """Raise ValueError if labels contradict the order of the classes or features."""
    parts = {}
    if isinstance(matrices, list | tuple):
        parts = {f"{name}[{k}]": matrix for k, matrix in enumerate(matrices)}
    check_same_features({"means": means} | parts)
    of_classes = {"counts": counts, "means": means, name: matrices}
    if _is_diagonal_and_factors(matrices):
        of_classes |= parts
    for argument, values in of_classes.items():
        check_labels(values, 0, classes, argument, "classes")


def _checked_matrices(matrices, name, shape_of_means=None):
    """Covariances from semidefinite matrices, which are made exactly symmetric."""
    if _is_diagonal_and_factors(matrices):
        matrices = StructuredCovariances.of(*matrices)
    if not isinstance(matrices, StructuredCovariances):
        matrices = check_array(
            matrices, dtype=np.float64, allow_nd=True, input_name=name
        )
        if matrices.ndim == 4:
            matrices = StructuredCovariances.of(matrices)
    if shape_of_means is not None:
        n_classes, n_features = shape_of_means
        expected = (n_classes, n_features, n_features)
        if matrices.shape != expected:
            raise ValueError(
                f"{name} must have shape {expected} for means of shape "
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
    return ArrayCovariances((matrices + matrices.mT) / 2)


def _checked_labels(classes, counts, n_classes):
    """Sorted labels, their counts, and the indices that sort the classes."""
    classes = column_or_1d(np.asarray(known_labels(classes, "classes")))
    counts = column_or_1d(np.asarray(on_cpu(counts)))
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
    whole = counts.dtype.kind != "f" or np.all(counts % 1 == 0)
    counts = counts.astype(np.int64 if whole else np.float64)
    labels, order = np.unique(classes, return_index=True)
    if len(classes) != n_classes or len(labels) != n_classes:
        raise ValueError(
            f"classes must hold {n_classes} distinct labels, one for each of the "
            f"classes, got {classes}."
        )
    return labels, counts[order], order


def _coordinates(components, axes):
    """Coordinates in axes of filters (rows) in the span of the axes."""
    coordinates = components @ axes.T
    outside = np.linalg.norm(components - coordinates @ axes, axis=1)
    # Filters may be in float32.
    far = outside > 1e-5 * np.linalg.norm(components, axis=1)
    if far.any():
        raise ValueError(
            f"Row {np.argmax(far)} of components is not in the span of the axes of the "
            "statistics. Use filters learned from these statistics, or more axes."
        )
    return coordinates
