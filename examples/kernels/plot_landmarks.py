"""
Kernel discriminant analysis of large data with landmarks
=========================================================

Exact kernel discriminant analysis computes the kernel of all pairs of samples. With
``solver="nystroem"``, only the kernel between all samples and a few landmarks, and
between the landmarks, is computed. The figure shows the test accuracy and the time of
``fit`` on 6,000 images of MNIST for several numbers of landmarks.
"""

# sphinx_gallery_thumbnail_number = 100

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from skgeom import KernelDiscriminantAnalysis
from skgeom.datasets import fetch_mnist

X, y = fetch_mnist(subset="train", return_X_y=True)
X_test, y_test = fetch_mnist(subset="test", return_X_y=True)
X_train, y_train = X[:6000] / np.float32(255), y[:6000]
X_test, y_test = X_test[:2000] / np.float32(255), y_test[:2000]
numbers = [50, 100, 200, 400, 800, 1600]

# %%
# The landmarks are cluster centers of each class. With more landmarks, the accuracy
# approaches the accuracy of the exact solution, and the time increases.


def measure(**parameters):
    """Accuracy in percent, and seconds of fit."""
    model = KernelDiscriminantAnalysis(regularization=1e-6, **parameters)
    start = perf_counter()
    model.fit(X_train, y_train)
    seconds = perf_counter() - start
    return 100 * model.score(X_test, y_test), seconds


accuracies, seconds = np.transpose(
    [measure(solver="nystroem", n_landmarks=n, random_state=0) for n in numbers]
)
exact_accuracy, exact_seconds = measure(solver="cholesky")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
left.semilogx(numbers, accuracies, "o-", label="landmarks")
left.axhline(exact_accuracy, color="black", ls="--", label="exact")
left.set(xlabel="landmarks", ylabel="test accuracy (%)")
left.legend(loc="lower right")
right.semilogx(numbers, seconds, "o-")
right.axhline(exact_seconds, color="black", ls="--")
right.set(xlabel="landmarks", ylabel="time of fit (s)", ylim=(0, None))
for axis in (left, right):
    axis.set_xticks(numbers, numbers)
    axis.minorticks_off()
# sphinx_gallery_alt = "Accuracy and time of fit against the number of landmarks"
plt.show()

for n, accuracy in zip(numbers, accuracies, strict=True):
    print(f"{n:5d} landmarks: {accuracy:.1f} %")
print(f"      exact:     {exact_accuracy:.1f} %")
