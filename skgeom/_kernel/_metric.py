r"""A metric that is learned from labels: the linear map of samples before the kernel.

Recursive feature machines (Radhakrishnan et al., Science 383, 2024) alternate two
steps: the fit of a kernel method to the mapped samples M x, and the mean outer product
of the gradients of the fitted function, whose square root is the next map M. A
direction in which the function does not change is thereby removed from the distances.
Here, the function is the vector of the class scores s(x), whose softmax p is the vector
of the class probabilities, and the mean is weighted as in the Gauss-Newton matrix of
the cross-entropy,

.. math:: G = \sum_i w_i J_i^\top (\operatorname{diag} p_i - p_i p_i^\top) J_i, \quad
   M^\top M \propto G,

with the Jacobians :math:`J_i` of s at the training samples and their weights
:math:`w_i`. A diagonal metric uses only the diagonal of G. The factor of M is chosen
such that the sum of the variances of the features does not change, so values of gamma
have the same meaning before and after the map.

A leave-one-out error of a metric that was learned with the labels of all samples is too
small. Therefore the number of rounds is selected on folds of held-out samples, for
which the metric is learned again without them.
"""

import warnings

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import gen_batches

from skgeom._held_out import HeldOut
from skgeom._selection import choose
from skgeom.utils.linalg import signs
from skgeom.utils.memory import ROWS_PER_BLOCK, require_memory
from skgeom.utils.progress import current_progress

# Largest number of rounds. The accuracy of a full metric is lower after each further
# round on most tables.
N_ROUNDS = 3
_EPS = np.finfo(np.float64).eps


def learn_metric(estimator, X, codes, sample_weight, groups):
    """Learn the map of the samples for a kernel classifier.

    Parameters
    ----------
    estimator : KernelDiscriminantAnalysis
        Its parameters are those of the fits; it does not change.
    X, codes, sample_weight : array of shape (n_samples, n_features), ndarray, ndarray
        Validated samples, their encoded labels and their positive weights.
    groups : ndarray of int or None
        Indices of the groups of the samples.

    Returns
    -------
    components : ndarray of shape (n_features, n_features)
        The map, with rows in descending order of their norms.
    selection : Selection
        The candidates of the metric, with their scores on held-out samples.
    """
    require_memory(
        16 * X.shape[1] ** 2,
        f"The metric of {X.shape[1]} features and the contribution of a block of X",
        "Reduce the number of features of X first, for example by PCA.",
    )
    held_out = HeldOut(X, codes, sample_weight, groups)
    given = estimator.get_params(deep=False)
    given |= {"metric": None, "calibration": "auto", "verbose": 0}

    def fit(rows, components, **values):
        samples = held_out.X[rows] @ components.T, held_out.y[rows]
        own = None if groups is None else held_out.groups[rows]
        fitted = type(estimator)(**(given | values))
        return fitted.fit(*samples, held_out.weights[rows], groups=own)

    def rounds(rows, values):
        """Map and fit of each candidate, with the given values of its parameters."""
        X, codes = held_out.X[rows], held_out.y[rows]
        components = np.eye(X.shape[1])
        first = fit(rows, components, **values[0])
        yield components, first
        weights = class_weighted(held_out.weights[rows], codes, first.priors_)
        for diagonal in (True, False):
            M, fitted = components, first
            for k in range(N_ROUNDS):
                M = next_map(fitted, X, weights, M, diagonal)
                number = 1 + k + (0 if diagonal else N_ROUNDS)
                fitted = fit(rows, M, **values[number])
                yield M, fitted

    progress, n_candidates = current_progress(), 1 + 2 * N_ROUNDS
    everything = np.arange(len(held_out.y))
    held, scores = [], []
    with warnings.catch_warnings():  # the fit with the selected metric warns
        warnings.simplefilter("ignore")
        maps, found = zip(*rounds(everything, [{}] * n_candidates), strict=True)
        # Folds use the same values: only the metric is learned again.
        values = [
            {"gamma": f.gamma_, "regularization": f.regularization_} for f in found
        ]
        for rows in held_out.folds():
            others = np.setdiff1d(everything, rows)
            X, codes = held_out.X[rows], held_out.y[rows]
            scores.append(
                [
                    np.log(fitted.predict_proba(X @ M.T)[np.arange(len(rows)), codes])
                    for M, fitted in rounds(others, values)
                ]
            )
            held.append(rows)
            progress.step("metric", f"{n_candidates} candidates", name="fold")
    kinds = {
        "diagonal": [True] * (1 + N_ROUNDS) + [False] * N_ROUNDS,
        "n_rounds": [0, *range(1, N_ROUNDS + 1), *range(1, N_ROUNDS + 1)],
    }
    held = np.concatenate([np.empty(0, dtype=int), *held])
    scores = np.hstack([np.empty((n_candidates, 0)), *scores])
    weights = class_weighted(held_out.weights[held], held_out.y[held], found[0].priors_)
    groups = np.unique(held_out.groups[held], return_inverse=True)[1]
    selection = choose(kinds, scores, weights, groups)
    return maps[selection.index], selection


def class_weighted(weights, codes, priors):
    """Weights that sum to one, and in each class to a multiple of its prior."""
    sums = np.bincount(codes, weights, len(priors))
    weights = weights * (priors / np.where(sums > 0, sums, 1))[codes]
    return weights / weights.sum()


def next_map(fitted, X, weights, components, diagonal):
    """The map of the next round, given the fit to the samples ``X @ components.T``."""
    product = gradient_product(fitted, X @ components.T, weights)
    product = components.T @ product @ components
    if diagonal:
        product = np.diag(product.diagonal())
    eigenvalues, axes = np.linalg.eigh(product)
    rows = (axes * np.sqrt(np.maximum(eigenvalues, 0))).T[::-1]
    rows *= signs(rows)[:, None]
    before, after = (_variance(samples, weights) for samples in (X, X @ rows.T))
    # The function may be constant on all samples, or only change in constant features.
    return rows * np.sqrt(before / after) if after > _EPS * before else components


def _variance(X, weights):
    """The sum of the variances of the features."""
    return weights @ np.square(X - weights @ X).sum(axis=1)


def gradient_product(fitted, X, weights):
    """The matrix G of the module, for samples X with weights that sum to one.

    With the kernel "rbf", the gradient of ``k(x, p)`` is ``2 gamma (p - x) k(x, p)``.
    """
    factors = np.asarray(fitted.calibration_.mean_factors)[..., None]
    coefficients = fitted.dual_coef_ @ (fitted.means_ * factors).T
    gamma = fitted.gamma_ or 1 / fitted.n_features_in_
    coefficients *= 2 * gamma / fitted.temperature_
    points, total = fitted.X_fit_ - fitted.kernel_center_, 0.0
    for batch in gen_batches(len(X), max(ROWS_PER_BLOCK // len(fitted.classes_), 1)):
        centered = X[batch] - fitted.kernel_center_
        kernel = rbf_kernel(centered, points, gamma)
        proba = fitted.predict_proba(X[batch])
        gradients = np.stack(
            [
                (kernel * column) @ points - (kernel @ column)[:, None] * centered
                for column in coefficients.T
            ],
            axis=1,
        )
        # The product is the covariance of a gradient drawn with the probabilities.
        gradients -= np.einsum("ik,ikj->ij", proba, gradients)[:, None]
        gradients *= np.sqrt(weights[batch, None] * proba)[:, :, None]
        rows = gradients.reshape(-1, X.shape[1])
        total = total + rows.T @ rows
    return total
