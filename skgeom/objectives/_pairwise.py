"""Projected class statistics, and the mean distance between all pairs of classes.

A sample of the pairs suffices for the mean over many classes if each class appears in
the sample in proportion to its weight: then only the part of a distance that is
specific to the pair is random.
"""

from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from sklearn.utils import check_random_state, gen_batches

from skgeom.utils.array_api import (
    float_dtype,
    in_double,
    like,
    namespace,
    on_cpu,
    to_numpy,
)
from skgeom.utils.threads import map_threads
from skgeom.utils.validation import check_array, check_semidefinite, check_symmetric

# Size in numbers of the blocks of classes that several threads project
# (benchmarks/bench_many_classes.py).
_NUMBERS_PER_BLOCK = 2**21

# Largest number of pairs that are evaluated without sampling; 100 classes have about as
# many (benchmarks/bench_many_classes.py).
FEW_PAIRS = 5000
# Number of pairs of the first sample: at least _LEAST in all, and _FIRST for each
# class. Samples grow by the factor _GROWTH, and end with all pairs if there are at most
# _LAST for each class (benchmarks/bench_many_classes.py).
_LEAST, _FIRST, _GROWTH, _LAST = 2500, 8, 4, 100

# Pairs are evaluated in blocks, each by one thread: with many classes, most of the work
# is in the factorizations of small matrices, which keep one core busy only. The blocks,
# and so the result, do not depend on the number of threads. Each block has gradients of
# all classes, which limits the number of blocks (benchmarks/bench_many_classes.py).
_PAIRS_PER_BLOCK, _MOST_BLOCKS = 512, 64

# Largest number of pairs from which the mean is computed; 1,024 classes have about as
# many. A sample of this size estimates the mean of more pairs
# (benchmarks/bench_many_classes.py).
_PAIRS_OF_MEAN = 2**19


class Objective:
    """Base class of objectives of filters.

    Filters F are the columns of an array of shape (n, m), for any m. A subclass defines
    ``__call__`` and ``project``, and the optional members that its optimization uses.

    ``objective(filters)``
        returns the value and its gradient, of shape (n, m). It raises
        ``numpy.linalg.LinAlgError`` where the value is not finite;
    ``objective.project(basis)``
        returns the same objective for filters ``basis @ G``, as a function of G;
    ``objective.growing_subsets(random_state)``
        returns subsets of the terms of the objective, each part of the next one, for
        the first iterations. By default there are none;
    ``objective.subset(terms)``
        returns the same objective, estimated from some of its terms only. Required for
        subsets and batches;
    ``objective.mean(filters)``
        returns the value of all terms. Required if the last subset is not complete;
    ``objective.n_samples``
        is the number of terms. Required for batches;
    ``objective.classes``
        are the :class:`ClassMoments` before the projection. Required for the automatic
        selection of shrinkage and regularization.

    Attributes
    ----------
    terms : str, default="samples"
        What the terms are, in messages.
    complete : bool, default=True
        Whether these are all terms, not a subset of them.
    parallel : bool, default=False
        Whether threads share the work, so that BLAS should have one thread.
    rotation_invariant : bool, default=False
        Whether the objective is equal for filters F and F R with an orthogonal R.
    affine_invariant : bool, default=False
        Whether, without regularization, linear maps of the features change nothing.
    """

    terms = "samples"
    complete = True
    parallel = rotation_invariant = affine_invariant = False

    def growing_subsets(self, random_state):
        return []


