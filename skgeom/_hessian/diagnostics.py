"""Class separation along eigenvectors, and the conditions of the method."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from skgeom.utils.array_api import like, namespace, take, to_numpy


@dataclass(frozen=True)
class SeparationGrid:
    """Separation of the classes along covariance and Hessian eigenvectors.

    These are panels (b) to (d) of figure 1 in [1]_. The rows of the arrays belong to
    Hessian eigenvectors, their columns to covariance eigenvectors, both in falling
    order of eigenvalues. With more than two classes, the distances and variances are
    means over the pairs of classes.

    Attributes
    ----------
    between : ndarray of shape (n_hessian_axes, n_covariance_axes)
        Squared distance between the class means along the covariance eigenvector, in
        the units of X squared; the same in all rows.
    within : ndarray of shape (n_hessian_axes, n_covariance_axes)
        Sum of the variances of both classes along the Hessian eigenvector; the same in
        all columns.
    ratio : ndarray of shape (n_hessian_axes, n_covariance_axes)
        Their quotient, which [1]_ calls the ratio of linear discriminant analysis
        (LDA). Numerator and denominator belong to two different axes, so it is not the
        LDA ratio of a direction.

    References
    ----------
    .. [1] A. Hartoyo et al., "Synergistic eigenanalysis of covariance and Hessian
       matrices for enhanced binary classification on health datasets", Computers in
       Biology and Medicine 190, 2025.
    """

    between: np.ndarray
    within: np.ndarray
    ratio: np.ndarray


@dataclass(frozen=True)
class ProjectionConditions:
    """How far data meet the conditions of the theory of the projection.

    They are those of [1]_, section 3. Print it for a summary.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The class labels.
    isotropy : ndarray of shape (n_classes,)
        :math:`(\\operatorname{tr} S)^2 / (d \\operatorname{tr} S^2)` of the covariance
        S of each class in d dimensions: one if it is a multiple of the identity, 1 / d
        if it has one direction; NaN if it is zero.
    correlation : ndarray of shape (n_classes,)
        Mean magnitude of the covariances of different features over the mean variance.
    covariance_dominance : float
        First over second eigenvalue of the covariance matrix.
    hessian_dominance : float
        First over second eigenvalue, in magnitude, of the Hessian; NaN without one.
    mean_alignment : float
        Cosine of the angle between the first eigenvector of the covariance matrix and
        the span of the differences of the class means. Theorem 1 says that it is one
        for two isotropic classes that are far enough apart.
    effective_samples : float
        :math:`(\\sum_i t_i)^2 / \\sum_i t_i^2` with the traces t of the samples'
        Gauss-Newton terms: the number of samples that contribute to the Hessian, if
        all those contribute the same. NaN without a Hessian.
    n_samples : int
        The number of samples.

    References
    ----------
    .. [1] A. Hartoyo et al., "Synergistic eigenanalysis of covariance and Hessian
       matrices for enhanced binary classification on health datasets", Computers in
       Biology and Medicine 190, 2025.
    """

    classes: np.ndarray
    isotropy: np.ndarray
    correlation: np.ndarray
    covariance_dominance: float
    hessian_dominance: float
    mean_alignment: float
    effective_samples: float
    n_samples: int

    def __str__(self):
        rows = [
            f"class {label!r}: isotropy {isotropy:.2f} (best 1), "
            f"correlation {correlation:.2f} (best 0)"
            for label, isotropy, correlation in zip(
                self.classes.tolist(), self.isotropy, self.correlation, strict=True
            )
        ]
        rows += [
            f"cosine of first covariance eigenvector and mean differences: "
            f"{self.mean_alignment:.2f} (best 1)",
            f"first / second eigenvalue of the covariance: "
            f"{self.covariance_dominance:.3g} (best large)",
        ]
        if not np.isnan(self.hessian_dominance):
            rows += [
                f"first / second eigenvalue of the Hessian: "
                f"{self.hessian_dominance:.3g} (best large)",
                f"samples that decide on the Hessian: {self.effective_samples:.0f} of "
                f"{self.n_samples}",
            ]
        return "\n".join(rows)


def separation_grid(X, codes, covariance_axes, hessian_axes):
    """Separation of classes along each pair of axes, given as rows."""
    distances, _ = _separation(X, codes, covariance_axes)
    _, variances = _separation(X, codes, hessian_axes)
    shape = len(variances), len(distances)
    between = np.broadcast_to(distances, shape).copy()
    within = np.broadcast_to(variances[:, None], shape).copy()
    ratio = np.divide(
        between, within, out=np.where(between > 0, np.inf, 0.0), where=within > 0
    )
    return SeparationGrid(between, within, ratio)


def _separation(X, codes, axes):
    """Squared distance of means and sum of variances, along each axis.

    Variances are mean squares, so that theorem 1 holds exactly: the variance of the
    union of two classes of one size is that of one plus a quarter of the distance.
    """
    Z = to_numpy(X @ like(axes.T, X))
    groups = [Z[codes == code] for code in range(codes.max() + 1)]
    means = np.array([group.mean(axis=0) for group in groups])
    variances = np.array([group.var(axis=0) for group in groups])
    distances = [(means[i] - means[j]) ** 2 for i, j in _pairs(len(groups))]
    return np.mean(distances, axis=0), 2 * variances.mean(axis=0)


def _pairs(n):
    return combinations(range(n), 2)


def check_conditions(
    X, codes, classes, covariance_eigenvalues, first_axis, hessian_eigenvalues, traces
):
    """Conditions of training samples; Hessian eigenvalues of None if there is none."""
    moments = [
        mean_and_covariance(take(X, np.flatnonzero(codes == code)))
        for code in range(len(classes))
    ]
    shapes = [_isotropy_and_correlation(covariance) for _, covariance in moments]
    isotropy, correlation = np.array(shapes).T
    hessian_dominance = effective = np.nan
    if hessian_eigenvalues is not None:
        hessian_dominance = _dominance(hessian_eigenvalues)
        # The quotient has no scale, and squares of small traces might vanish.
        traces = traces / max(traces.max(), np.finfo(np.float64).tiny)
        effective = _ratio(traces.sum() ** 2, (traces**2).sum())
    means = np.array([mean for mean, _ in moments])
    return ProjectionConditions(
        classes=classes,
        isotropy=isotropy,
        correlation=correlation,
        covariance_dominance=_dominance(covariance_eigenvalues),
        hessian_dominance=hessian_dominance,
        mean_alignment=_alignment(means - means.mean(axis=0), first_axis),
        effective_samples=effective,
        n_samples=len(codes),
    )


def mean_and_covariance(samples):
    """Mean of samples, and the mean square about it; computed where they are."""
    mean = namespace(samples).mean(samples, axis=0)
    centred = samples - mean
    return to_numpy(mean), to_numpy(centred.T @ centred / samples.shape[0])


def _isotropy_and_correlation(covariance):
    """Isotropy and correlation of the covariance of a class."""
    # Of entries up to one, whose squares neither overflow nor vanish.
    covariance = covariance / max(np.abs(covariance).max(), np.finfo(np.float64).tiny)
    d, trace = len(covariance), np.trace(covariance)
    isotropy = _ratio(trace**2, d * (covariance**2).sum())
    off_diagonal = np.abs(covariance).sum() - trace
    return isotropy, _ratio(off_diagonal / max(d - 1, 1), trace)


def _dominance(eigenvalues):
    if len(eigenvalues) < 2:
        return np.inf
    return _ratio(eigenvalues[0], np.abs(eigenvalues[1:]).max(), np.inf)


def _alignment(differences, axis):
    _, sizes, basis = np.linalg.svd(differences, full_matrices=False)
    # The rows sum to zero, so that at least one singular value is rounding.
    kept = sizes > max(differences.shape) * np.finfo(np.float64).eps * sizes[0]
    return float(np.linalg.norm(basis[kept] @ axis))


def _ratio(numerator, denominator, otherwise=np.nan):
    return float(numerator / denominator) if denominator > 0 else otherwise
