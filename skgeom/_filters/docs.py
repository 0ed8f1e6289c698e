"""Paragraphs of docstrings that several estimators of filters share, by name."""

FILTER_DOCS = {
    "squared": r"""
    squared : bool, default=False
        Whether to average the squares of the distances.
    """,
    "regularization": r"""
    regularization : "auto" or float, default="auto"
        The variance :math:`\sigma^2`, in squared units of X, that is added to that
        of each filter's output. Directions of a smaller variance count for little.
        ``"auto"`` is a quarter of the variance within the classes along the
        principal axis of rank ``n_components``, so that a common factor on X
        changes nothing; a heuristic of this package, not of the paper. With 0, all
        class covariances must be regular.
    """,
    "constraint": r"""
    constraint : {"unit-norm", "orthonormal"}, default="unit-norm"
        What the filters must satisfy.
    """,
    "covariance_estimator": r"""
    covariance_estimator : None, str or object, default=None
        How the class covariances are estimated: None for the sample covariance, one
        of the names ``"cov"``, ``"lwf"``, ``"mcd"``, ``"oas"``, ``"sch"``,
        ``"scm"`` of ``pyriemann.geometry.covariance``, or an object whose ``fit``
        sets ``covariance_``. The means are sample means in any case.
    """,
    "init": r"""
    init : str or array-like of shape (n_components, n_features), default="auto"
        Where to start: ``"pca"``, the leading principal axes; ``"lda"``, the linear
        discriminants, completed by principal axes; ``"random"``; or given filters.
        ``"auto"`` tries ``"lda"``, ``"pca"`` and random ones.
    """,
    "n_init": r"""
    n_init : "auto" or int, default="auto"
        Number of starts, of which the best is followed to the end. Those that
        ``init`` does not name are random. ``"auto"`` is, for ``init="auto"``, 8
        with up to 100 features and 4 with more, 10 for ``init="random"``, and
        otherwise 1.
    """,
    "group_size": r"""
    group_size : int or None, default=None
        If given, filters are learnt in groups of this size, the last group being
        smaller if need be, each with the earlier ones fixed: the groups are then
        ordered by usefulness.
    """,
    "optimizer": r"""
    optimizer : str or pymanopt optimizer, default="lbfgs"
        What maximises the objective: ``"lbfgs"``, ``"conjugate-gradient"``,
        ``"trust-regions"``, ``"steepest-descent"``, or an instance of a pymanopt
        optimizer; see :func:`skgeom.optim.minimize`.
    """,
    "max_iter": r"""
    max_iter : int, default=500
        Largest number of iterations of each run of the optimizer.
    """,
    "tol": r"""
    tol : float, default=1e-6
        The search ends when ten iterations together raise the objective by no more
        than this fraction of it.
    """,
    "random_state": r"""
    random_state : int, RandomState instance or None, default=None
        For random starts, and for the order of samples if they are taken in
        batches.
    """,
    "verbose": r"""
    verbose : int, default=0
        If positive, a line is printed for each start and for the end of the search.
    """,
    "components_": r"""
    components_ : ndarray of shape (n_components, n_features)
        The filters.
    """,
    "objective_": r"""
    objective_ : float
        The mean pairwise distance (or squared distance) of the classes that they
        reach.
    """,
    "statistics_": r"""
    statistics_ : ClassStatistics
        The statistics of the features of the classes, without the regularisation.
    """,
    "regularization_": r"""
    regularization_ : float
        The value of :math:`\sigma^2` that was used.
    """,
    "classes_": r"""
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    """,
    "n_iter_": r"""
    n_iter_ : int
        Number of iterations from the chosen start to the end, over all stages and
        groups, each of which may take ``max_iter``.
    """,
    "n_features_in_": r"""
    n_features_in_ : int
        Number of features seen during fit.
    """,
    "feature_names_in_": r"""
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had names that are all strings.
    """,
}
