"""
How a search goes on
====================

Filters are sought on a curved surface: each has unit norm. The picture shows three
optimisers on the same problem, the closest unit-norm columns to a matrix that is mixed
by an ill-conditioned one. :class:`~skgeom.optim.RiemannianLBFGS` remembers how the
gradient changed along its last steps.
"""

import matplotlib.pyplot as plt
import numpy as np
import pymanopt
from pymanopt.manifolds import Oblique
from pymanopt.optimizers import ConjugateGradient, SteepestDescent

from skgeom.optim import RiemannianLBFGS

rng = np.random.default_rng(0)
n, m = 60, 8
A = rng.normal(size=(n, n)) @ np.diag(np.logspace(0, -1.5, n))
target = A @ rng.normal(size=(n, m))
manifold = Oblique(n, m)
costs = []


@pymanopt.function.numpy(manifold)
def cost(F):
    value = ((A @ F - target) ** 2).sum() / 2
    costs.append(value)
    return value


@pymanopt.function.numpy(manifold)
def gradient(F):
    return A.T @ (A @ F - target)


start = rng.normal(size=(n, m))
start /= np.linalg.norm(start, axis=0)
optimizers = {
    "steepest descent": SteepestDescent,
    "conjugate gradient": ConjugateGradient,
    "L-BFGS": RiemannianLBFGS,
}
curves = {}
for name, optimizer in optimizers.items():
    costs.clear()
    problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient)
    optimizer(verbosity=0, max_iterations=300).run(problem, initial_point=start)
    curves[name] = np.minimum.accumulate(costs)

# %%
# The cost above the lowest that any of them found, against the number of evaluations.

lowest = min(curve[-1] for curve in curves.values())
figure, axis = plt.subplots(figsize=(7, 3.8), layout="constrained")
for name, curve in curves.items():
    axis.semilogy(curve / lowest - 1 + 1e-12, label=name)
axis.set(xlabel="evaluations of the cost", ylabel="relative excess", xlim=(0, 150))
axis.legend()
plt.show()
