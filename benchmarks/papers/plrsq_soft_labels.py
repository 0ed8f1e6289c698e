"""Tang et al., section 3: soft labels of PLVQ, as repeated rows with weights.

In PLVQ, the label of a sample is a probability for each class, and the cost is a sum
over the classes, weighted by these probabilities. The estimators minimize the same cost
if each row is repeated for each class, with the probabilities as ``sample_weight``. The
script compares this minimum with a direct minimization of the cost.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from benchmarks.papers._data import synthetic
from benchmarks.papers._runner import Row, reproduces
from benchmarks.papers.plrsq_eth80 import log_vectors
from skgeom import PLRSQ


def log_posteriors(prototypes, V, labels, sigma2):
    """Log probabilities of the classes, and offsets from their prototypes."""
    offsets = prototypes.reshape(-1, 1, V.shape[1]) - V
    log_joint = np.log(labels.mean(axis=0)) - np.sum(offsets**2, axis=2).T / 2 / sigma2
    return log_softmax(log_joint, axis=1), offsets


def soft_cost(prototypes, V, labels, sigma2):
    """Mean cross-entropy of soft labels, one prototype a class, and its gradient."""
    log_posterior, offsets = log_posteriors(prototypes, V, labels, sigma2)
    weights = (labels - np.exp(log_posterior)) / sigma2
    gradient = np.einsum("ik,kip->kp", weights, offsets)
    return -np.sum(labels * log_posterior) / len(V), gradient.ravel() / len(V)


def repeated_rows(data, sigma2):
    """Costs of both minimizations, relative to each other, and their probabilities."""
    X, y = synthetic(data, 0)[0]
    n_classes = y.max() + 1
    noise = np.random.default_rng(0).dirichlet(np.ones(n_classes), len(y))
    labels = 0.7 * np.eye(n_classes)[y] + 0.3 * noise
    model = PLRSQ(
        metric="logeuclid",
        sigma2=sigma2,
        representability=0,
        priors="uniform",
        temperature=1.0,
        tol=1e-8,
        max_iter=1000,
    ).fit(
        np.repeat(X, n_classes, axis=0),
        np.tile(np.arange(n_classes), len(X)),
        sample_weight=labels.ravel(),
    )
    V, W = log_vectors(X), log_vectors(model.prototypes_)
    means = np.stack([V[y == label].mean(axis=0) for label in range(n_classes)])
    arguments = V, labels, sigma2
    direct = minimize(
        soft_cost, means.ravel(), arguments, jac=True, options={"gtol": 1e-8}
    )
    # Shifts of all prototypes that are orthogonal to their differences change nothing,
    # so probabilities are compared.
    first, second = (np.exp(log_posteriors(p, *arguments)[0]) for p in (W, direct.x))
    return {
        "cost / direct minimum": soft_cost(W, *arguments)[0] / direct.fun,
        "largest difference of probabilities": np.abs(first - second).max(),
    }


@reproduces("Tang et al. 2021, section 3", "Soft labels of PLVQ as weighted rows")
def plrsq_soft_labels(quick):
    published = {"cost / direct minimum": 1, "largest difference of probabilities": 0}
    for data in ["SynII"] if quick else ["SynI", "SynII"]:
        arguments = {"data": data, "sigma2": 2.0}
        yield Row({"data": data}, repeated_rows, arguments, published)
