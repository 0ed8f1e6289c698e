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
# Each site stores the counts, means and covariances of the classes in an npz file. The
# last samples are test samples.

X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
X_test, y_test = X[1500:], y[1500:]
folder = Path(tempfile.mkdtemp())
for site in range(3):
    rows = slice(500 * site, 500 * (site + 1))
    part = ClassStatistics.from_data(X[rows], y[rows])
    names = "classes", "counts", "means", "covariances"
    arrays = {name: getattr(part, name) for name in names}
    np.savez(folder / f"site{site}.npz", **arrays)

# %%
# Merge the statistics of the sites, in any order. To learn the filters, pass the list
# of statistics instead of the merged statistics: each element of the list is one fold
# of the cross-validation that selects the regularization.

parts = [ClassStatistics(**np.load(path)) for path in sorted(folder.glob("*.npz"))]
statistics = ClassStatistics.merge(parts)
print(statistics)
sqfa = SQFA(4, distance="hellinger", random_state=0).fit_statistics(parts)
print(f"Regularization: {sqfa.regularization_:.3g}")

# %%
# Compute the statistics of the features from the statistics of the samples. Print the
# two digits with the smallest distance, which are difficult to distinguish, and the
# Bayes error: the error of the optimal classifier for Gaussians with these statistics.
# The test error below is larger: the features of digits are not exactly Gaussian, and
# their statistics are estimated.

features = statistics.project(sqfa.components_)
distances = sqfa.class_distances() + np.eye(10)
first, second = np.unravel_index(distances.argmin(), distances.shape)
print(f"Closest classes: {sqfa.classes_[first]} and {sqfa.classes_[second]}")
error = bayes_error(features, random_state=0).value
print(f"Bayes error of these Gaussians: {error:.1%}")

# %%
# Train a classifier with the statistics of the features, and store the classifier with
# the filters. Only the test requires samples.

classifier = GaussianClassifier().fit_statistics(features)
path = folder / "model.pickle"
path.write_bytes(pickle.dumps((sqfa, classifier)))
filters, stored = pickle.loads(path.read_bytes())
print(f"Test error: {1 - stored.score(filters.transform(X_test), y_test):.1%}")

# %%
# Plot the class ellipses of the first two features from the statistics.

ClassEllipsesDisplay.from_statistics(features)
# sphinx_gallery_alt = "Ellipses of ten digits in the plane of two features"
plt.show()
