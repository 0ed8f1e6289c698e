"""RiemannianLBFGS compared with pymanopt's optimizers: evaluations and accuracy.

An evaluation is a point at which the optimizer requests the cost or the gradient. The
script counts the evaluations until the relative error of the cost is below 1e-8, and
prints medians over random initializations as a reStructuredText table::

    python benchmarks/bench_optimizers.py
"""

import argparse
import statistics
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pymanopt
from pymanopt.manifolds import (
    Euclidean,
    Oblique,
    Product,
    Sphere,
    Stiefel,
    SymmetricPositiveDefinite,
)
from pymanopt.optimizers import ConjugateGradient, SteepestDescent
from pyriemann.geometry.mean import mean_riemann

from skgeom.geometry import logm, whiten
from skgeom.optim import RiemannianLBFGS

ACCURACY = 1e-8
OPTIMIZERS = {
    "L-BFGS": RiemannianLBFGS,
    "CG": partial(ConjugateGradient, verbosity=0),
    "steepest descent": partial(SteepestDescent, verbosity=0),
}


@dataclass
class Problem:
    manifold: Any
    cost: Any
    gradient: Any
    start: Any
    minimum: float


def dominant_subspace(rng, n=100, p=5):
    axes = np.linalg.qr(rng.standard_normal((n, n)))[0]
    eigenvalues = 1 / np.arange(1, n + 1)
    matrix = (axes * eigenvalues) @ axes.T
    return Problem(
        Stiefel(n, p),
        lambda f: -np.sum(f * (matrix @ f)),
        lambda f: -2 * matrix @ f,
        np.linalg.qr(rng.standard_normal((n, p)))[0],
        -eigenvalues[:p].sum(),
    )


def closest_unit_columns(rng, n=50, m=10):
    target = rng.standard_normal((n, m)) * np.logspace(0, 1.5, m)
    start = rng.standard_normal((n, m))
    return Problem(
        Oblique(n, m),
        lambda f: ((f - target) ** 2).sum() / 2,
        lambda f: f - target,
        start / np.linalg.norm(start, axis=0),
        ((np.linalg.norm(target, axis=0) - 1) ** 2).sum() / 2,
    )


def karcher_mean(rng, n=10, k=20):
    axes = np.linalg.qr(rng.standard_normal((k, n, n)))[0]
    matrices = (axes * np.exp(2 * rng.standard_normal((k, 1, n)))) @ axes.mT

    def cost(p):
        return (logm(whiten(matrices, p)) ** 2).sum() / 2 / k

    def gradient(p):
        inverse = np.linalg.inv(np.linalg.cholesky(p))
        return -inverse.T @ logm(whiten(matrices, p)).mean(axis=0) @ inverse

    minimum = cost(mean_riemann(matrices, tol=1e-12, maxiter=500))
    manifold = SymmetricPositiveDefinite(n)
    return Problem(manifold, cost, gradient, matrices[0], minimum)


def rank_one(rng, m=60, n=40):
    left = np.linalg.qr(rng.standard_normal((m, n)))[0]
    right = np.linalg.qr(rng.standard_normal((n, n)))[0]
    values = 3 * 0.8 ** np.arange(n)
    matrix = (left * values) @ right.T
    start = rng.standard_normal(m)

    def gradient(u, v):
        residual = np.outer(u, v) - matrix
        return [residual @ v, residual.T @ u]

    return Problem(
        Product([Sphere(m), Euclidean(n)]),
        lambda u, v: ((np.outer(u, v) - matrix) ** 2).sum() / 2,
        gradient,
        [start / np.linalg.norm(start), rng.standard_normal(n)],
        (values[1:] ** 2).sum() / 2,
    )


def minor_gaussian(rng, n=40, p=3):
    variances = np.linspace(1, 10, n)

    def gradient(f, s):
        inverse = np.linalg.inv(s)
        seen = (f.T * variances) @ f
        of_filters = 2 * variances[:, None] * f @ inverse
        return [of_filters, inverse - inverse @ seen @ inverse]

    return Problem(
        Product([Stiefel(n, p), SymmetricPositiveDefinite(p)]),
        lambda f, s: (
            np.linalg.slogdet(s)[1]
            + np.trace(np.linalg.solve(s, (f.T * variances) @ f))
        ),
        gradient,
        [np.linalg.qr(rng.standard_normal((n, p)))[0], np.eye(p)],
        np.log(variances[:p]).sum() + p,
    )


PROBLEMS = {
    "dominant subspace, Stiefel": dominant_subspace,
    "closest unit-norm columns, Oblique": closest_unit_columns,
    "Karcher mean, SPD": karcher_mean,
    "best rank one, Sphere x Euclidean": rank_one,
    "least entropy, Stiefel x SPD": minor_gaussian,
}


class GoalReached(Exception):
    """Raised when the cost reaches the goal."""


def count(make_optimizer, problem):
    """Evaluations until the accuracy is reached; infinite if it is not reached."""
    points = set()
    goal = problem.minimum + ACCURACY * abs(problem.minimum)

    @pymanopt.function.numpy(problem.manifold)
    def cost(*point):
        points.add(b"".join(array.tobytes() for array in point))
        value = problem.cost(*point)
        if value <= goal:
            raise GoalReached
        return value

    @pymanopt.function.numpy(problem.manifold)
    def gradient(*point):
        points.add(b"".join(array.tobytes() for array in point))
        return problem.gradient(*point)

    monitored = pymanopt.Problem(problem.manifold, cost, euclidean_gradient=gradient)
    limits = {"max_iterations": 10**4, "max_cost_evaluations": 10**5}
    try:
        make_optimizer(**limits).run(monitored, initial_point=problem.start)
    except GoalReached:
        return len(points)
    return np.inf


def final_error(problem):
    """Relative error of the cost at which RiemannianLBFGS stops."""
    numpy_function = pymanopt.function.numpy(problem.manifold)
    plain = pymanopt.Problem(
        problem.manifold,
        numpy_function(problem.cost),
        euclidean_gradient=numpy_function(problem.gradient),
    )
    result = RiemannianLBFGS().run(plain, initial_point=problem.start)
    return abs(result.cost - problem.minimum) / abs(problem.minimum)


def measure(make_problem, n_starts):
    """One row of the table, without the name."""
    problems = [make_problem(np.random.default_rng(seed)) for seed in range(n_starts)]
    medians = [
        statistics.median(count(make, problem) for problem in problems)
        for make in OPTIMIZERS.values()
    ]
    error = max(final_error(problem) for problem in problems)
    return [
        f"{problems[0].manifold.dim}",
        *(f"{median:.0f}" for median in medians),
        f"{medians[1] / medians[0]:.1f}",
        f"{error:.0e}",
    ]


def print_table(rows):
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    print(rule, lines[0].rstrip(), rule, sep="\n")
    print(*(line.rstrip() for line in lines[1:]), rule, sep="\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n-starts", type=int, default=11)
    n_starts = parser.parse_args().n_starts
    header = ["problem", "dimension", *OPTIMIZERS, "CG / L-BFGS", "final error"]
    rows = [[name, *measure(make, n_starts)] for name, make in PROBLEMS.items()]
    print_table([header, *rows])


if __name__ == "__main__":
    main()
