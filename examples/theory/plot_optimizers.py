"""
Convergence of Riemannian optimizers
====================================

Three optimizers solve the same ill-conditioned least-squares problem over matrices with
unit-norm columns. :class:`~skgeom.optim.RiemannianLBFGS`, which approximates the
curvature from its last steps, requires the fewest evaluations of the cost.
"""

import matplotlib.pyplot as plt
import numpy as np
from pymanopt.manifolds import Oblique

from skgeom.optim import RiemannianLBFGS, minimize

rng = np.random.default_rng(0)
n, m = 60, 8
A = rng.normal(size=(n, n)) @ np.diag(np.logspace(0, -1.5, n))
target = A @ rng.normal(size=(n, m))
start = rng.normal(size=(n, m))
start /= np.linalg.norm(start, axis=0)
costs = []


def cost_and_gradient(F):
    """The cost and its Euclidean gradient, without the constraint."""
    difference = A @ F - target
    cost = (difference**2).sum() / 2
    costs.append(cost)
    return cost, A.T @ difference


# %%
# :func:`~skgeom.optim.minimize` accepts the name of an optimizer, or an optimizer
# object of skgeom or pymanopt. It returns a :class:`~skgeom.optim.MinimizeResult` with
# the best point, the reason for stopping, and the number of evaluations of the cost.

optimizers = {
    "steepest descent": "steepest-descent",
    "conjugate gradient": "conjugate-gradient",
    "L-BFGS": RiemannianLBFGS(),
}
curves = {}
for name, optimizer in optimizers.items():
    costs.clear()
    result = minimize(
        cost_and_gradient,
        Oblique(n, m),
        start,
        optimizer=optimizer,
        max_iter=300,
        tol=1e-12,
    )
    curves[name] = np.minimum.accumulate(costs)
    print(f"{name:18s} {result.n_evaluations:4d} evaluations, cost {result.cost:.6f}")

# %%
# Plot the relative excess of the cost over the lowest cost of all optimizers against
# the number of evaluations.

lowest = min(curve[-1] for curve in curves.values())
figure, axis = plt.subplots(figsize=(7, 3.8), layout="constrained")
for name, curve in curves.items():
    axis.semilogy(curve / lowest - 1 + 1e-12, label=name)
axis.set(xlabel="evaluations of the cost", ylabel="relative excess", xlim=(0, 150))
axis.legend()
# sphinx_gallery_alt = "Cost of three optimizers; L-BFGS needs the fewest evaluations"
plt.show()
