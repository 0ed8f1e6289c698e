"""
From a table to a classifier that knows its doubts
==================================================

A table of measurements, one column with the class: how to find a few features that keep
the classes apart, how to tune them, what they mean, how sure the classifier is, and how
to save it. The table is scikit-learn's record of 178 wines from three growers, with 13
chemical measurements each.
"""

# %%
# The data
# --------
#
# A pandas frame goes in as it is. Half of the wines are kept for the end, and are not
# looked at before.

import io

import joblib
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import SQFA, GaussianClassifier, RejectionClassifier
from skgeom.plotting import AccuracyRejectionDisplay, ClassEllipsesDisplay

X, y = load_wine(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
X_train.iloc[:3, :5]

# %%
# Scale, reduce, classify
# -----------------------
#
# The columns have different units, so they are scaled first. Two features, then a
# Gaussian for each class: that is a pipeline of three steps. Compare it with the same
# for principal components.


def pipeline(features):
    return make_pipeline(StandardScaler(), features, GaussianClassifier())


for name, features in {"PCA": PCA(2), "SQFA": SQFA(2, random_state=0)}.items():
    scores = cross_val_score(pipeline(features), X_train, y_train, cv=5)
    print(f"{name:4s} {scores.mean():.3f} +- {scores.std() / np.sqrt(5):.3f}")

# %%
# Look
# ----
#
# The plane of the two features, each class with an ellipse of one standard deviation.

model = pipeline(SQFA(2, random_state=0)).fit(X_train, y_train)
ClassEllipsesDisplay.from_estimator(model, X_train, y_train, label="grower")
plt.show()

# %%
# What the features are made of: a filter has a weight for each column. Long bars are
# the measurements that tell the growers apart.

figure, axis = plt.subplots(figsize=(7, 3.5), layout="constrained")
place = np.arange(X.shape[1])
for number, weights in enumerate(model["sqfa"].components_):
    axis.bar(place + 0.4 * number - 0.2, weights, 0.4, label=f"feature {number + 1}")
axis.set_xticks(place, X.columns, rotation=40, ha="right")
axis.set_ylabel("weight")
axis.legend()
plt.show()

# %%
# Tune
# ----
#
# Every parameter can be searched like those of scikit-learn's estimators: how many
# features, and which distance between the classes they maximise.

grid = {
    "sqfa__n_components": [1, 2, 3, 4],
    "sqfa__distance": ["fisher-rao", "hellinger"],
}
search = GridSearchCV(model, grid, cv=5).fit(X_train, y_train)
print(search.best_params_, f"{search.best_score_:.3f}")

# %%
# Leave out what is doubtful
# --------------------------
#
# The classifier has probabilities. One that may reject samples is right more often in
# those that it keeps. The curve shows the price: the accuracy of the kept samples
# against the fraction that is rejected, for the wines that nobody has seen.

best = search.best_estimator_
print(f"accuracy on unseen wines: {best.score(X_test, y_test):.3f}")
AccuracyRejectionDisplay.from_estimator(best, X_test, y_test)
plt.show()

careful = RejectionClassifier(best, threshold=0.95).fit(X_train, y_train)
predicted = careful.predict(X_test)
kept = predicted != careful.reject_label_
print(f"rejected: {np.mean(~kept):.3f}")
print(f"right among the others: {np.mean(predicted[kept] == y_test[kept]):.3f}")

# %%
# Save and load
# -------------
#
# A fitted model is saved by joblib. Here the file is in memory.

file = io.BytesIO()
joblib.dump(careful, file)
file.seek(0)
loaded = joblib.load(file)
print("same predictions:", np.array_equal(loaded.predict(X_test), predicted))
