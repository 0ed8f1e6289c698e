"""What a distance between projected classes is, and what most distances share.

A distance of the package is a class in one of the files next to this one. It inherits
from :class:`Distance`, or from :class:`MatrixDistance` if it does not use the means. It
has what follows.

``Distance(means, covariances)``
    takes the projected statistics of all classes, (c, m) and (c, m, m), and does once
    per class whatever can be done once per class. It, or ``pairs``, raises
    ``numpy.linalg.LinAlgError`` where what it factors is not positive definite;
``distance.pairs(i, j)``
    takes two integer arrays of p class indices and returns p values and a function
    that maps p weights to the gradient of the weighted sum of the values, an array
    whose first axis is the class, as ``by_class`` returns it. Values are not negative:
    what rounding makes negative is set to zero, since roots are taken of squares;
``distance.pull_back(gradient)``
    turns such an array into the gradients with respect to means and covariances,
    (c, m) and (c, m, m), the latter symmetric matrices G such that a change dS of the
    covariance changes the value by the sum of the entries of G * dS;
``Distance.label``
    is what figures call it: its name in the registry with capitals and accents, to
    which they add "distance";
``Distance.returns_square``
    says that ``pairs`` returns the square of the distance. Where the distance is a
    root, only its square has a gradient at zero. A divergence is its own distance;
``Distance.affine_invariant``
    says that an invertible linear map of the features changes nothing;
``Distance.translation_invariant``
    says that a common offset of all means changes nothing;
``Distance.rotation_invariant``
    says that an orthogonal map of the features changes nothing;
``Distance.parallel``
    says that several threads may call ``pairs``;
``Distance.decomposes_pairs``
    says that ``pairs`` takes an eigendecomposition for each pair, so that where classes
    are many most of the work is there.

With its name in ``DISTANCES`` or ``SECOND_MOMENT_DISTANCES``, in ``_registry.py``, the
estimators and the displays know it, and the tests of the registries check it.

A distance with parameters, such as :class:`StudentT`, is an object that is called in
the place of the class. It inherits from :class:`DistanceTraits`, and needs no name.
"""

import numpy as np
from scipy.sparse import csc_array

# A sum over so many pairs and classes is faster by products than by a sparse matrix.
_FEW = 2**14


class DistanceTraits:
    """What is asked of a distance before it is computed; this is true of most."""

    returns_square = False
    affine_invariant = True
    translation_invariant = True
    rotation_invariant = True
    parallel = True
    decomposes_pairs = False


class Distance(DistanceTraits):
    """What most distances of means and covariances have in common.

    The gradients of a pair, or of a class, are kept as one array, (m, m + 1): that of
    the covariance, and that of the mean as a last column.
    """

    def __init__(self, means, covariances):
        self.means = means
        self.covariances = covariances

    def by_class(self, i, j, of_i, of_j):
        """Sum arrays of pairs, (p, ...), over those of each class, to (c, ...)."""
        arrays = np.concatenate([of_i, of_j])
        labels = np.concatenate([i, j])
        n_arrays, n_classes = len(arrays), len(self.means)
        if n_arrays * n_classes <= _FEW:
            indicator = np.equal.outer(np.arange(n_classes), labels).astype(float)
            return np.tensordot(indicator, arrays, 1)
        one_a_column = np.ones(n_arrays), labels, np.arange(n_arrays + 1)
        indicator = csc_array(one_a_column, shape=(n_classes, n_arrays))
        sums = indicator @ arrays.reshape(n_arrays, -1)
        return sums.reshape(n_classes, *arrays.shape[1:])

    def pull_back(self, gradient):
        return gradient[..., -1], gradient[..., :-1]


class MatrixDistance(Distance):
    """A distance of the covariances alone; the gradient of one is an array (m, m)."""

    def pull_back(self, gradient):
        return np.zeros_like(self.means), gradient


def stacked(of_covariance, of_mean):
    """The gradients of covariances, (p, m, m), and means, (p, m), as one array."""
    return np.concatenate([of_covariance, of_mean[..., None]], axis=-1)
