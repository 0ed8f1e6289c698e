"""Filters that separate SPD matrices, and activation patterns of filters."""

import numpy as np

from skgeom.geometry._spd import check_pair
from skgeom.utils.validation import (
    check_finite,
    check_semidefinite,
    check_symmetric,
    cholesky,
    float64_arrays,
)


@float64_arrays("filters", "covariance", on_cpu=True, complex_allowed=True)
def activation_patterns(filters, covariance):
    r"""Compute the activation patterns of linear filters.

    A filter w computes a component :math:`s = w^\top x` of the signals x. The weights
    of a filter also suppress noise, so they can be large at channels that do not
    contain the component. The activation pattern contains the coefficients of the
    regression of the channels on the components. It shows which channels contain the
    component, and how strongly [1]_. With the filters in the columns of W, the patterns
    are the columns of

    .. math:: A = \Sigma_x W \Sigma_s^{-1}, \qquad \Sigma_s = W^\top \Sigma_x W.

    Parameters
    ----------
    filters : array-like of shape (n_filters, n_features)
        The filters in rows, such as ``components_`` of :class:`SQFA`, ``filters_`` of
        :class:`PLRSQ` with ``n_components``, or :func:`spatial_filters`. The rows of
        complex filters are :math:`w^*`, the conjugate transpose, so components are
        ``filters @ x``.
    covariance : array-like of shape (n_features, n_features)
        Symmetric, or complex Hermitian, positive semidefinite covariance
        :math:`\Sigma_x` of the signals.

    Returns
    -------
    patterns : ndarray of shape (n_filters, n_features)
        The patterns in rows. An entry is the mean change of a feature, in the unit of
        the feature, if the component increases by one and all other components remain
        constant.

    Raises
    ------
    ValueError
        If the shapes do not match, if a value is infinite or NaN, if ``covariance`` is
        not symmetric or has a negative eigenvalue, if a component has no variance, or
        if the components are linearly dependent.

    See Also
    --------
    spatial_filters : Filters that separate two SPD matrices.

    References
    ----------
    .. [1] S. Haufe, F. Meinecke, K. Görgen, S. Dähne, J.-D. Haynes, B. Blankertz and F.
       Bießmann, "On the interpretation of weight vectors of linear models in
       multivariate neuroimaging", NeuroImage 87, 2014.

    Examples
    --------
    The first channel contains a source, and both channels contain the same noise. The
    filter subtracts the noise. The pattern is zero in the second channel, which
    contains only noise:

    >>> import numpy as np
    >>> from skgeom import activation_patterns
    >>> noise = np.ones((2, 2))
    >>> covariance = noise + np.diag([1, 0])
    >>> activation_patterns([[1, -1]], covariance)
    array([[1., 0.]])
    """
    check_symmetric(covariance, "covariance")
    if filters.ndim != 2 or filters.shape[1] != len(covariance) or not len(filters):
        raise ValueError(
            "filters must have one row for each filter and one column for each of the "
            f"{len(covariance)} features of covariance, got shape {filters.shape}."
        )
    check_finite(filters, "filters", axis=1)
    rounding = 1e-6 * np.linalg.norm(covariance, 2)
    check_semidefinite(covariance[None], "covariance", rounding=rounding)
    # Scale the largest values to one, so that products neither overflow nor underflow.
    size = np.abs(filters).max() or 1.0
    filters, covariance = filters / size, covariance / (np.abs(covariance).max() or 1.0)
    # With components of variance one, the test for dependence is scale-invariant.
    joint = filters @ covariance
    variances = np.einsum("ij,ij->i", joint, filters.conj()).real
    deviations = np.sqrt(variances.clip(0))
    if not deviations.all():
        index = int(deviations.argmin())
        raise ValueError(
            f"filters[{index}] computes a component without variance, which has no "
            "pattern. Remove the filter."
        )
    correlations = joint @ filters.conj().T / np.outer(deviations, deviations)
    if np.linalg.matrix_rank(correlations, hermitian=True) < len(filters):
        raise ValueError(
            f"The components of the {len(filters)} filters are linearly dependent, so "
            "their patterns are undefined. Remove the dependent filters."
        )
    scaled = np.linalg.solve(correlations, joint / deviations[:, None])
    return scaled.conj() / deviations[:, None] / size


@float64_arrays(
    "matrix",
    "reference",
    definite=("matrix", "reference"),
    on_cpu=True,
    complex_allowed=True,
)
def spatial_filters(matrix, reference):
    r"""Compute filters, sorted by how much output power differs for two covariances.

    The filters w solve :math:`X w = \lambda R w`, the generalized eigenproblem of
    common spatial patterns [1]_. The squared affine-invariant distance between X and R
    is :math:`\sum_i \log^2 \lambda_i`, so each filter contributes one term to the
    squared distance. Use the filters, for example, to explain the difference between
    the mean X of a class and the mean R of all samples. Prototypes of :class:`PLRSQ`
    are usually outside of their class, so their ratios are not ratios of power.

    Parameters
    ----------
    matrix : array-like of shape (n, n)
        Symmetric, or complex Hermitian, positive definite matrix X, such as the mean of
        a class.
    reference : array-like of shape (n, n)
        The reference R for ``matrix``, such as the mean of all samples.

    Returns
    -------
    filters : ndarray of shape (n, n)
        The filters in rows, in descending order of :math:`|\log \lambda|`. Their
        outputs are uncorrelated. The variances of the outputs are one for signals with
        covariance R, and ``ratios`` for signals with covariance X. Complex filters are
        conjugate transposes, so the outputs are ``filters @ x``.
    ratios : ndarray of shape (n,)
        The eigenvalues :math:`\lambda`, in the order of the filters.

    Raises
    ------
    ValueError
        If a matrix has infinite or NaN values, is not symmetric or is not positive
        definite, or if the sizes differ.

    See Also
    --------
    activation_patterns : Activation patterns of filters.

    References
    ----------
    .. [1] B. Blankertz, R. Tomioka, S. Lemm, M. Kawanabe and K.-R. Müller, "Optimizing
       spatial filters for robust EEG single-trial analysis", IEEE Signal Processing
       Magazine 25(1), 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom import spatial_filters
    >>> filters, ratios = spatial_filters(np.diag([1.0, 9.0]), np.eye(2))
    >>> ratios.round(6)
    array([9., 1.])
    >>> abs(filters)
    array([[0., 1.],
           [1., 0.]])
    """
    for values, name in ((matrix, "matrix"), (reference, "reference")):
        if values.ndim != 2:
            raise ValueError(f"{name} must be one matrix, got shape {values.shape}.")
    check_pair(matrix, "matrix", reference, "reference")
    inverse = np.linalg.inv(cholesky(reference, "reference"))
    # Eigenvalues of a product of matrices would be less accurate.
    vectors, roots, _ = np.linalg.svd(inverse @ cholesky(matrix, "matrix"))
    order = np.argsort(-np.abs(np.log(roots)), kind="stable")
    return vectors.conj().T[order] @ inverse, roots[order] ** 2
