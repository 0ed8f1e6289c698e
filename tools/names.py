"""Write the table of the public names of estimators, ``doc/names.csv``.

    python tools/names.py

A name has one meaning in all estimators. The first sentence of its description is the
same, or ``SHARED`` states the meaning, and words of which each description contains
one. ``tests/test_names.py`` checks this, and that the table is current.
"""

import csv
import inspect
import io
import re
from collections import defaultdict
from pathlib import Path

from numpydoc.docscrape import ClassDoc
from sklearn.base import BaseEstimator

import skgeom
from skgeom import baselines

TABLE = Path(__file__).parents[1] / "doc" / "names.csv"

# Name: meaning, words.
SHARED = {
    "class_shrinkages_": ("Intensity of the shrinkage of each class.", "intensit"),
    "class_weight": ("Weights of the classes in training.", "weights"),
    "classes_": ("The sorted class labels.", "class labels"),
    "components_": (
        "Vectors, in rows, onto which ``transform`` projects samples.",
        "filter|component|eigenvector|transpose",
    ),
    "covariance_estimator": (
        "Estimator of the class covariances.",
        "estimator of the class covariances",
    ),
    "distance": ("Distance between two classes, which is maximized.", "distance"),
    "dual_coef_": ("Coefficients of kernels with samples.", "coefficients"),
    "eigenvalues_": (
        "The value of each component, in descending order.",
        "eigenvalue|ratio|variance",
    ),
    "estimator": ("The classifier, of which ``fit`` fits a clone.", "classifier"),
    "estimator_": ("The fitted classifier.", "fitted classifier"),
    "feature_names_in_": ("Names of the features of X.", "names of the features"),
    "gamma": ("Coefficient of the kernel function.", "coefficient"),
    "gamma_": ("The value of ``gamma`` that was used.", "gamma"),
    "init": ("Initial values of what the optimization learns.", "initial"),
    "kernel": ("Name of a kernel, or a function of two samples.", "name"),
    "kernel_center_": ("Mean that is subtracted before the kernel.", "mean"),
    "label_noise_": ("Probability with which a label is random.", "label noise|random"),
    "loss_curve_": ("The cost after each iteration or epoch.", "cost"),
    "max_iter": ("Largest number of iterations.", "iterations"),
    "means_": ("The means of classes, or of domains.", "class means|mean of each"),
    "metric": ("The metric with which samples are compared.", "metric"),
    "n_components": (
        "Dimension of the space onto which samples are projected.",
        "number|size|rows",
    ),
    "n_features_in_": (
        "Number of features, or rows of matrices, of X.",
        "number|size|length",
    ),
    "n_iter_": ("Number of iterations until the optimization ended.", "number"),
    "n_landmarks": ("Number of samples that represent all samples.", "landmarks"),
    "objective_": ("The value of the objective that was reached.", "mean|dispersion"),
    "offset_": ("Offsets that center the components.", "offsets"),
    "omega_": (
        "The linear map of the samples before distances or kernels are computed.",
        "matrix|map",
    ),
    "priors": (
        "Class probabilities in predictions. None: the proportions in training.",
        "probabilities",
    ),
    "priors_": ("Class probabilities in predictions.", "probabilities"),
    "prototypes_": ("The prototypes of all classes.", "prototypes"),
    "random_state": ("Seed of random numbers.", "seed"),
    "regularization": (
        "Strength of the regularization, which is added to variances.",
        "added|penalty",
    ),
    "regularization_": (
        "The value of ``regularization`` that was used.",
        "regularization|variance|sigma",
    ),
    "selection_": (
        "Candidates of the automatic choices, and their scores.",
        "candidates",
    ),
    "shrinkage_": ("Intensity of the shrinkage, from 0 to 1.", "rho|shrinkage"),
    "sigma2": ("Variance of the densities around prototypes.", "variance"),
    "slope": ("Slope of the sigmoid function of the loss.", "slope"),
    "solver": ("Algorithm.", "minimizes|solves|eigenproblem"),
    "statistics_": ("Counts, means and covariances of the classes.", "counts"),
    "temperature": (
        "Divisor T of the scores of the classes, which calibrates probabilities.",
        "temperature|divi",
    ),
    "temperature_": ("The value of the temperature that was used.", "temperature"),
    "tol": ("Tolerance with which the optimization stops.", "stops"),
    "verbose": ("Amount of printed progress.", "print"),
}


def descriptions():
    """Descriptions of each public name of an estimator: {name: {estimator: text}}."""
    found = defaultdict(dict)
    for module in (skgeom, baselines):
        for of_class in module.__all__:
            cls = getattr(module, of_class)
            if not (inspect.isclass(cls) and issubclass(cls, BaseEstimator)):
                continue
            doc = ClassDoc(cls)
            for entry in doc["Parameters"] + doc["Attributes"]:
                text = re.sub(r":\w+:`~?([^`<]+)[^`]*`", r"\1", " ".join(entry.desc))
                for name in entry.name.split(", "):
                    found[name][of_class] = text
    return {name: found[name] for name in sorted(found)}


def first_sentence(text):
    """The first sentence of a description, or its part before a colon."""
    text = re.sub(r" \[\d+\]_", "", text.replace(" of [1]_", " of the paper"))
    return re.split(r"(?<=[.;:])\s", text)[0].rstrip(";:.") + "."


def table():
    """The table as text."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["Name", "Meaning", "Estimators"])
    for name, texts in descriptions().items():
        if name in SHARED:
            meaning = SHARED[name][0]
        else:
            meaning = first_sentence(next(iter(texts.values())))
        estimators = ", ".join(f":class:`~{path(name)}`" for name in texts)
        writer.writerow([f"``{name}``", meaning, estimators])
    return file.getvalue()


def path(name):
    """The full name of an estimator."""
    return f"skgeom.{name}" if name in skgeom.__all__ else f"skgeom.baselines.{name}"


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
