"""Class separation along eigenvectors, and diagnostics of the assumed conditions."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from skgeom.utils.html import html_table


@dataclass(frozen=True)
class SeparationGrid:
    """Separation of the classes along covariance and Hessian eigenvectors.

    The arrays correspond to panels (b) to (d) of figure 1 in [1]_. Rows correspond to
    Hessian eigenvectors, and columns to covariance eigenvectors. Both are in descending
    order of their eigenvalues. With more than two classes, squared distances and sums
    of variances are averaged over the pairs of classes.

    Attributes
    ----------
    between : ndarray of shape (n_hessian_axes, n_covariance_axes)
        Squared distance between the class means along the covariance eigenvector of the
        column, in squared units of X. All rows are equal.
    within : ndarray of shape (n_hessian_axes, n_covariance_axes)
        Sum of the variances of both classes along the Hessian eigenvector of the row.
        All columns are equal.
    ratio : ndarray of shape (n_hessian_axes, n_covariance_axes)
        ``between / within``, which [1]_ calls the ratio of linear discriminant analysis
        (LDA). Numerator and denominator are computed along different eigenvectors, so
        the ratio is not the LDA ratio of a single direction.

    See Also
    --------
    CovarianceHessianProjection.separation : Computes the grid for new samples.

    References
    ----------
    .. [1] A. Hartoyo et al., "Synergistic eigenanalysis of covariance and Hessian
       matrices for enhanced binary classification on health datasets", Computers in
       Biology and Medicine 190, 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skgeom import CovarianceHessianProjection
    >>> X, y = load_iris(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> projection = CovarianceHessianProjection(random_state=0).fit(X, y)
    >>> projection.separation_.ratio.shape
    (4, 4)
    """

    between: np.ndarray
    within: np.ndarray
    ratio: np.ndarray


@dataclass(frozen=True)
class ProjectionConditions:
    """Diagnostics of the conditions that the theory of the projection assumes.

    The conditions are stated in section 3 of [1]_. Print the object to see a summary.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The class labels.
    isotropy : ndarray of shape (n_classes,)
        :math:`(\\operatorname{tr} S)^2 / (d \\operatorname{tr} S^2)` of the covariance
        S of each class in d dimensions: one if S is a multiple of the identity, 1 / d
        if S has rank one, and NaN if S is zero.
    correlation : ndarray of shape (n_classes,)
        Mean absolute covariance between different features, divided by the mean
        variance of the features, for each class.
    covariance_dominance : float
        Ratio of the largest to the second largest eigenvalue of the covariance matrix.
    hessian_dominance : float
        Ratio of the largest eigenvalue of the Hessian to the largest magnitude of the
        other eigenvalues. NaN without a Hessian.
    mean_alignment : float
        Cosine of the angle between the leading eigenvector of the covariance matrix and
        the span of the differences of the class means. By theorem 1 of [1]_, the cosine
        is one for two isotropic classes if their means are far enough apart.
    effective_samples : float
        :math:`(\\sum_i t_i)^2 / \\sum_i t_i^2`, where :math:`t_i` is the trace of the
        contribution of sample i to the Gauss-Newton matrix. The value is k if k samples
        contribute equally and the other samples do not contribute. NaN without a
        Hessian.
    n_samples : float
        The number of samples, or the sum of their weights.

    See Also
    --------
    CovarianceHessianProjection : Stores the diagnostics in ``conditions_``.

    References
    ----------
    .. [1] A. Hartoyo et al., "Synergistic eigenanalysis of covariance and Hessian
       matrices for enhanced binary classification on health datasets", Computers in
       Biology and Medicine 190, 2025.

    Examples
    --------
    If two isotropic classes are far apart, the leading covariance eigenvector is nearly
    parallel to the difference of the class means:

    >>> import numpy as np
    >>> from skgeom import CovarianceHessianProjection
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), np.repeat([0, 1], 100)
    >>> X[y == 1, 0] += 5
    >>> projection = CovarianceHessianProjection(random_state=0).fit(X, y)
    >>> projection.conditions_.mean_alignment > 0.99
    True
    """

    classes: np.ndarray
    isotropy: np.ndarray
    correlation: np.ndarray
    covariance_dominance: float
    hessian_dominance: float
    mean_alignment: float
    effective_samples: float
    n_samples: float

    def __str__(self):
        parts = zip(self.classes.tolist(), self.isotropy, self.correlation, strict=True)
        rows = [
            f"class {label!r}: isotropy {isotropy:.2f} (best 1), "
            f"correlation {correlation:.2f} (best 0)"
            for label, isotropy, correlation in parts
        ]
        rows += [
            "cosine of first covariance eigenvector and mean differences: "
            f"{self.mean_alignment:.2f} (best 1)",
            "first / second eigenvalue of the covariance: "
            f"{self.covariance_dominance:.3g} (best large)",
        ]
        if not np.isnan(self.hessian_dominance):
            rows += [
                "first / second eigenvalue of the Hessian: "
                f"{self.hessian_dominance:.3g} (best large)",
                f"effective samples of the Hessian: {self.effective_samples:.0f} of "
                f"{self.n_samples:.0f}",
            ]
        return "\n".join(rows)

    def _repr_html_(self):
        rows = [line.split(": ", 1) for line in str(self).splitlines()]
        return html_table(type(self).__name__, ["condition", "value"], rows)


def separation_grid(X, codes, weights, covariance_axes, hessian_axes):
    """Separation of classes along each pair of axes; the axes are rows.

    With more than two classes, the results are means over the pairs of classes.
    Variances are mean squared deviations (divided by n), so that theorem 1 holds
    exactly: the variance of the union of two equally large classes is their mean
    variance plus a quarter of the squared distance of their means.
    """
    Z = X @ np.concatenate([covariance_axes, hessian_axes]).T
    parts = [codes == code for code in range(codes.max() + 1)]
    moments = [mean_and_covariance(Z[part], weights[part]) for part in parts]
    means = np.array([mean for mean, _ in moments])
    variances = np.mean([np.diag(covariance) for _, covariance in moments], axis=0)
    distances = np.mean([(a - b) ** 2 for a, b in combinations(means, 2)], axis=0)
    count = len(covariance_axes)
    shape = len(hessian_axes), count
    between = np.broadcast_to(distances[:count], shape).copy()
    within = np.broadcast_to(2 * variances[count:, None], shape).copy()
    ratio = np.divide(
        between, within, out=np.where(between > 0, np.inf, 0.0), where=within > 0
    )
    return SeparationGrid(between, within, ratio)


def check_conditions(projection, X, codes, weights, traces):
    """Diagnostics of training samples, given the traces of their Gauss-Newton terms.

    The traces contain the weights.
    """
    parts = [np.flatnonzero(codes == k) for k in range(len(projection.classes_))]
    moments = [mean_and_covariance(X[part], weights[part]) for part in parts]
    means, covariances = map(np.array, zip(*moments, strict=True))
    # Scaled to values up to one, whose squares neither overflow nor underflow.
    tiny = np.finfo(np.float64).tiny
    largest = np.abs(covariances).max(axis=(1, 2), keepdims=True)
    covariances = covariances / np.maximum(largest, tiny)
    d, variances = X.shape[1], np.trace(covariances, axis1=1, axis2=2)
    hessian_dominance = effective = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        isotropy = variances**2 / (d * (covariances**2).sum(axis=(1, 2)))
        others = np.abs(covariances).sum(axis=(1, 2)) - variances
        correlation = others / max(d - 1, 1) / variances
        covariance_dominance = _dominance(projection.covariance_eigenvalues_)
        if traces is not None:
            hessian_dominance = _dominance(projection.hessian_eigenvalues_)
            traces = traces / max(traces.max(), tiny)
            effective = float(traces.sum() ** 2 / (traces**2 / weights).sum())
    return ProjectionConditions(
        classes=projection.classes_,
        isotropy=isotropy,
        correlation=correlation,
        covariance_dominance=covariance_dominance,
        hessian_dominance=hessian_dominance,
        mean_alignment=_alignment(
            means - means.mean(axis=0), projection.covariance_eigenvectors_[0]
        ),
        effective_samples=effective,
        n_samples=float(weights.sum()),
    )


def mean_and_covariance(samples, weights):
    """Mean and covariance (divided by the sum of the weights) of samples."""
    mean = np.average(samples, axis=0, weights=weights)
    centered = samples - mean
    return mean, centered.T @ (weights[:, None] * centered) / weights.sum()


def _dominance(eigenvalues):
    return float(eigenvalues[0] / np.abs(eigenvalues[1:]).max(initial=0))


def _alignment(differences, axis):
    _, sizes, basis = np.linalg.svd(differences, full_matrices=False)
    # The rows sum to zero, so at least one singular value is a rounding error.
    kept = sizes > max(differences.shape) * np.finfo(np.float64).eps * sizes[0]
    return float(np.linalg.norm(basis[kept] @ axis))
