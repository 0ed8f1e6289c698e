"""Accuracy of the first example of the documentation and of its baselines.

    python -m benchmarks.bench_first_example

The command writes ``doc/results/first_example.csv``: test accuracies of a Gaussian
classifier on MNIST, with 60,000 training images and 10,000 test images. Parameters are
defaults, except for the row whose regularization is selected with 10,000 of the
training images.
"""

import csv
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import make_pipeline

from skgeom import SQFA, GaussianClassifier
from skgeom.datasets import fetch_mnist

RESULTS = Path(__file__).parents[1] / "doc" / "results" / "first_example.csv"
MODELS = {
    "784 pixels, default regularization": GaussianClassifier(),
    "784 pixels, tuned regularization": GridSearchCV(
        GaussianClassifier(),
        {"regularization": [0.1 * 255**2, 0.03 * 255**2, 0.01 * 255**2]},
        cv=PredefinedSplit(np.where(np.arange(60_000) < 50_000, -1, 0)),
    ),
    "9 features of PCA": make_pipeline(PCA(9, random_state=0), GaussianClassifier()),
    "9 features of LDA": make_pipeline(
        LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1), GaussianClassifier()
    ),
    "9 features of SQFA": make_pipeline(
        SQFA(9, distance="hellinger", random_state=0), GaussianClassifier()
    ),
    "30 features of SQFA": make_pipeline(
        SQFA(30, distance="hellinger", random_state=0), GaussianClassifier()
    ),
}


def main():
    X, y = fetch_mnist(subset="train", return_X_y=True)
    X_test, y_test = fetch_mnist(subset="test", return_X_y=True)
    with open(RESULTS, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["Input of the Gaussian classifier", "Test accuracy"])
        for name, model in MODELS.items():
            accuracy = model.fit(X, y).score(X_test, y_test)
            writer.writerow([name, f"{accuracy:.1%}".replace("%", " %")])
            print(name, f"{accuracy:.1%}", flush=True)


if __name__ == "__main__":
    main()
