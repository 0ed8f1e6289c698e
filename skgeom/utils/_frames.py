"""Data frames and the names of their features."""

import numpy as np


def get_feature_names(X):
    """The names of the columns of a data frame if all are strings, otherwise None."""
    names = np.array(list(getattr(X, "columns", [])), dtype=object)
    is_named = len(names) > 0 and all(isinstance(name, str) for name in names)
    return names if is_named else None


def named_like_fit(X, estimator):
    """Samples with the names of features that an estimator was fitted with, if any.

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
