"""Data frames, for estimators that know their features by name."""


def named_like_fit(X, estimator):
    """Samples as an estimator saw them in fit: with names of features, if it had such.

    Without pandas, they stay an array.
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
