"""Costs of the predicted classes and of a rejection."""

import numpy as np

from skgeom.utils.validation import check_array, check_labels, labels_of


def checked_costs(cost_matrix, classes):
    """The parameter ``cost_matrix`` as an array of shape (n_classes, n_classes + 1).

    Parameters
    ----------
    cost_matrix : array-like
        Costs, with one row for each class, one column for each class, and a last column
        for rejections.
    classes : list of length n_classes
        The labels of the classes.
    """
    n_classes = len(classes)
    check_labels(cost_matrix, 0, classes, "cost_matrix", "classes_")
    # The label of the last column may be any name that is no class.
    names = labels_of(cost_matrix, -1)
    if len(names) == n_classes + 1 and {*classes} < {*names}:
        (last,) = {*names} - {*classes}
        check_labels(cost_matrix, -1, [*classes, last], "cost_matrix", "classes_")
    options = {"dtype": np.float64, "ensure_2d": False, "allow_nd": True}
    costs = check_array(cost_matrix, input_name="cost_matrix", **options)
    if costs.shape != (n_classes, n_classes + 1):
        raise ValueError(
            f"cost_matrix must have the shape {(n_classes, n_classes + 1)}, got "
            f"{costs.shape}. Use one row for each of the classes {classes}, one column "
            "for each of these classes, and a last column with the costs of rejections."
        )
    return costs
