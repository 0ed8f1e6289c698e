"""Stochastic steps over the blocks of Dask arrays and frames."""

from functools import wraps
from math import ceil

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from skgeom.utils._dask import naming_block, refuse_dask, row_blocks
from skgeom.utils.array_api import is_dask
from skgeom.utils.estimator import current_progress


def by_blocks_if_stochastic(fit):
    """A ``fit`` that takes Dask arrays and frames with ``solver="sgd"``."""

    @wraps(fit)
    def wrapper(self, X, y, sample_weight=None):
        if is_dask(X) and self.solver == "sgd":
            return _fit_blocks(self, X, y, sample_weight)
        refuse_dask(self, X, "Set solver='sgd' to learn its blocks one after another")
        return fit(self, X, y, sample_weight)

    return wrapper


def _fit_blocks(model, X, y, sample_weight):
    """Learn one block after another by ``partial_fit``.

    A block counts as an epoch of its schedule, and all blocks are taken as often as it
    takes to reach ``max_iter``, at least once.
    """
    import dask

    blocks = row_blocks(X, y, sample_weight)
    labels = dask.compute(*(dask.delayed(_labels)(y) for _, y, _ in blocks))
    seen = [number for number, some in enumerate(labels) if len(some)]
    if not seen:
        raise ValueError("There are no samples: all blocks of X are empty.")
    classes = np.unique(np.concatenate([labels[number] for number in seen]))
    parameters = model.get_params(deep=False)
    if not model._goes_on():
        for name in set(vars(model)) - set(parameters):
            delattr(model, name)
    # Blocks are shuffled differently; the source of random numbers is not the user's.
    learner = clone(model)
    learner.random_state = check_random_state(model.random_state)
    vars(learner).update({k: v for k, v in vars(model).items() if k not in parameters})
    steps = seen * ceil(model.max_iter / len(seen))
    progress = current_progress()
    progress.start()

    def learnt():
        return {k: v for k, v in vars(learner).items() if k not in parameters}

    for number in steps:
        samples, own_labels, weights = dask.compute(*blocks[number])
        if weights is not None and not np.any(weights):
            continue
        with naming_block(number):
            learner.partial_fit(samples, own_labels, classes, weights)
        said = f"loss {learner.loss_curve_[-1]:.6g}"
        if progress.step("", said, learnt, n_steps=len(steps), name="block"):
            break
    vars(model).update(learnt())
    return model


def _labels(y):
    return np.unique(column_or_1d(y)) if len(y) else np.empty(0)
