"""Prototypes among SPD matrices with the affine-invariant metric."""

from functools import cached_property
from itertools import pairwise

import numpy as np

from skgeom._lvq.spaces.base import WhitenedPairs, WhitenedSpace
from skgeom._lvq.spaces.tangent import TangentSpace
from skgeom.geometry._affine_invariant import (
    affine_invariant_mean,
    from_spectrum,
    inverse_factors,
    log_eigenvalues,
    log_spectra,
    mean_logarithm,
    threaded_log_spectra,
)
from skgeom.geometry._spd import from_upper_triangles, upper_triangles
from skgeom.utils.array_api import (
    cholesky_factors,
    device_and_dtype,
    device_of,
    namespace,
    put,
    sum_of,
    take,
)


class AffineInvariantSpace(WhitenedSpace):
    r"""SPD matrices with the affine-invariant metric.

    With :math:`W = F F^\top` and the eigenvalues :math:`\lambda_i` and eigenvectors V
    of :math:`F^{-1} X F^{-\top}`, the squared distance is :math:`\sum_i \log^2
    \lambda_i`, the logarithm map :math:`F V \log(\Lambda) V^\top F^\top`, and the point
    at the fraction t of the geodesic from W to X
    :math:`(F V \Lambda^{t/2})(F V \Lambda^{t/2})^\top`. One eigendecomposition a pair
    is all that cost, gradient and step need.
    """

    name = "affine-invariant"
    has_geodesics = True
    learns_subspace = True
    has_slopes = True

    def mean(self, Z, weights):
        return affine_invariant_mean(Z, weights)

    def squared_distances(self, Z, prototypes):
        inverses = inverse_factors(prototypes)[:, None, ...]
        logarithms, xp = log_eigenvalues(Z, inverses), namespace(Z)
        if xp is np:
            return np.einsum("jip,jip->ij", logarithms, logarithms)
        return xp.sum(logarithms**2, axis=-1).T

    def pairs(self, Z, prototypes, at_least=None):
        return AffineInvariantPairs(Z, prototypes, at_least)

    def chart(self, prototypes):
        chart = TangentSpace()
        chart.learn(prototypes, None, None)
        return chart

    def stochastic(self, prototypes):
        return FactorSteps(prototypes)


class AffineInvariantPairs(WhitenedPairs):
    """Squared distances of n samples from M prototypes, with gradients.

    Given lower bounds ``at_least`` of the squared distances, (n, M), these stand for
    the distances of all pairs that :meth:`resolve` does not find to matter. Such pairs
    have no gradient.
    """

    def __init__(self, Z, prototypes, at_least=None):
        self._Z, self._inverse = Z, inverse_factors(prototypes)
        self._parts = []
        xp, lead = namespace(Z), (Z.shape[0], prototypes.shape[0])
        self._known = xp.zeros(lead, dtype=xp.bool, device=device_of(Z))
        self.squared_distances = at_least
        if at_least is None:
            self.squared_distances = xp.zeros(lead, **device_and_dtype(Z))
            self._compute(~self._known)

    def resolve(self, matter):
        # A bound that is replaced by the distance may let other pairs matter.
        while True:
            wanted = matter(self.squared_distances) & ~self._known
            if not namespace(wanted).any(wanted):
                return
            self._compute(wanted)

    def _compute(self, wanted):
        part = _Part(self._Z, self._inverse, wanted)
        squared = put(self.squared_distances.T, part.wanted, part.squared_distances)
        self.squared_distances = squared.T
        self._known = self._known | wanted
        self._parts.append(part)

    def gradient(self, weights):
        whitened = from_upper_triangles(self.pull_back(weights))
        return self._inverse.mT @ whitened @ self._inverse

    def sample_gradient(self, weights):
        return sum(part.sample_gradient(weights) for part in self._parts)

    # Of numpy's arrays, only the rows of the pairs that are known are multiplied, one
    # prototype after the other; of others all at once, with zeros for the unknown.

    def slopes(self, coordinates):
        if namespace(coordinates) is not np:
            return super().slopes(coordinates)
        slopes = np.zeros(self._known.shape)
        for part in self._parts:
            slopes[part.samples, part.prototypes] = part.slopes(coordinates)
        return slopes

    def pull_back(self, weights):
        if namespace(weights) is not np:
            return super().pull_back(weights)
        return sum(part.pull_back(weights) for part in self._parts)

    @cached_property
    def _rows(self):
        shape = *self._known.T.shape, self._parts[0].rows.shape[-1]
        rows = namespace(self._Z).zeros(shape, **device_and_dtype(self._Z))
        for part in self._parts:
            rows = put(rows, part.wanted, part.rows)
        return rows


