"""The first step of the pipelines of SPD matrices."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted

from skgeom.utils.validation import check_spd_samples, check_two_classes


class SPDSamples(TransformerMixin, BaseEstimator):
    """Check samples that are SPD matrices, and their labels, for the steps behind.

    Parameters
    ----------
    name : str
        That of the function that made the pipeline, for the messages.
    labelled : bool, default=True
        Whether the steps behind need y, labels of at least two classes.
    """

    def __init__(self, name, labelled=True):
        self.name = name
        self.labelled = labelled

    def fit(self, X, y=None):
        """Check X, and y if it is needed."""
        check_spd_samples(self, X, reset=True, name=self.name)
        if self.labelled:
            if y is None:
                raise ValueError(
                    f"{self.name} requires y to be passed, but it is None."
                )
            y = np.asarray(y)
            if y.ndim != 1:  # the steps behind need not turn columns into rows
                raise ValueError(f"y should be a 1d array, got shape {y.shape}.")
            assert_all_finite(y, input_name="y")
            check_classification_targets(y)
            if len(y) != len(X):
                raise ValueError(f"X has {len(X)} samples, but y has {len(y)} labels.")
            check_two_classes(np.unique(y), self.name)
        return self

    def transform(self, X):
        """X as float64 or float32 matrices that are exactly symmetric."""
        check_is_fitted(self)
        return check_spd_samples(self, X, reset=False, name=self.name)

    def set_output(self, *, transform=None):
        """Matrices go into no data frame; the steps behind may make some."""
        return self

    def __sklearn_is_fitted__(self):
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        return tags
