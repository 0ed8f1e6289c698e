"""
Kernel discriminant analysis of large data with landmarks
=========================================================

Exact kernel discriminant analysis computes the kernel of all pairs of samples. With
``solver="nystroem"``, it computes only the kernel of all samples with the landmarks.
The figure shows the accuracy and the time of ``fit`` for several numbers of landmarks.
"""

from time import perf_counter

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from skgeom import KernelDiscriminantAnalysis

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
numbers = [20, 50, 100, 200, 400, 800]

# %%
# The landmarks are cluster centers of each class.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
scores, seconds = [], []
for number in numbers:
    model = KernelDiscriminantAnalysis(
        solver="nystroem", n_landmarks=number, regularization=1e-6, random_state=0
    )
    start = perf_counter()
    model.fit(X_train, y_train)
    seconds.append(perf_counter() - start)
    scores.append(model.score(X_test, y_test))
left.semilogx(numbers, scores, "o-", label="landmarks")
right.loglog(numbers, seconds, "o-", label="landmarks")

start = perf_counter()
exact = KernelDiscriminantAnalysis(solver="cholesky", regularization=1e-6)
exact.fit(X_train, y_train)
right.axhline(perf_counter() - start, color="black", ls="--", label="exact")
left.axhline(exact.score(X_test, y_test), color="black", ls="--", label="exact")
left.set(xlabel="landmarks", ylabel="test accuracy")
right.set(xlabel="landmarks", ylabel="seconds of fit")
for axis in (left, right):
    axis.set_xticks(numbers, numbers)
    axis.minorticks_off()
left.legend()
plt.show()