class StructuredCovariances:
    r"""Covariances that are block-diagonal, or low rank plus diagonal, never formed.

    Class i has the covariance :math:`\Phi_i = D_i + A_i^\top A_i`. An index selects
    some of the classes; an integer, or the mean, is a single matrix, which multiplies
    filters as an array does.

    Parameters
    ----------
    diagonal : array-like of shape (c, n) or (c, n_blocks, d, d)
        The diagonal of :math:`D_i`, or the blocks on it, with n = n_blocks * d.
    factors : array-like of shape (c, r, n), default=None
        The rows of :math:`A_i`, not copied if they are C-contiguous in float64.
    """

    def __init__(self, diagonal, factors=None):
        options = {"dtype": np.float64, "allow_nd": True}
        blocks = check_array(on_cpu(diagonal), input_name="diagonal", **options)
        if blocks.ndim == 2:
            blocks = blocks[:, :, None, None]
        check_symmetric(blocks, "diagonal")
        n_classes, size = len(blocks), blocks.shape[-1]
        n_features = int(np.prod(blocks.shape[1:-1]))
        rows = np.empty((n_classes, 0, n_features))
        if factors is not None:
            rows = check_array(on_cpu(factors), input_name="factors", **options)
        fits = rows.shape == (n_classes, *rows.shape[1:2], n_features)
        if blocks.ndim != 4 or not fits:
            raise ValueError(
                "diagonal must have shape (n_classes, n_features) or (n_classes, "
                "n_blocks, d, d), and factors (n_classes, r, n_features), but their "
                f"shapes are {np.shape(diagonal)} and {rows.shape}."
            )
        few = blocks.reshape(-1, size, size)
        if size == 1:  # the smallest variance, compared with the largest one
            few = np.diag([blocks.min(), blocks.max()])[None]
        check_semidefinite(few, "diagonal", "covariance of a block")
        # Class i is blocks[i] plus the sum of weights[i, j] times the outer product of
        # row j with itself. All classes share the rows, and so does their mean.
        self._blocks = (blocks + blocks.mT) / 2
        self._rows = [rows.reshape(-1, n_features)]
        self._weights = np.repeat(np.eye(n_classes), rows.shape[1], axis=1)

    def _with(self, blocks, weights, rows=()):
        """Matrices of these blocks and weights, with the same and more rows."""
        other = copy(self)
        other._blocks, other._weights = blocks, weights
        other._rows = [*self._rows, *rows]
        return other

    @property
    def shape(self):
        """Shape of the array that is not formed."""
        *batch, n_blocks, size, _ = self._blocks.shape
        return *batch, n_blocks * size, n_blocks * size

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, classes):
        if isinstance(classes, tuple):
            return self.__array__()
        return self._with(self._blocks[classes], self._weights[classes])

    def __array__(self, dtype=None, copy=None):
        raise ValueError(
            f"Structured covariances of shape {self.shape} cannot become an array. "
            "Statistics with them cannot be added, decayed, shrunk or saved. "
            "SQFA and SecondMomentSQFA.fit_statistics accept them, unless "
            "regularization is a matrix. With more than 1,000 features, regularization "
            "must be positive, init a name, and orthonormal filters without groups. "
            "In other cases, use the statistics of features, "
            "statistics.project(filters)."
        )

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        """Products ``array @ self``; NumPy has no other operation."""
        if ufunc is not np.matmul:
            return self.__array__()
        return (self @ inputs[0].T).T

    def mean(self, weights):
        """The weighted mean over the classes, a single matrix."""
        blocks = np.tensordot(weights, self._blocks, axes=1)
        return self._with(blocks, weights @ self._weights)

    def plus(self, rows, weights):
        """The sum with weighted outer products of rows with themselves."""
        weights = np.concatenate([self._weights, weights], axis=-1)
        return self._with(self._blocks, weights, [rows])

    def plus_identity(self, variance):
        """The sum with a multiple of the identity."""
        identity = np.eye(self._blocks.shape[-1])
        return self._with(self._blocks + variance * identity, self._weights)

    def diagonal(self):
        """The diagonal of a single matrix, as for an array."""
        found = np.diagonal(self._blocks, axis1=-2, axis2=-1).reshape(-1)
        for rows, weights in self._parts(self._weights):
            found = found + np.einsum("j,jn,jn->n", weights, rows, rows)
        return found

    def trace(self):
        """The trace of a single matrix, as for an array."""
        return self.diagonal().sum()

    def __matmul__(self, filters):
        """The product of a single matrix with filters."""
        if self._blocks.ndim != 3 or np.ndim(filters) != 2:
            return self.__array__()
        inner = self._weights[:, None] * self._inner(filters)
        return self._add_outer(_blocks_times(self._blocks, filters), inner)

    def forms(self, filters):
        """``filters.T @ self @ filters``, and a function of the sum of the products.

        The function maps weights of shape (c, m, m) to the sum over the classes of
        ``self[i] @ filters @ weights[i]``, of shape (n, m).
        """
        halves, inner = _blocks_times(self._blocks, filters), self._inner(filters)
        weighted = self._weights[..., None] * inner

        def weighted_sum(weights):
            of_blocks = np.tensordot(halves, weights, axes=([0, 2], [0, 1]))
            return self._add_outer(of_blocks, (weighted @ weights).sum(axis=0))

        return filters.T @ halves + inner.T @ weighted, weighted_sum

    def project(self, basis):
        """``basis.T @ self @ basis``, with the blocks of one class at a time."""
        inner = self._inner(basis)
        found = inner.T @ (self._weights[..., None] * inner)
        for k, blocks in enumerate(self._blocks):
            found[k] += basis.T @ _blocks_times(blocks, basis)
        return found

    def roots(self):
        """A factor L of a single matrix, L L' = self, and its inverse, as operators.

        The matrix is C C' + A' A, with the Cholesky factors C of the blocks. With
        V = C^-1 A', L = C (I + V V')^(1/2): the eigenvectors of the small matrix V' V
        determine the root and its inverse.
        """
        n, scales = len(self), np.sqrt(self._weights)[:, None]
        factors = np.linalg.cholesky(self._blocks)
        factor, inverse = (
            _operator(partial(_blocks_times, f), partial(_blocks_times, f.mT), n, n)
            for f in (factors, np.linalg.inv(factors))
        )
        v = inverse @ _operator(
            lambda x: self._add_outer(np.zeros((n, x.shape[1])), scales * x),
            lambda x: scales * self._inner(x),
            n,
            len(scales),
        )
        gram = np.eye(len(scales))
        for batch in gen_batches(len(gram), 64):
            gram[:, batch] = v.T @ (v @ gram[:, batch])
        squares, axes = np.linalg.eigh(gram)
        roots = np.sqrt(1 + np.maximum(squares, 0))
        first, second = (
            v @ aslinearoperator((axes * values) @ axes.T) @ v.T
            for values in (1 / (1 + roots), 1 / (roots + roots**2))
        )
        return factor + factor @ first, inverse - second @ inverse

    def _parts(self, values):
        """The arrays of rows, each with its part of values for all rows."""
        ends = np.cumsum([len(rows) for rows in self._rows])[:-1]
        return zip(self._rows, np.split(values, ends), strict=True)

    def _inner(self, filters):
        return np.concatenate([rows @ filters for rows in self._rows])

    def _add_outer(self, products, inner):
        for rows, part in self._parts(inner):
            products += rows.T @ part
        return products


