"""
Learn filters and a classifier from class statistics
====================================================

Three sites record data that must not leave the sites. Each site sends a file of class
statistics. The merged statistics are sufficient to learn filters, to compare the
classes, to compute the Bayes error, and to train a classifier.
"""

import pickle
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import shuffle

from skgeom import SQFA, ClassStatistics, GaussianClassifier, bayes_error
from skgeom.plotting import ClassEllipsesDisplay

# %%
# Each site saves the counts, means and covariances of the classes in a file that does
# not use pickle. The last samples are kept for the test.

X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
X_test, y_test = X[1500:], y[1500:]
folder = Path(tempfile.mkdtemp())
for site in range(3):
    rows = slice(500 * site, 500 * (site + 1))
    ClassStatistics.from_data(X[rows], y[rows]).save(folder / f"site{site}.npz")

# %%
# The files can be merged in any order. Each element of a list of statistics is one
# fold: held-out parts select the regularization.

parts = [ClassStatistics.load(path) for path in sorted(folder.glob("*.npz"))]
statistics = ClassStatistics.merge(parts)
print(statistics)
sqfa = SQFA(4, distance="hellinger", random_state=0).fit_statistics(parts)
print(f"Regularization: {sqfa.regularization_:.3g}")

# %%
# The statistics of the features are computed from the statistics of the samples. The
# two digits with the smallest distance between them are confused most often. The Bayes
# error is the error of the optimal classifier of Gaussians with these statistics. The
# error on digits is larger, because the features of digits are not exactly Gaussian and
# their statistics are estimated.

features = statistics.project(sqfa.components_)
distances = sqfa.class_distances() + np.eye(10)
first, second = np.unravel_index(distances.argmin(), distances.shape)
print(f"Closest classes: {sqfa.classes_[first]} and {sqfa.classes_[second]}")
error = bayes_error(features, random_state=0).value
print(f"Bayes error of these Gaussians: {error:.1%}")

# %%
# Train a classifier with the same statistics, and store it with the filters. Only the
# test requires samples.

classifier = GaussianClassifier().fit_statistics(features)
path = folder / "model.pickle"
path.write_bytes(pickle.dumps((sqfa, classifier)))
filters, stored = pickle.loads(path.read_bytes())
print(f"Test error: {1 - stored.score(filters.transform(X_test), y_test):.1%}")

# %%
# Plot the class ellipses from the statistics.

ClassEllipsesDisplay.from_statistics(features)
# sphinx_gallery_alt = "Ellipses of ten digits in the plane of two features"
plt.show()
