"""The parameter ``class_weight``: of classes in pairs, and of samples."""

import numpy as np

from skgeom.utils.validation import class_factors


def weights_of_classes(class_weight, classes):
    """Weights of the classes in the mean over pairs, or None if all count alike."""
    if class_weight is None or class_weight == "balanced":
        return None
    weights = class_factors(class_weight, classes, zero=True)
    if np.count_nonzero(weights) < 2:
        raise ValueError(
            "class_weight must be positive for at least two classes, which make a "
            f"pair, got {class_weight}."
        )
    return weights


def weights_of_samples(class_weight, y):
    """Weights of the samples in training, or None if all count alike."""
    if class_weight is None:
        return None
    classes, labels, counts = np.unique(y, return_inverse=True, return_counts=True)
    return factors_of_samples(class_weight, classes, counts)[labels]


def factors_of_samples(class_weight, classes, counts):
    """Weights of the samples of each class in training."""
    if class_weight is None:
        return np.ones(len(classes))
    if class_weight == "balanced":
        return counts.sum() / (len(classes) * counts)
    factors = class_factors(class_weight, classes, zero=True)
    if not factors.any():
        raise ValueError(
            f"class_weight must be positive for some class, got {class_weight}."
        )
    return factors
