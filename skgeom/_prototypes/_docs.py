"""Paragraphs of docstrings that the estimators of prototypes share, by name."""

LVQ_DOCS = {
    "n_prototypes": r"""
    n_prototypes : int or array-like of shape (n_classes,), default=1
        Number of prototypes of each class, in the order of ``classes_``.
    """,
    "metric": r"""
    The geometry of SPD matrices, see the user guide:

    - ``"tangent"``, in which matrices are vectors of the tangent space at the
      affine-invariant mean of the training samples: affine-invariant, and fast;
    - ``"riemann"``, affine-invariant, that of the papers;
    - ``"logdet"``, Stein's divergence: affine-invariant as well, an eighth of the
      former's square nearby, so that a given ``sigma2`` is to be divided by 8;
    - ``"logeuclid"``, in which the logarithms of the matrices are vectors: fast, too;
    - ``"mahalanobis"``, as ``"tangent"``, with the Mahalanobis distance of the shrunken
      covariance within the classes, a metric learnt from the samples. With these
      two, ``partial_fit`` and warm starts keep the metric of the first call, which is
      learnt from ``init`` instead if its samples do not have all classes;
    - ``"euclid"``, with prototypes that are kept positive definite by raising
      eigenvalues below 1e-4 to that value, or to the smallest one of the samples
      and of the prototypes before the steps if that is lower.
    """,
    "representability": r"""
    representability : "auto" or float, default="auto"
        Weight of a term that draws prototypes to the samples of their class: minus
        this times the log of their mixture density, :math:`\sum_{l: c_l = y} P(l)
        \exp(-\delta^2(X, W_l) / 2 \sigma_0^2)` with the automatic value of ``sigma2``,
        for ``sigma2_scale=1``, as :math:`\sigma_0^2`. Where classes can be separated,
        likelihood alone drives prototypes ever farther away. 0 is the cost of the
        paper, which ends the search early instead. ``"auto"`` is 0 for ``"sgd"``. For
        ``"lbfgs"``, it is selected by cross-validation where samples are compared as
        vectors (all metrics except ``"riemann"`` and ``"logdet"``, for which it is
        .03): of 13 values from 1 to 1e-4, the largest whose mean log probability of
        held-out samples, with classes weighted equally, is not worse than the best one
        by more than a standard error of their paired differences.
    """,
    "sigma2_scale": r"""
    sigma2_scale : float, default=1.0
        What the automatic ``sigma2`` is multiplied by, and where ``"learn"`` starts. A
        search over it suits each fold, metric and number of prototypes. It has no
        effect on a ``sigma2`` that is a number.
    """,
    "priors": r"""
    priors : "uniform", None, "empirical" or array-like, default="uniform"
        Class probabilities for decisions, which the prototypes of a class share
        equally: ``"uniform"`` is the same for all classes, as in the paper; None and
        ``"empirical"`` are the proportions of the classes in the training samples; or
        an array of shape (n_classes,) of sum one, in the order of ``classes_``.
        Training itself goes by the proportions of its samples; Bayes' rule puts these
        probabilities in their place.
    """,
    "class_weight": r"""
    class_weight : None, "balanced" or dict, default=None
        What the weights of the samples are multiplied by in training, for each class.
        ``"balanced"`` makes all classes count alike: the sums of their weights become
        equal, and they are equally probable in training. In ``partial_fit``, the sums
        are those of all samples so far. A dict of labels and positive numbers says what
        an error in a class costs: a class of larger weight is predicted more often.
    """,
    "init": r"""
    init : str or array-like, default="auto"
        Where the prototypes start: ``"mean"``, at the mean of the class in the metric,
        each moved from there, if there are several, by a tenth of the way to a random
        sample; ``"kmeans"``, at the means of clusters that k-means finds in the tangent
        metric at the class mean; ``"auto"``, ``"mean"`` for one prototype a class and
        ``"kmeans"`` for more; or given prototypes, class by class in the order of
        ``classes_``.
    """,
    "solver": r"""
    solver : {"auto", "lbfgs", "sgd"}, default="auto"
        ``"lbfgs"`` minimises the cost of all samples together by Riemannian L-BFGS; if
        the prototypes are all that is learnt, from probabilities, the search starts
        from the Gauss-Newton matrix of the cost, for which it keeps a logarithm for
        each sample and prototype (where these are more than 256 MiB, it does without).
        With ``metric="riemann"``, a search in the tangent space comes first, which
        counts as one iteration; fits that go on, and those of ``n_components``, do
        without it.
        ``"sgd"`` takes stochastic steps, algorithm 1 of the paper; with
        ``batch_size=1``, no step takes a prototype past a sample that attracts it, nor
        makes the distance from one that repels it longer by more than a quarter.
        ``"auto"`` is ``"lbfgs"``, or ``"sgd"`` for SPD matrices with the Euclidean
        metric, which ``"lbfgs"`` would not keep positive definite.
    """,
    "max_iter": r"""
    max_iter : int, default=100
        Number of epochs of ``"sgd"``, and with Dask data of blocks that it takes; the
        largest number of iterations of ``"lbfgs"``.
    """,
    "tol": r"""
    tol : float, default=0.01
        ``"lbfgs"`` stops when ten iterations together lower the cost by less than this
        fraction of it, when the mean loss falls below it, or when the gradient falls
        below this fraction of its norm at the start. After a search in the tangent
        metric, it stops at the first iteration that lowers the cost by less than a
        fiftieth of it (:class:`GLRSQ`: when ten do by less than half of it). ``"sgd"``
        does not use it.
    """,
    "learning_rate": r"""
    learning_rate : "auto" or float, default="auto"
        :math:`\alpha` of ``"sgd"`` before the first epoch; it falls to a hundredth
        during ``max_iter`` epochs. ``"auto"`` is, for matrices of size n and
        :math:`\xi` prototypes a class on average, :math:`n \xi / 100`; with a metric
        whose distances have a unit, such as the Euclidean one, it is
        :math:`\sigma^2 / 10`.
    """,
    "batch_size": r"""
    batch_size : int, default=1
        Number of samples whose steps ``"sgd"`` adds up and takes together.
    """,
    "shuffle": r"""
    shuffle : bool, default=True
        Whether ``"sgd"`` takes the samples of each epoch in a random order.
    """,
    "warm_start": r"""
    warm_start : bool, default=False
        Whether ``fit`` goes on from the prototypes of the last one, and from what else
        it learnt. What was found by itself, such as the automatic ``sigma2``, stays
        that of the first fit; the schedules of ``"sgd"`` begin anew. The samples of
        earlier fits are not kept: with ``"lbfgs"``, the result is the optimum of the
        new samples alone. Use ``partial_fit`` to learn from a stream of samples.
    """,
    "random_state": r"""
    random_state : int, RandomState instance or None, default=None
        For the start with several prototypes, and for the order of the samples.
    """,
    "verbose": r"""
    verbose : int, default=0
        Whether to print the loss of each epoch or iteration, and the selected
        ``representability``.
    """,
    "X_to_fit": """
    X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
        SPD matrices, or the vectors of estimators that take them, which may be sparse;
        not modified.
    """,
    "sample_weight": """
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples, not negative; a sample of weight 2 counts as two.
    """,
    "classes_of_calls": """
    classes : array-like of shape (n_classes,), default=None
        All classes that will ever occur; needed at the first call if its samples do not
        have them all.
    """,
    "raised_by_fit": """
    ValueError
        If a matrix is not symmetric to 1e-6 of its largest entry, or not positive
        definite (the message names it and its smallest eigenvalue), if an array is
        malformed or not finite, if there is one class only, if a class has fewer
        samples than prototypes, or if parameters do not fit together.
    """,
    "warned_by_fit": """
    ConvergenceWarning
        If ``solver="lbfgs"`` does not converge within ``max_iter`` iterations, or
        stays where it began without being at a minimum.
    UserWarning
        If the prototypes of all classes start at the same point.
    """,
    "representability_": r"""
    representability_ : float
        The given or selected weight of the term of representability.
    """,
    "priors_": r"""
    priors_ : ndarray of shape (n_classes,)
        The class probabilities that were used.
    """,
    "prototypes_": r"""
    prototypes_ : ndarray of shape (n_prototypes_in_all, n, n) or (..., n_features)
        The prototypes, class by class. Predictions use their coordinates: where classes
        can be separated, prototypes may be so far from the samples that matrices in
        floating-point numbers hold them only with limited eigenvalues.
    """,
    "prototype_labels_": r"""
    prototype_labels_ : ndarray of shape (n_prototypes_in_all,)
        Their classes.
    """,
    "classes_": r"""
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    """,
    "loss_curve_": r"""
    loss_curve_ : ndarray
        The cost: for ``"lbfgs"`` at the start and after each iteration, the first of
        which may be a whole search in the tangent space (``solver``); for ``"sgd"``
        the sum of the losses met during each epoch, before the steps they lead to. A
        call of ``partial_fit`` is one more epoch, over its own samples.
    """,
    "n_iter_": r"""
    n_iter_ : int
        Number of epochs or iterations, calls of ``partial_fit`` among them.
    """,
    "n_features_in_": r"""
    n_features_in_ : int
        Number of rows of the matrices, or of features of the vectors.
    """,
    "feature_names_in_": r"""
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X was a table with names that are all strings.
    """,
    "likelihood_references": r"""
    .. [1] F. Tang, H. Feng, P. Tino, B. Si and D. Ji, "Probabilistic learning vector
       quantization on manifold of symmetric positive definite matrices", Neural
       Networks 142, 2021.
    .. [2] S. Seo and K. Obermayer, "Soft learning vector quantization", Neural
       Computation 15(7), 2003.
    """,
}
