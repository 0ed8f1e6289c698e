"""Paragraphs of docstrings that several estimators of filters share, by name."""

FILTER_DOCS = {
    "n_components": r"""
    n_components : int or None, default=2
        Number m of filters, at most ``n_features``. None is one less than there are
        classes, as of linear discriminants; but filters can be more than those.
    """,
    "squared": r"""
    squared : bool, default=False
        Whether to average the squares of the distances.
    """,
    "regularization": r"""
    regularization : "auto" or float, default="auto"
        The variance :math:`\sigma^2`, in squared units of X, that is added to the
        variance of each filter's output. Directions of a smaller variance hardly count.
        ``"auto"`` selects the value for which held-out samples have the largest mean
        log posterior, see the user guide; a common factor on X changes nothing. With
        0, all class covariances must be regular.
    """,
    "constraint": r"""
    constraint : {"unit-norm", "orthonormal"}, default="unit-norm"
        What the filters must satisfy.
    """,
    "covariance_estimator": r"""
    covariance_estimator : "auto", None, str or object, default="auto"
        How the class covariances are estimated. ``"auto"`` shrinks the sample
        covariance of each class towards the covariance W within the classes,
        :math:`(1 - \rho_k) S_k + \rho_k W`, and selects :math:`\rho` by held-out
        samples, see the user guide. None uses the sample covariances. Other estimators
        are one of the names ``"cov"``, ``"lwf"``, ``"mcd"``, ``"oas"``, ``"sch"``,
        ``"scm"`` of ``pyriemann.geometry.covariance``, or an object whose ``fit`` sets
        ``covariance_``. The means are sample means in any case. With "auto" and
        None, filters of samples that are fewer than their features are optimized in
        the span of the samples; with other estimators, among all features, since an
        estimate may have a variance outside of the span.
    """,
    "class_weight": r"""
    class_weight : None, "balanced" or dict, default=None
        How much each class counts: the mean over pairs has the weights
        :math:`w_i w_j`. None and ``"balanced"``: all alike, whatever the number of
        their samples. Classes that a dictionary of labels lacks have weight one.
    """,
    "init": r"""
    init : str or array-like of shape (n_components, n_features), default="auto"
        Where to start: ``"pca"``, the leading principal axes; ``"lda"``, the linear
        discriminants, completed by principal axes; ``"random"``; or given filters.
        ``"auto"`` tries ``"lda"``, ``"pca"`` and random ones.
    """,
    "n_init": r"""
    n_init : "auto" or int, default="auto"
        Number of initializations, of which the best is optimized to the end.
        Initializations that ``init`` does not name are random. ``"auto"`` is, for
        ``init="auto"``, 8 with up to 100 features and 50 classes and 3 with more, 10
        for ``init="random"``, and otherwise 1.
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
        For random starts, for the order of samples if they are taken in batches,
        and for the pairs of more than 100 classes, of which samples are taken.
    """,
    "verbose": r"""
    verbose : int, default=0
        If 1, a line is printed at the end of each stage of the search, such as each
        start, and one a second during long ones; if more, one for each iteration.
    """,
    "components_": r"""
    components_ : ndarray of shape (n_components, n_features)
        The filters.
    """,
    "objective_": r"""
    objective_ : float
        What they reach: the mean over all pairs of classes of their distance, or of its
        square if ``squared``, with the noise of variance ``regularization_`` in the
        features, and with the weights of ``class_weight``. That is the mean of what
        ``class_distances`` returns above its diagonal. With more than 1,024 classes it
        is estimated from 524,288 pairs.
    """,
    "statistics_": r"""
    statistics_ : ClassStatistics
        The statistics of the features of the classes, without the regularization,
        but shrunk by ``shrinkage_``.
    """,
    "regularization_": r"""
    regularization_ : float
        The value of :math:`\sigma^2` that was used.
    """,
    "selection": r"""
    shrinkage_ : float or None
        The selected :math:`\rho`, the shrinkage of a class of mean size; None where
        the covariances are given, estimated class by class, or shrunk in closed form.
    selection_rule_ : str
        How ``shrinkage_`` and ``regularization_`` were found: ``"held-out log
        posterior"``; ``"given"``; ``"sampling noise"``, by statistics alone; or
        ``"closed form"``, which is the sampling noise and
        :meth:`ClassStatistics.shrunk`, where nothing can be held out.
    selection_scores_ : dict of ndarrays or None
        ``"shrinkage"`` (NaN without shrinkage), ``"regularization"`` and
        ``"mean_log_posterior"`` of each candidate; None if nothing was held out.
    restart_objectives_ : ndarray of shape (n_restarts,)
        The objective that each initialization reached when the best one was selected;
        of one group of filters after another.
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
    "init_of_ama": r"""
    init : str or array-like of shape (n_components, n_features), default="auto"
        Where to start: ``"auto"``, the filters of :class:`SQFA` with the Hellinger
        distance, which are close already; ``"pca"``, the leading principal axes;
        ``"lda"``, the linear discriminants, completed by principal axes; ``"random"``;
        or given filters.
    """,
    "n_init_of_ama": r"""
    n_init : "auto" or int, default="auto"
        Number of starts, of which the best is followed to the end. Those that ``init``
        does not name are random. ``"auto"`` is 10 for ``init="random"`` and otherwise
        1.
    """,
    "priors": r"""
    priors : "uniform", "empirical", None or array-like, default="uniform"
        Prior probabilities :math:`\pi_i`: ``"uniform"``, equal; ``"empirical"`` or
        None, the proportions of the classes in y; or an array of shape (n_classes,) of
        sum one, in the order of ``classes_``.
    """,
    "class_weight_of_samples": r"""
    class_weight : None, "balanced" or dict, default=None
        Weights of the samples of each class in the objective: None, one; "balanced",
        inversely proportional to their number; or a dictionary of labels. Those that
        it lacks have weight one. The priors do not depend on it.
    """,
    "batch_size": r"""
    batch_size : int or None, default=None
        If given, the size of the batches of samples for stochastic gradient steps,
        which shorten when an epoch no longer raises the objective; ``optimizer`` and
        ``tol`` are then not used, and ``max_iter`` and ``n_iter_`` count epochs. The
        result is a little less exact.
    """,
    "log_posterior_": r"""
    objective_ : float
        What they reach: the mean over the training samples, with the weights of
        ``class_weight``, of the log posterior of the correct class, in nats, with the
        variance ``regularization_`` added to those of the features. The search
        maximises the information gained, which is this minus the mean log prior;
        ``tol`` is relative to it, and ``verbose`` prints it.
    """,
    "priors_": r"""
    priors_ : ndarray of shape (n_classes,)
        The prior probabilities that were used.
    """,
}
