"""Data frames, for estimators that were fitted with names of features."""


def named_like_fit(X, estimator):
    """Samples with the names of features that an estimator saw in fit, if any.

    Without names or without pandas, they stay an array.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return X
    return with_names(X, names)


def with_names(X, names):
    """A pandas data frame of an array; the array itself if there is no pandas."""
    try:
        import pandas as pd
    except ImportError:
        return X
    return pd.DataFrame(X, columns=names)