class _Part:
    """Some of the pairs, prototype by prototype, with their eigendecompositions."""

    def __init__(self, Z, inverses, wanted):
        xp, self.wanted = namespace(Z), wanted.T
        self.prototypes, self.samples = xp.nonzero(self.wanted)
        self._shape, self._inverses = Z.shape, inverses
        self._logarithms, self._vectors = log_spectra(
            take(Z, self.samples), take(inverses, self.prototypes)
        )
        self.squared_distances = sum_of(self._logarithms**2, axis=-1)

    @cached_property
    def _ends(self):
        return np.searchsorted(self.prototypes, np.arange(len(self._inverses) + 1))

    @cached_property
    def rows(self):
        """Gradients in whitened coordinates, -2 log, as vectors (n_pairs, p)."""
        return -2 * upper_triangles(from_spectrum(self._vectors, self._logarithms))

    def slopes(self, coordinates):
        """Derivatives of the squared distances along tangent vectors, (n_pairs,)."""
        slopes = np.empty(len(self.rows))
        for direction, (own, rows) in zip(coordinates, self._by_prototype, strict=True):
            np.matmul(rows, direction, out=slopes[own])
        return slopes

    def pull_back(self, weights):
        """Gradients of the weighted sum in whitened coordinates, (M, p)."""
        weights = weights[self.samples, self.prototypes]
        return np.stack([weights[own] @ rows for own, rows in self._by_prototype])

    def sample_gradient(self, weights):
        """Gradient of the weighted sum for the samples."""
        xp = namespace(weights)
        weights = weights.T[self.wanted][:, None]
        diagonals = 2 * weights * self._logarithms * xp.exp(-self._logarithms)
        inverses = take(self._inverses, self.prototypes)
        gradients = inverses.mT @ from_spectrum(self._vectors, diagonals) @ inverses
        (n_samples, *shape), n_prototypes = self._shape, self._inverses.shape[0]
        shape = n_prototypes, n_samples, *shape
        total = xp.zeros(shape, **device_and_dtype(gradients))
        return xp.sum(put(total, self.wanted, gradients), axis=0)

    @property
    def _by_prototype(self):
        """Slices of the pairs, and their rows, for each prototype."""
        for begin, end in pairwise(self._ends):
            yield slice(begin, end), self.rows[begin:end]


class FactorSteps:
    r"""Prototypes as factors, :math:`W = F F^\top`, with the inverses of F.

    A step of whitened direction :math:`T = U \Theta U^\top` along a geodesic multiplies
    F by :math:`U e^{\Theta/2}`, so that nothing has to be factored again.
    """

    def __init__(self, prototypes):
        self._xp = namespace(prototypes)
        self._factors = cholesky_factors(prototypes)
        self._inverses = self._xp.linalg.inv(self._factors)

    @property
    def prototypes(self):
        return self._factors @ self._factors.mT

    def evaluate(self, Z):
        """Squared distances (n, M) of samples, remembered for the next step."""
        self._spectra = threaded_log_spectra(Z, self._inverses)
        return sum_of(self._spectra[0] ** 2, axis=-1).T

    def move(self, coefficients):
        """Step along the sum over samples of ``coefficients * Log_W(X)``, (n, M)."""
        logarithms, vectors = self._spectra
        if coefficients.shape[0] == 1:  # the sum has the eigenvectors of its one term
            exponents = coefficients.T * logarithms[:, 0, :]
            vectors = vectors[:, 0, ...]
        else:
            whitened = mean_logarithm(logarithms, vectors, coefficients.T)
            exponents, vectors = self._xp.linalg.eigh(whitened)
        half = self._xp.exp(exponents / 2)
        self._factors = (self._factors @ vectors) * half[:, None, :]
        self._inverses = (vectors.mT @ self._inverses) / half[:, :, None]

    def refresh(self):
        """Factor the prototypes again: rounding adds up in factor and inverse."""
        self.__init__(self.prototypes)
