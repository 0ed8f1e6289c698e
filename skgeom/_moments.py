"""Counts, means and covariances of classes, which can be added and subtracted."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from skgeom.objectives._covariances import (
    ArrayCovariances,
    SampleCovariances,
    StructuredCovariances,
    covariances_of,
    joined_covariances,
    plus_outer_products,
)
from skgeom.utils.array_api import like, namespace, take, to_numpy


@dataclass(frozen=True)
class Moments:
    """The moments of c classes of n features.

    Attributes
    ----------
    counts : ndarray of shape (c,)
        Numbers of samples, or sums of their weights.
    means : array of shape (c, n)
        Zero if the covariances are about the origin.
    remainders : array of shape (c, n)
        The means are sums of ``means`` and these numbers, which are smaller than the
        rounding errors of the means.
    covariances : ArrayCovariances, SampleCovariances or StructuredCovariances
        The scatter matrix of each class about its mean, divided by the degrees of
        freedom.
    about_origin : bool
        Whether the covariances are second moments about the origin.
    """

    counts: np.ndarray
    means: np.ndarray
    remainders: np.ndarray
    covariances: ArrayCovariances | SampleCovariances | StructuredCovariances
    about_origin: bool = False

    @classmethod
    def of(cls, counts, means, covariances):
        """Moments without remainders; second moments if ``means`` is None."""
        covariances = covariances_of(covariances)
        about_origin = means is None
        means = np.zeros(covariances.shape[:2]) if about_origin else means
        return cls(counts, means, 0 * means, covariances, about_origin)

    @classmethod
    def of_scatters(cls, counts, means, remainders, scatters, about_origin=False):
        """Moments of scatter matrices, whose array is modified."""
        degrees = _degrees(1.0 * counts, about_origin)
        if isinstance(scatters, SampleCovariances):
            covariances = scatters.scaled(1 / degrees)
        else:
            scatters /= like(degrees, scatters)[:, None, None]
            covariances = ArrayCovariances(scatters)
        return cls(counts, means, remainders, covariances, about_origin)

    @classmethod
    def joined(cls, parts, n_classes):
        """The moments of all classes, from an iterator over moments of single classes.

        A single array is allocated for the covariances in CPU memory.
        """
        small = []

        def covariances():
            for part in parts:
                small.append((part.counts, part.means, part.remainders))
                yield part.covariances

        found = joined_covariances(covariances(), n_classes)
        counts, *means = zip(*small, strict=True)
        xp = namespace(means[0][0])
        return cls(np.concatenate(counts), *map(xp.concat, means), found)

    @property
    def degrees(self):
        """The divisors of the scatter matrices."""
        return _degrees(1.0 * self.counts, self.about_origin)

    def scatters(self, sign=1.0):
        """The scatter matrices times a sign, zero for classes without samples."""
        degrees = sign * self.degrees * (self.counts != 0)
        return self.covariances.scaled(degrees).values

    def __add__(self, other):
        """The moments of the samples of both, for the same classes."""
        return _combined(self, other, 1)

    def __sub__(self, other):
        """The moments of the samples of the first that are not in the second."""
        return _combined(self, other, -1)

    def take(self, rows):
        """The moments of some classes. For -1, a class without samples."""
        known = np.maximum(rows, 0)
        return replace(
            self,
            counts=np.where(rows >= 0, self.counts[known], 0),
            means=take(self.means, known),
            remainders=take(self.remainders, known),
            covariances=self.covariances.take(known),
        )

    def scaled(self, factors):
        """Multiply all weights by a factor, or those of each class by its factor."""
        counts = factors * self.counts
        old, new = (_degrees(n, self.about_origin) for n in (self.counts, counts))
        scales = np.broadcast_to(factors * old / new, counts.shape)
        return replace(self, counts=counts, covariances=self.covariances.scaled(scales))

    def with_counts(self, counts):
        """Moments with different sums of the weights of the classes.

        The covariance of a class is zero if its count is 1 or less: equal samples vary
        only by rounding.
        """
        found = self.scaled(counts / self.counts)
        several = np.where(counts > 1, 1.0, 0.0)
        return replace(
            found, counts=counts, covariances=found.covariances.scaled(several)
        )

    def to(self, convert):
        """Moments whose arrays are converted by a function."""
        means, remainders = map(convert, (self.means, self.remainders))
        covariances = self.covariances.to(convert)
        return replace(
            self, means=means, remainders=remainders, covariances=covariances
        )

    def project(self, filters):
        """The moments of the features ``X @ filters``."""
        means = like(to_numpy(self.means) @ filters, self.means)
        covariances = self.covariances.project(filters)
        if isinstance(covariances, ArrayCovariances):
            symmetric = (covariances.values + covariances.values.mT) / 2
            covariances = ArrayCovariances(like(symmetric, self.means))
        return replace(self, means=means, remainders=0 * means, covariances=covariances)

    def pooled(self):
        """The within-class and the total covariance, or twice the mean second moment.

        The weight of each class is proportional to its count.
        """
        weights = self.counts / self.counts.sum()
        within = self.covariances.mean(weights)
        if self.about_origin:
            return within, within
        weights = like(weights, self.means)
        offsets = self.means - weights @ self.means
        return within, plus_outer_products(within, offsets, weights)

    def second_moments(self):
        """The second moments of the samples themselves, in CPU memory."""
        moments = self.to(to_numpy)
        means = moments.means
        scatters = moments.scatters()
        scatters /= _degrees(moments.counts, True)[:, None, None]
        scatters += means[:, :, None] * means[:, None]
        return Moments.of(self.counts, None, scatters)


def _degrees(counts, about_origin):
    """Divisors of scatter matrices: counts - 1, or counts / 2 for counts below 2.

    Sums of weights may be below 1. As the divisor is at least half of the count, a
    covariance is at most that of two samples with the same mean square deviation. For
    second moments, the divisors are the counts. Without samples, the divisor is 1.
    """
    found = counts if about_origin else np.maximum(counts - 1.0, counts / 2)
    return np.where(counts == 0, 1.0, found)


def _combined(first, second, sign):
    """The sum of moments, or their difference if the sign is -1.

    Two sets of n_a and n_b samples have the joint scatter matrix

        S = S_a + S_b + n_a n_b / (n_a + n_b) d d',    d = mean_b - mean_a,

    (Chan, Golub and LeVeque, 1983). A negative n_b with a negative S_b removes samples.
    """
    scatters = first.scatters()
    second = second.to(partial(like, model=scatters))
    first, second = _filled(first, second), _filled(second, first)
    n_a, n_b = first.counts, sign * second.counts
    # If no samples remain, the mean is that of the first.
    share = n_b / np.where(n_a + n_b == 0, np.inf, n_a + n_b)
    share, weight = (like(v[:, None], scatters) for v in (share, n_a * share))
    offset = second.means - first.means + (second.remainders - first.remainders)
    scatters += second.scatters(sign)
    scatters += (offset * weight)[:, :, None] * offset[:, None, :]
    means, remainders = exact_sum(first.means, first.remainders + offset * share)
    return Moments.of_scatters(
        n_a + n_b, means, remainders, scatters, first.about_origin
    )


def _filled(moments, other):
    """Moments in which classes without samples have the means of ``other``."""
    empty = moments.counts == 0
    if not empty.any():
        return moments
    xp, empty = namespace(moments.means), like(empty[:, None], moments.means)
    means, remainders = (
        xp.where(empty, *arrays)
        for arrays in (
            (other.means, moments.means),
            (other.remainders, moments.remainders),
        )
    )
    return replace(moments, means=means, remainders=remainders)


def exact_sum(first, second):
    """The sum of two numbers, and its rounding error (Knuth)."""
    total = first + second
    added = total - first
    return total, (first - (total - added)) + (second - added)
