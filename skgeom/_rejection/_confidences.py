"""Confidences of samples: probabilities, densities, or a function of the user."""

import numpy as np

from skgeom.utils._dask import is_dask
from skgeom.utils.array_api import namespace


def confidences_of(confidence, classifier, X, probabilities):
    """The confidence of each sample, of shape (n_samples,).

    Parameters
    ----------
    confidence : {"probability", "density"} or callable
        The parameter of ``RejectionClassifier``.
    classifier : classifier
        The fitted classifier.
    X : array-like of shape (n_samples, ...)
        The samples.
    probabilities : array of shape (n_samples, n_classes)
        The class probabilities of the samples.
    """
    if confidence == "probability":
        return namespace(probabilities).max(probabilities, axis=1)
    if callable(confidence):
        values = confidence(classifier, X)
    else:
        values = classifier.score_samples(X)
    values = values if hasattr(values, "shape") else np.asarray(values)
    n_samples = probabilities.shape[0]
    if len(values.shape) != 1 or not (is_dask(X) or values.shape[0] == n_samples):
        raise ValueError(
            f"confidence returns an array of shape {tuple(values.shape)} for "
            f"{n_samples} samples. It must return one number for each sample."
        )
    return values
