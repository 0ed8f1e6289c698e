r"""A metric that is learned from labels: the linear map of samples before the kernel.

Recursive feature machines (Radhakrishnan et al., Science 383, 2024) alternate two
steps: the fit of a kernel method to the mapped samples M x, and the mean outer product
of the gradients of the fitted function, whose square root is the next map M. A
direction in which the function does not change is thereby removed from the distances.
There, the functions are the outputs of a regression, and the mean is unweighted. Here,
they are the class scores s(x), whose softmax p is the vector of the class probabilities
without random labels, and the mean is weighted as in the Gauss-Newton matrix of the
cross-entropy,

.. math:: G = \sum_i w_i J_i^\top (\operatorname{diag} p_i - p_i p_i^\top) J_i, \quad
   M^\top M \propto G,

with the Jacobians :math:`J_i` of s at the training samples and their weights
:math:`w_i`. A diagonal map uses only the diagonal of G. The factor of M is chosen such
that the sum of the variances of the features does not change, so values of gamma have
the same meaning before and after the map.

A leave-one-out error of a metric that was learned with the labels of all samples is too
small. Therefore the number of rounds is selected on folds of held-out samples, for
which the metric is learned again without them.

A diagonal map is a vector, the factors of the features. A full map is a square matrix.
"""

import warnings

import numpy as np
from scipy.special import softmax
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import gen_batches

from skgeom._held_out import HeldOut
from skgeom._kernel._calibration import class_scores
from skgeom._selection import choose
from skgeom.utils.linalg import signs
from skgeom.utils.memory import ROWS_PER_BLOCK, require_memory
from skgeom.utils.progress import current_progress

# Largest numbers of rounds of a diagonal and of a full map. On 26 tables, a second or
# third round of a full map was selected in 2 of 128 fits, without a higher accuracy.
# But for two planted directions among nine, a second round removes another tenth of the
# errors, and a third round none.
N_ROUNDS = {True: 3, False: 2}
_EPS = np.finfo(np.float64).eps
# Bytes per squared number of features. The peak of a fit to 340 samples of three classes
# with 1,000 features is 134, and that of 40 samples of two classes 57.
_BYTES = 140


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
    n_features = X.shape[1]
    require_memory(
        _BYTES * n_features**2,
        f"The metric of {n_features} features and its decomposition",
        "Reduce the number of features of X first, for example by PCA.",
    )
    held_out = HeldOut(X, codes, sample_weight, groups)
    given = estimator.get_params(deep=False)
    given |= {"metric": None, "calibration": "auto", "verbose": 0}

    def fit(rows, M, **values):
        samples = mapped(held_out.X[rows], M), held_out.y[rows]
        own = None if groups is None else held_out.groups[rows]
        fitted = type(estimator)(**(given | values))
        return fitted.fit(*samples, held_out.weights[rows], groups=own)

    def rounds(rows, values):
        """Map and fit of each candidate, with the given values of its parameters."""
        X, codes = held_out.X[rows], held_out.y[rows]
        ones = np.ones(n_features)
        first = fit(rows, ones, **values[0])
        yield ones, first
        weights = class_weighted(held_out.weights[rows], codes, first.priors_)
        following = iter(values[1:])
        for diagonal, n_rounds in N_ROUNDS.items():
            M, fitted = ones, first
            for _ in range(n_rounds):
                M = next_map(fitted, X, weights, M, diagonal)
                fitted = fit(rows, M, **next(following))
                yield M, fitted

    names = [(True, 0)]
    names += [(kind, 1 + k) for kind, n in N_ROUNDS.items() for k in range(n)]
    progress, n_candidates = current_progress(), len(names)
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
            own = np.arange(len(rows)), codes
            scores.append(
                [
                    np.log(fitted.predict_proba(mapped(X, M))[own])
                    for M, fitted in rounds(others, values)
                ]
            )
            held.append(rows)
            progress.step("metric", f"{n_candidates} candidates", name="fold")
    kinds = dict(zip(("diagonal", "n_rounds"), zip(*names, strict=True), strict=True))
    held = np.concatenate([np.empty(0, dtype=int), *held])
    scores = np.hstack([np.empty((n_candidates, 0)), *scores])
    weights = class_weighted(held_out.weights[held], held_out.y[held], found[0].priors_)
    groups = np.unique(held_out.groups[held], return_inverse=True)[1]
    selection = choose(kinds, scores, weights, groups)
    M = maps[selection.index]
    if M.ndim == 1:
        M = np.diag(M)[np.argsort(-M, kind="stable")]
    return M, selection


def class_weighted(weights, codes, priors):
    """Weights that sum to one, and in each class to a multiple of its prior."""
    sums = np.bincount(codes, weights, len(priors))
    weights = weights * (priors / np.where(sums > 0, sums, 1))[codes]
    return weights / weights.sum()


def mapped(X, M):
    """The samples after a diagonal or full map."""
    return X * M if M.ndim == 1 else X @ M.T


def next_map(fitted, X, weights, M, diagonal):
    """The map of the next round, given the fit to the samples that M maps."""
    blocks = gradient_rows(fitted, mapped(X, M), weights)
    blocks = (rows * M if M.ndim == 1 else rows @ M for rows in blocks)
    if diagonal:
        found = np.sqrt(sum(np.square(rows).sum(axis=0) for rows in blocks))
    else:
        root = np.empty((0, X.shape[1]))
        for rows in blocks:
            root = np.linalg.qr(np.vstack([root, rows]), mode="r")
        _, values, axes = np.linalg.svd(root, full_matrices=False)
        found = np.zeros((X.shape[1], X.shape[1]))
        found[: len(axes)] = axes * (signs(axes) * values)[:, None]
    # The unit of the gradients is the inverse of that of X.
    found /= np.linalg.norm(found) or 1.0
    before, after = (_variance(samples, weights) for samples in (X, mapped(X, found)))
    # The function may be constant on all samples, or only change in constant features.
    return found * np.sqrt(before / after) if after > _EPS * before else M


def _variance(X, weights):
    """The sum of the variances of the features."""
    return weights @ np.square(X - weights @ X).sum(axis=1)


def gradient_rows(fitted, X, weights):
    """Blocks of rows whose products with themselves sum to the matrix G of the module.

    The weights of the samples X sum to one. With the kernel "rbf", the gradient of
    ``k(x, p)`` is ``2 gamma (p - x) k(x, p)``.
    """
    calibration = fitted.calibration_
    means = fitted.means_ * np.asarray(calibration.mean_factors)[..., None]
    gamma = fitted.gamma_ or 1 / fitted.n_features_in_
    coefficients = fitted.dual_coef_ @ means.T * (2 * gamma / calibration.temperature)
    points = fitted.X_fit_ - fitted.kernel_center_
    for batch in gen_batches(len(X), max(ROWS_PER_BLOCK // len(means), 1)):
        centered = X[batch] - fitted.kernel_center_
        kernel = rbf_kernel(centered, points, gamma)
        components = kernel @ fitted.dual_coef_ - fitted.offset_
        scores = class_scores(calibration, components, fitted.means_, fitted.priors_)
        proba = softmax(scores, axis=1)
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
        yield gradients.reshape(-1, X.shape[1])
