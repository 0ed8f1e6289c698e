"""
One filter after the other
==========================

Filters that are learnt together share the work, and none is the most important. Learnt
in groups, with ``group_size``, each group adds to those before: the first filter is the
best one, the second the best one beside it, as with principal components.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from skgeom import SQFA, GaussianClassifier
from skgeom.plotting import FilterDisplay

X, y = load_digits(return_X_y=True)
X = X / X.std()
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
ordered = SQFA(8, group_size=1, distance="hellinger", random_state=0)
together = SQFA(8, distance="hellinger", random_state=0)
for model in (ordered, together):
    model.fit(X_train, y_train)

FilterDisplay.from_estimator(ordered, shape=(8, 8), n_columns=4)
plt.show()

# %%
# What the first k filters are good for: the accuracy of a quadratic classifier on them.
# The ordered filters can be cut off anywhere.

figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, model in {"one by one": ordered, "together": together}.items():
    scores = []
    for k in range(1, 9):
        classifier = GaussianClassifier().fit(model.transform(X_train)[:, :k], y_train)
        scores.append(classifier.score(model.transform(X_test)[:, :k], y_test))
    axis.plot(range(1, 9), scores, "o-", label=name)
axis.set(xlabel="first k filters", ylabel="test accuracy")
axis.legend()
plt.show()
