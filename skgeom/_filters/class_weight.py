"""The parameter ``class_weight``: of classes in pairs, and of samples."""

import numpy as np
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight


def weights_of_classes(class_weight, classes):
    """Weights of the classes in the mean over pairs, or None if all count alike."""
    if class_weight is None or class_weight == "balanced":
        return None
    weights = compute_class_weight(class_weight, classes=classes, y=classes)
    _check(weights, classes)
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
    weights = compute_sample_weight(class_weight, y)
    _check(weights, y)
    if not weights.any():
        raise ValueError(
            f"class_weight must be positive for some class, got {class_weight}."
        )
    return weights


def _check(weights, labels):
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        first = wrong.argmax()
        raise ValueError(
            "class_weight must hold finite numbers that are not negative, got "
            f"{weights[first]} for class {labels[first]}."
        )
