"""The base class of distances between projected classes.

A distance is a class that inherits from :class:`Distance`, with the following methods
and attributes, for c classes and m features.

``Distance(means, covariances)``
    accepts the projected means (c, m) and covariances (c, m, m) of all classes, and
    performs the computations that are required once per class. The constructor or
    ``pairs`` raises ``numpy.linalg.LinAlgError`` if a covariance is not positive
    definite, at least for the distances in ``DISTANCES``.
``distance.pairs(i, j)``
    accepts two integer arrays of p class indices. It returns the values of p pairs and
    a function that maps p weights to the gradients of the weighted values, an array as
    ``of_pairs`` returns it: those with respect to the p classes i, and then to the p
    classes j. The values are nonnegative, because their square roots are computed:
    negative rounding errors are set to zero.
``distance.pull_back(gradient)``
    converts the sums of such arrays over the pairs of each class, (c, ...), to the
    gradients with respect to the means (c, m) and the covariances (c, m, m). The latter
    are symmetric matrices G: a change dS of the covariance changes the value by the sum
    of the entries of G * dS.
``Distance.label``
    is the name in figures, which append "distance": the registered name, capitalized.
``Distance.returns_square``
    is true if ``pairs`` returns the square of the distance. If the distance is a square
    root, only its square has a gradient at zero. It is false for divergences.
``Distance.affine_invariant``
    is true if invertible linear maps of the features do not change the distance.
``Distance.translation_invariant``
    is true if a common offset of all means does not change the distance.
``Distance.rotation_invariant``
    is true if orthogonal maps of the features do not change the distance.
``Distance.parallel``
    is true if several threads may call ``pairs``.

A distance with parameters, such as :class:`StudentT`, is an object. Calling the object
replaces calling the class. It inherits from :class:`DistanceTraits`, and requires no
registered name.
"""

import numpy as np


class DistanceTraits:
    """Properties of a distance, with the values of most distances as defaults."""

    returns_square = False
    affine_invariant = True
    translation_invariant = True
    rotation_invariant = True
    parallel = True


class Distance(DistanceTraits):
    """Base class of distances of means and covariances.

    The gradient of a class is an array of shape (m, m + 1): the gradient with
    respect to the covariance in the first m columns, and the gradient with respect to
    the mean in the last column.
    """

    def __init__(self, means, covariances):
        self.means = means
        self.covariances = covariances

    def of_pairs(self, of_i, of_j, of_mean=None):
        """The gradients of p pairs, (2 p, ...), as ``pairs`` returns them.

        ``of_i`` and ``of_j`` (p, ...) are the gradients with respect to the first and
        second class of each pair. If ``of_mean`` is given, they are the gradients with
        respect to the covariances only; ``of_mean`` (p, m) are the gradients with
        respect to the mean of class i, and their negatives the gradients with respect
        to the mean of class j.
        """
        if of_mean is not None:
            of_i = np.concatenate([of_i, of_mean[..., None]], axis=-1)
            of_j = np.concatenate([of_j, -of_mean[..., None]], axis=-1)
        return np.concatenate([of_i, of_j])

    def pull_back(self, gradient):
        return gradient[..., -1], gradient[..., :-1]