def _blocks_times(blocks, filters):
    """Block-diagonal matrices, (..., b, d, d), times filters, (b d, m)."""
    *batch, n_blocks, size, _ = blocks.shape
    if size == 1:
        return blocks[..., 0] * filters
    products = blocks @ filters.reshape(n_blocks, size, filters.shape[1])
    return products.reshape(*batch, *filters.shape)


def _operator(product, transposed, *shape):
    """An operator that multiplies columns."""
    both = {"matmat": product, "rmatmat": transposed, "rmatvec": transposed}
    return LinearOperator(shape, product, dtype=float, **both)


def plus_outer_products(matrix, rows, weights):
    """An array or structured covariances, plus weighted outer products of rows."""
    if isinstance(matrix, StructuredCovariances):
        return matrix.plus(rows, weights)
    return matrix + (rows.T * weights) @ rows


class ClassMoments:
    r"""Means and covariances of some classes, as a function of filters.

    With filters F of shape (n, m), class i has the features' mean
    :math:`F^\top \gamma_i` and covariance :math:`F^\top \Phi_i F + \sigma^2 I`.

    The covariances may be arrays of another library than NumPy. The products with them,
    nearly all of the cost, are then computed on their device. All other arguments and
    results are NumPy arrays.

    Parameters
    ----------
    means : array of shape (c, n)
        Class means :math:`\gamma_i`.
    covariances : array of shape (c, n, n), or StructuredCovariances
        Class covariances :math:`\Phi_i`; not copied if C-contiguous.
    regularization : float
        :math:`\sigma^2`, in squared units of the data.
    parallel : bool, default=False
        Whether to project NumPy arrays with our own threads instead of BLAS threads.
    """

    def __init__(self, means, covariances, regularization, parallel=False):
        self._xp = namespace(covariances)
        of_numpy = self._xp is np
        self.means = to_numpy(means)
        self._is_structured = isinstance(covariances, StructuredCovariances)
        if of_numpy and not self._is_structured:
            covariances = np.ascontiguousarray(covariances)
        self.covariances = covariances
        self.regularization = regularization
        self.parallel = parallel
        # Chosen once, because choosing the library takes as long as a small product.
        self._to_cpu = np.asarray if of_numpy else to_numpy
        self._to_device = np.asarray if of_numpy else partial(like, model=covariances)
        self._double = float_dtype(covariances)

    def project(self, basis):
        """The same for filters ``basis @ G``, as a function of G."""
        if self._is_structured:
            covariances = self.covariances.project(basis)
        else:
            columns = like(basis, self.covariances, self.covariances.dtype)
            products = self._by_blocks(lambda part: columns.T @ (part @ columns))
            covariances = in_double(namespace(products[0]).concat(products))
        covariances = np.asarray(to_numpy(covariances), dtype=np.float64)
        means, sigma2 = self.means @ basis, self.regularization
        return ClassMoments(means, covariances, sigma2, self.parallel)

    def __call__(self, filters):
        """Means (c, m), covariances (c, m, m), and a function of their gradients.

        The function maps gradients of these shapes, the latter symmetric, to the
        gradient with respect to the filters, (n, m).
        """
        if self._is_structured:
            covariances, weighted_sum = self.covariances.forms(filters)
        else:
            xp, double = self._xp, self._double
            n_classes, n_features = self.means.shape
            n_filters = filters.shape[1]
            rows = self._to_device(filters.T, dtype=self.covariances.dtype)
            # One pass over the covariances, which is nearly all of the cost: (m, c n),
            # as products of few rows, since the covariances are symmetric.
            halves = self._by_blocks(
                lambda part: rows @ xp.reshape(part, (-1, n_features)).T
            )
            half = xp.astype(xp.concat(halves, axis=1), double, copy=False)
            by_class = xp.reshape(half, (n_filters, n_classes, n_features))
            by_class = xp.permute_dims(by_class, (1, 0, 2))
            products = by_class @ self._to_device(filters, dtype=double)
            covariances = np.asarray(self._to_cpu(products), dtype=np.float64)

            def weighted_sum(weights):
                # The sum over the classes of weights @ by_class, as one product.
                weights = weights.transpose(1, 2, 0).reshape(n_filters, -1)
                weights = self._to_device(weights, dtype=double)
                summed = self._to_cpu(weights @ xp.reshape(half, (-1, n_features)))
                return np.asarray(summed, dtype=np.float64).T

        covariances = (covariances + covariances.mT) / 2
        covariances += self.regularization * np.eye(filters.shape[1])

        def pull_back(of_means, of_covariances):
            return 2 * weighted_sum(of_covariances) + self.means.T @ of_means

        return self.means @ filters, covariances, pull_back

    @cached_property
    def _blocks(self):
        """Slices of the classes, one for each call of a thread."""
        n_classes, n_blocks = len(self.means), 1
        if self.parallel and self._xp is np:
            n_blocks = min(self.covariances.size // _NUMBERS_PER_BLOCK + 1, n_classes)
        ends = np.linspace(0, n_classes, n_blocks + 1).astype(int)
        return [slice(*pair) for pair in pairwise(ends)]

    def _by_blocks(self, function):
        """Results of a function of blocks of the covariances."""
        if len(self._blocks) == 1:
            return [function(self.covariances)]
        return map_threads(
            lambda block: function(self.covariances[block, ...]), self._blocks
        )


class MeanPairwiseDistance(Objective):
    r"""Mean distance between the class-conditional Gaussians of projected data.

    For filters F of shape (n, m), the classes have the projected statistics
    :math:`\mu_i = F^\top \gamma_i` and
    :math:`\Sigma_i = F^\top \Phi_i F + \sigma^2 I` (section 4 of Herrera-Esposito and
    Burge, 2025), and the value is the mean of :math:`d(i, j)` over all pairs
    :math:`i < j`, equation 1 of the paper up to a constant factor.

    Parameters
    ----------
    means : ndarray of shape (c, n)
        Class means :math:`\gamma_i`, c > 1.
    covariances : ndarray of shape (c, n, n)
        Class covariances :math:`\Phi_i`; not copied if C-contiguous.
    regularization : float
        :math:`\sigma^2`, in squared units of the data.
    distance : class
        One of the values of :data:`skgeom.objectives.DISTANCES`.
    squared : bool, default=False
        Whether to average the squares of the distances.
    weights : ndarray of shape (c,), default=None
        Weights :math:`w_i` of the classes: the mean is then that with the weights
        :math:`w_i w_j` of the pairs. None: equal weights.
    pair_weights : ndarray of shape (c, c), default=None
        Factors :math:`v_{ij}` of the weights of the pairs, symmetric: a pair then has
        the weight :math:`w_i w_j v_{ij}`. None: equal factors.
    """

    terms = "pairs"

    def __init__(
        self,
        means,
        covariances,
        regularization,
        distance,
        squared=False,
        weights=None,
        pair_weights=None,
    ):
        self.distance = distance
        self.squared = squared
        self.weights = np.ones(means.shape[0]) if weights is None else weights
        self.pair_weights = pair_weights
        self.n_pairs = n_weighted_pairs(self.weights, pair_weights)
        self.classes = ClassMoments(means, covariances, regularization, self.parallel)

    @cached_property
    def _pairs(self):
        return all_pairs(self.weights, self.pair_weights)

    @property
    def complete(self):
        """Whether this is the mean over all pairs, not over a subset of them."""
        return self._pairs.complete

    @property
    def n_features(self):
        """Number of rows of the filters."""
        return self.classes.means.shape[1]

    @property
    def parallel(self):
        """Whether threads share the work; few pairs are evaluated by one thread."""
        return self.distance.parallel and self.n_pairs > _PAIRS_PER_BLOCK

    @property
    def rotation_invariant(self):
        """Whether rotations of the features do not change the distance."""
        return self.distance.rotation_invariant

    @property
    def affine_invariant(self):
        """Whether linear maps of the features do not change the distance."""
        return self.distance.affine_invariant

    def project(self, basis):
        """The same objective for filters ``basis @ G``, as a function of G.

        ``basis`` has shape (n, k). If its columns are orthonormal, filters G and
        ``basis @ G`` meet the constraint of unit norm together.
        """
        projected = copy(self)
        projected.classes = self.classes.project(basis)
        return projected

    def growing_subsets(self, random_state):
        """Subsets of the pairs for the first iterations; none if the pairs are few.

        See :func:`growing_subsets`.
        """
        return growing_subsets(self.weights, random_state, self.pair_weights)

    def subset(self, pairs):
        """The same objective, estimated from some pairs only."""
        part = copy(self)
        part._pairs, part.n_pairs = pairs, len(pairs)
        return part

    def __call__(self, filters):
        """Value and gradient, (n, m), at ``filters``, (n, m).

        Raises
        ------
        numpy.linalg.LinAlgError
            If a projected covariance is not positive definite.
        """
        means, covariances, pull_back = self.classes(filters)
        distances = self.distance(means, covariances)

        def evaluate(block):
            i, j, weights = block
            values, gradient = distances.pairs(i, j)
            values, slopes = self._values_to_average(values)
            return values @ weights, gradient(slopes * weights)

        blocks = _blocks(self._pairs)
        if len(blocks) == 1:
            sums = [evaluate(blocks[0])]
        else:
            sums = map_threads(evaluate, blocks, self.distance.parallel)
        values, gradients = zip(*sums, strict=True)
        return sum(values), pull_back(*distances.pull_back(sum(gradients)))

    def mean(self, filters):
        """Value at ``filters`` for all pairs, even if a subset of pairs is optimized.

        With more than 524,288 pairs, the value is estimated from a fixed sample of
        about this size, so values of two optimizations are comparable.
        """
        pairs = large_sample(
            self.weights, _PAIRS_OF_MEAN, random_state=0, pair_weights=self.pair_weights
        )
        values, _ = self._values_to_average(self._values(filters, pairs))
        return float(values @ pairs.weights)

    def matrix(self):
        """Distances between all pairs, unprojected, as a symmetric (c, c) matrix."""
        pairs = all_pairs(np.ones(len(self.weights)))
        values = self._values(np.eye(self.n_features), pairs)
        matrix = np.zeros((len(self.weights), len(self.weights)))
        roots = np.sqrt(values) if self.distance.returns_square else values
        matrix[pairs.i, pairs.j] = roots
        return matrix + matrix.T

    def _values(self, filters, pairs):
        """Distances of some pairs, without gradients."""
        means, covariances, _ = self.classes(filters)
        distances = self.distance(means, covariances)

        def evaluate(block):
            i, j, _ = block
            values, _ = distances.pairs(i, j)
            return values

        values = map_threads(evaluate, _blocks(pairs), self.distance.parallel)
        return np.concatenate(values)

    def _values_to_average(self, values):
        """The values to average and their derivative, from the result of ``pairs``."""
        if self.squared == self.distance.returns_square:
            return values, np.ones_like(values)
        if self.squared:
            return values**2, 2 * values
        # At zero the root has no gradient. Two classes that coincide are a minimum of
        # their distance, so the subgradient zero lets the other pairs determine the
        # ascent.
        roots = np.sqrt(values)
        slopes = np.zeros_like(roots)
        np.divide(0.5, roots, out=slopes, where=roots > 0)
        return roots, slopes


def _blocks(pairs):
    """Pairs of classes, (i, j), with weights, in parts of about equal size."""
    arrays = (pairs.i, pairs.j, pairs.weights)
    n_blocks = min(-(-len(pairs.i) // _PAIRS_PER_BLOCK), _MOST_BLOCKS)
    if n_blocks == 1:  # splitting costs .1 of an evaluation of three classes
        return [arrays]
    return list(zip(*(np.array_split(a, n_blocks) for a in arrays), strict=True))


@dataclass(frozen=True)
class Pairs:
    """Some pairs of classes, for a mean over all of them.

    Attributes
    ----------
    i, j : ndarray of shape (p,)
        Indices of the classes, i < j.
    weights : ndarray of shape (p,)
        Weights of the pairs in the mean.
    complete : bool
        Whether these are all pairs.
    """

    i: np.ndarray
    j: np.ndarray
    weights: np.ndarray
    complete: bool = True

    def __len__(self):
        return len(self.i)


def n_weighted_pairs(weights, pair_weights=None):
    """Number of pairs of classes that have a weight."""
    n_classes = int(np.count_nonzero(weights))
    if pair_weights is None:
        return n_classes * (n_classes - 1) // 2
    return len(all_pairs(weights, pair_weights))


def all_pairs(weights, pair_weights=None):
    """All pairs of classes that have a weight.

    Parameters
    ----------
    weights : ndarray of shape (c,)
        Weights of the classes.
    pair_weights : ndarray of shape (c, c), default=None
        Factors of the weights of the pairs, symmetric.
    """
    classes = np.flatnonzero(weights)
    i, j = np.triu_indices(len(classes), 1)
    i, j = classes[i], classes[j]
    of_pairs = weights[i] * weights[j]
    if pair_weights is not None:
        of_pairs = of_pairs * pair_weights[i, j]
        weighted = of_pairs > 0
        i, j, of_pairs = i[weighted], j[weighted], of_pairs[weighted]
    return Pairs(i, j, of_pairs / of_pairs.sum())


def growing_subsets(weights, random_state, pair_weights=None):
    """Subsets of the pairs, each part of the next one; none if the pairs are few.

    The last subset has all pairs if their number is at most a fixed multiple of the
    number of classes. All subsets respect this limit.

    Parameters
    ----------
    weights : ndarray of shape (c,)
        Weights of the classes.
    random_state : int, RandomState instance or None
        Random state of the draw.
    pair_weights : ndarray of shape (c, c), default=None
        Factors of the weights of the pairs, symmetric.

    Returns
    -------
    list of Pairs
    """
    n_pairs = n_weighted_pairs(weights, pair_weights)
    if n_pairs <= FEW_PAIRS:
        return []
    draw = _CyclicPairs(weights, random_state, pair_weights)
    largest = _LAST * np.count_nonzero(weights)
    last = (
        all_pairs(weights, pair_weights) if n_pairs <= largest else draw.sample(largest)
    )
    sizes = []
    size = max(_LEAST, _FIRST * np.count_nonzero(weights))
    while size <= len(last) / 2:
        sizes.append(size)
        size *= _GROWTH
    return [*map(draw.sample, sizes), last]


def large_sample(weights, n_pairs, random_state, pair_weights=None):
    """A sample of about ``n_pairs`` pairs, or all pairs if there are fewer."""
    if n_weighted_pairs(weights, pair_weights) <= n_pairs:
        return all_pairs(weights, pair_weights)
    return _CyclicPairs(weights, random_state, pair_weights).sample(n_pairs)


class _CyclicPairs:
    r"""Pairs of neighbors, at some distances, on a circle of the classes.

    On a circle in random order, the pairs at r of the possible distances hold each
    class 2 r times, and any two classes are as likely to be among them. A class of
    weight :math:`w_i` has :math:`n_i \approx w_i` places of N on the circle, so that
    the pair (i, j) is expected :math:`2 r n_i n_j / (N - 1)` times. Divided by that,
    its weight makes the weighted sum of a sample an unbiased estimate of the mean.
    """

    def __init__(self, weights, random_state, pair_weights=None):
        rng = check_random_state(random_state)
        self.weights, self.pair_weights = weights, pair_weights
        self.places = np.rint(weights / weights[weights > 0].mean()).astype(int)
        self.places[(weights > 0) & (self.places == 0)] = 1
        self.circle = rng.permutation(np.repeat(np.arange(len(weights)), self.places))
        self.distances = rng.permutation(np.arange(1, (len(self.circle) + 1) // 2))
        if pair_weights is None:
            self.total = (weights.sum() ** 2 - (weights**2).sum()) / 2
        else:
            squares = weights**2 @ np.diag(pair_weights)
            self.total = (weights @ pair_weights @ weights - squares) / 2

    def sample(self, n_pairs):
        """The pairs at the first few distances, about ``n_pairs`` of them."""
        n_classes, n_places = len(self.weights), len(self.circle)
        distances = self.distances[: max(n_pairs // n_places, 1)]
        pairs = np.stack(
            [
                np.tile(self.circle, len(distances)),
                np.concatenate([np.roll(self.circle, d) for d in distances]),
            ]
        )
        pairs = np.sort(pairs[:, pairs[0] != pairs[1]], axis=0)
        # Classes with several places may meet several times.
        codes, counts = np.unique(pairs[0] * n_classes + pairs[1], return_counts=True)
        i, j = np.divmod(codes, n_classes)
        expected = 2 * len(distances) * self.places[i] * self.places[j] / (n_places - 1)
        weights = self.weights[i] * self.weights[j] / self.total
        if self.pair_weights is not None:
            weights = weights * self.pair_weights[i, j]
        return Pairs(i, j, counts / expected * weights, complete=False)
