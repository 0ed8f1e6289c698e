"""The base class of objectives of filters."""


class Objective:
    """Base class of objectives of filters.

    Filters are the columns of an array F of shape (n, m), for any m. An objective is a
    mean over terms, such as samples or pairs of classes. A subclass defines
    ``__call__`` and ``project``, and the optional members that its optimization uses.

    ``objective(filters)``
        returns the value and its gradient, of shape (n, m). It raises
        ``numpy.linalg.LinAlgError`` if the value is not finite.
    ``objective.project(basis)``
        returns the same objective for filters ``basis @ G``, as a function of G.
    ``objective.growing_subsets(random_state)``
        returns subsets of the terms for the first iterations. Each subset is part of
        the next subset. The default is no subsets.
    ``objective.subset(terms)``
        returns an objective that estimates the same mean from some terms. Required for
        subsets and batches.
    ``objective.mean(filters)``
        returns the value of all terms. Required if the last subset is not complete.
    ``objective.n_samples``
        is the number of terms. Required for batches.
    ``objective.classes``
        are the :class:`ClassMoments` before the projection. Required for the automatic
        selection of shrinkage and regularization.

    Attributes
    ----------
    terms : str, default="samples"
        Name of the terms in messages.
    complete : bool, default=True
        Whether the objective contains all terms, not a subset.
    parallel : bool, default=False
        Whether the objective uses several threads. BLAS should then use one thread.
    rotation_invariant : bool, default=False
        Whether the objective is equal for filters F and F R with an orthogonal R.
    affine_invariant : bool, default=False
        Whether the objective without regularization is invariant under invertible
        linear maps of the features.
    """

    terms = "samples"
    complete = True
    parallel = rotation_invariant = affine_invariant = False

    def growing_subsets(self, random_state):
        """No subsets of the terms."""
        return []
