"""An objective of some filters, next to others that are fixed."""

import numpy as np


class WithFixedFilters:
    """An objective of the last filters only, the first ones being fixed.

    Parameters
    ----------
    objective : callable
        An objective of all filters, with a method ``project``.
    fixed : ndarray of shape (n, p)
        The fixed filters.
    n_padding : int, default=0
        Number of leading rows of the objective's filters that are zero in the last
        ones. A projection uses them for the coordinates of the fixed filters.
    """

    # Attributes of the objective that are valid for the last filters, too.
    _kept = (
        "affine_invariant",
        "complete",
        "n_samples",
        "parallel",
        "rotation_invariant",
        "terms",
    )

    def __init__(self, objective, fixed, n_padding=0):
        self.objective = objective
        self.fixed = fixed
        self.n_padding = n_padding
        for name in self._kept:
            if hasattr(objective, name):
                setattr(self, name, getattr(objective, name))

    def project(self, basis):
        """The same objective for last filters ``basis @ G``, as a function of G."""
        n_fixed = self.fixed.shape[1]
        both = self.objective.project(np.hstack([self.fixed, self._pad(basis)]))
        return WithFixedFilters(both, np.eye(both.n_features, n_fixed), n_fixed)

    def in_single_precision(self):
        """The same objective, from covariances in single precision if that will do."""
        single = self.objective.in_single_precision()
        if single is self.objective:
            return self
        return WithFixedFilters(single, self.fixed, self.n_padding)

    def projection_dominates(self, n_filters):
        """Whether an evaluation mostly projects what the objective is made of."""
        return self.objective.projection_dominates(self.fixed.shape[1] + n_filters)

    def growing_samples(self, random_state):
        """Samples of the terms of the objective, if there are many."""
        return self.objective.growing_samples(random_state)

    def sample(self, rows):
        """The same objective of some samples only, or of some pairs."""
        objective = self.objective.sample(rows)
        return WithFixedFilters(objective, self.fixed, self.n_padding)

    def mean(self, filters):
        """Value at the last filters, of all pairs."""
        return self.objective.mean(np.hstack([self.fixed, self._pad(filters)]))

    def _pad(self, filters):
        return np.pad(filters, ((self.n_padding, 0), (0, 0)))

    def __call__(self, filters):
        """Value and gradient at the last filters."""
        value, gradient = self.objective(np.hstack([self.fixed, self._pad(filters)]))
        return value, gradient[self.n_padding :, self.fixed.shape[1] :]
