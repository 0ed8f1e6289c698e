"""Prototypes learnt from all samples together, by Riemannian L-BFGS."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skgeom._lvq.cost import PrototypeCost
from skgeom._lvq.problem import SINGULAR, Outcome
from skgeom.optim import minimize
from skgeom.utils._threads import one_blas_thread
from skgeom.utils._warnings import warn_user

FLAT = .1
SETTLE = .03
_PRECISION = 1e-4
_LEAST_PRECISION = 1e-20

def fit_lbfgs(
    problem,
    loss,
    scale,
    *,
    learn_scale=False,
    reduction=None,
    matrix=None,
    max_iter,
    tol,
    enough=None,
    from_chart=False,
    name,
    verbose=0,
    remedy="",
):
    """Minimise the loss of all samples of a problem together.

    Parameters
    ----------
    problem : Problem
        Samples, and prototypes to start from.
    loss : LikelihoodLoss or MarginLoss
        What is minimised.
    scale : float
        The scale of the loss; where to start, if ``learn_scale``.
    reduction : Congruence, Relevance or None
        What is done to the samples, by a matrix that is learnt as well.
    matrix : ndarray or None
        Where that matrix starts.
    max_iter, tol, verbose
        As the parameters of the estimators.
    enough : float or None
        The mean loss at which the search ends; None is ``tol``.
    from_chart : bool, default=False
        Whether a search in the chart of the space comes first, as iteration one.
    name : str
        The estimator, for messages.
    remedy : str, default=""
        What else may help a search that does not end.

    Returns
    -------
    Outcome
        With the loss at the start and after each iteration.

    Raises
    ------
    ValueError
        If the prototypes are singular, up to rounding, at the start.

    Warns
    -----
    ConvergenceWarning
        If the search does not end within ``max_iter`` iterations, or where numbers end.
    """
    chart = None if reduction else problem.space.chart(problem.prototypes)
    fixed_scale = None if learn_scale else scale
    cost = PrototypeCost(
        problem.space,
        problem.Z,
        problem.y,
        problem.weights,
        loss,
        fixed_scale,
        reduction,
        chart,
        max(_PRECISION * tol, _LEAST_PRECISION),
    )
    point = cost.join(problem.prototypes, scale, matrix)
    enough = (tol if enough is None else enough) * problem.weights.sum()
    try:
        losses = [cost(point)[0]]
    except np.linalg.LinAlgError:
        raise ValueError(SINGULAR) from None
    better = None
    if chart is not None and from_chart:
        flat = PrototypeCost(chart, chart.encode(problem.Z), problem.y, problem.weights, loss, fixed_scale)
        import time
        t=time.perf_counter()
        out = minimize(flat, flat.manifold([chart.encode(problem.prototypes)]), flat.join(chart.encode(problem.prototypes), scale), max_iter=max_iter, tol=tol*FLAT, callback=lambda p, v: v <= enough, preconditioner=flat.solve if flat.has_curvature(point[0]) else None)
        pr, sc, _ = flat.split(out.point)
        pt = cost.join(chart.decode(pr), sc)
        v = cost(pt)[0]
        print('flat', time.perf_counter()-t, out.n_iter, out.n_evaluations, v, losses)
        if v < losses[0]:
            losses.append(v)
            point = pt
            better = True

    def note(point, value):
        losses.append(value)
        if verbose:
            print(f"[{name}] iteration {len(losses) - 1}: loss {value:.6g}")
        if better and SETTLE * tol * value > losses[-2]-losses[-1]:
            return True
        return value <= enough  # the classes are separated; go no farther

    # Threads of BLAS are in the way of those of the cost where matrices are small.
    with one_blas_thread(problem.Z.ndim == 3):
        result = minimize(
            cost,
            cost.manifold(point),
            point,
            max_iter=max_iter,
            tol=tol,
            callback=note,
            preconditioner=cost.solve if cost.has_curvature(point[0]) else None,
        )
    if not result.converged:
        more = "max_iter or tol" if result.n_iter >= max_iter else "tol"
        warn_user(
            f"{name} did not converge: {result.reason} The prototypes found so far can "
            f"be used. Increase {more}{remedy}.",
            ConvergenceWarning,
        )
    # A search may end at its start; scikit-learn wants one iteration even then.
    n_iter = max(result.n_iter, 1)
    prototypes, scale, matrix = cost.split(result.point)
    return Outcome(prototypes, float(scale), np.array(losses), n_iter, matrix)
