"""The weight of representability that tells the classes of held-out samples best."""

from dataclasses import dataclass

import numpy as np

from skgeom._lvq.cost import PrototypeCost
from skgeom._lvq.losses import class_log_densities, log_softmax
from skgeom._lvq.problem import Problem
from skgeom.optim import minimize
from skgeom.utils.array_api import like, to_numpy
from skgeom.utils.estimator import current_progress
from skgeom.utils.linalg import turns

# From stiff to loose. Looser still, prototypes of separable classes would run away.
_WEIGHTS = 0.1, 0.03, 0.01, 0.003
_N_FOLDS = 5
# With a model of the curvature, the first iteration that lowers the cost by no more
# than this fraction is the last: the next weight goes on from there.
_SETTLED = 1e-2
# Of more samples, about so many are looked at: the choice then matters less.
_MOST_SAMPLES = 1_000


def best_weight(problem, make_loss, scale, **limits):
    """The largest weight whose score is within a standard error of the best one.

    The score of a weight is the mean log probability of the class of held-out samples,
    in which all classes count alike; the standard error is that of a mean over the
    folds [1]_. Weights are tried in falling order, until the score falls. Each search
    begins where that with the weight before has ended.

    Parameters
    ----------
    problem : Problem
        Of vectors.
    make_loss : callable
        Maps a weight to a loss.
    scale : float
        The scale of the loss.
    limits
        ``max_iter`` and ``tol`` of the searches.

    References
    ----------
    .. [1] L. Breiman, J. Friedman, R. Olshen and C. Stone, "Classification and
       Regression Trees", 1984, section 3.4.3: the rule of one standard error.
    """
    folds = _folds(problem)
    parts = [_Fold(problem, scale, folds, k, limits) for k in range(folds.max() + 1)]
    if len(parts) < 2:
        return _WEIGHTS[0]
    points, scores = [to_numpy(problem.prototypes)] * len(parts), []
    for weight in _WEIGHTS:
        loss = make_loss(weight)
        points = [part.search(loss, p) for part, p in zip(parts, points, strict=True)]
        scores.append([part.score(p) for part, p in zip(parts, points, strict=True)])
        if len(scores) > 1 and np.mean(scores[-1]) < np.mean(scores[-2]):
            break
    means = np.mean(scores, axis=1)
    best = np.argmax(means)
    error = np.std(scores[best], ddof=1) / np.sqrt(len(parts))
    return _WEIGHTS[np.argmax(means >= means[best] - error)]


@dataclass(frozen=True)
class _Fold:
    """A problem without the samples of a fold, which are held out."""

    problem: Problem
    scale: float
    folds: np.ndarray
    number: int
    limits: dict

    def search(self, loss, prototypes):
        """Prototypes of the other samples, from some that are near."""
        problem, is_rest = self.problem, (self.folds >= 0) & (self.folds != self.number)
        rest = like(is_rest, problem.Z)
        samples = problem.Z[rest], problem.y[rest], problem.weights[rest]
        cost = PrototypeCost(problem.space, *samples, loss, self.scale)
        curvature = cost.solve if cost.has_curvature(prototypes) else None
        values = [np.inf]

        def note(point, value):
            said = f"search without fold {self.number}: loss {value:.6g}"
            current_progress().note(said)
            values.append(value)
            return curvature and values[-2] - value <= _SETTLED * value

        start, options = [prototypes], {"preconditioner": curvature, "callback": note}
        manifold = cost.manifold(start)
        return minimize(cost, manifold, start, **options, **self.limits).point[0]

    def score(self, prototypes):
        """Mean log probability of the class of the samples held out."""
        problem, is_own = self.problem, self.folds == self.number
        own = like(is_own, problem.Z)
        squared = problem.space.squared_distances(
            problem.Z[own], like(prototypes, problem.Z)
        )
        counts = np.repeat(problem.counts, problem.counts)
        even = like(-np.log(counts), problem.Z)
        scores = class_log_densities(squared, problem.counts, even, self.scale)
        y, weights = (to_numpy(a)[is_own] for a in (problem.y, problem.weights))
        weights = weights / np.bincount(y, weights)[y]
        found = to_numpy(log_softmax(scores))[np.arange(len(y)), y]
        return np.average(found, weights=weights)


def _folds(problem):
    """The fold of each sample; -1 for those that are left out, where these are many.

    Samples take turns by their distances from the prototypes of their class at first.
    """
    squared = problem.space.squared_distances(problem.Z, problem.prototypes)
    y, labels = to_numpy(problem.y), to_numpy(problem.labels)
    squared = to_numpy(squared)
    own = np.where(labels == y[:, None], squared, np.inf).min(axis=1)
    order = turns(y, np.column_stack([own, squared]), problem.spread)
    n_distinct = sum(order[y == label].max() + 1 for label in np.unique(y))
    step = -(-n_distinct // _MOST_SAMPLES)
    return np.where(order % step == 0, order // step % _N_FOLDS, -1)
