"""
Prototypes of covariance matrices, for imagined movements
=========================================================

In a brain-computer interface, a person imagines moving the left or the right hand, the
feet, or the tongue. Above the corresponding part of the brain, the rhythm of the
electroencephalogram gets weaker. This changes the covariance matrix of the channels in
the trial, which is symmetric positive definite (SPD). Here such trials are simulated as
mixtures of sources by a rotation. In each class, one of four sources is damped. The
other eight sources vary much more, from trial to trial, and do not depend on the class.

:class:`~skgeom.PLRSQ` learns a prototype, an SPD matrix, for each class, such that the
distances from the prototypes give the probabilities of the classes. It is compared with
the mean of each class as the prototype (MDRM), and with linear discriminants in the
tangent space (TSLDA).
"""

# %%
# The data
# --------

import matplotlib.pyplot as plt
import numpy as np
from pyriemann.estimation import Covariances
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from skgeom import PLRSQ
from skgeom.baselines import mdrm, tslda
from skgeom.geometry import logm, mean_affine_invariant, whiten

rng = np.random.default_rng(0)
n_trials, n_channels, n_times = 240, 12, 120
classes = np.array(["left", "right", "feet", "tongue"])
y = classes[np.arange(n_trials) % 4]
spread = np.where(np.arange(n_channels) < 4, 0.3, 0.9)
amplitudes = np.exp(spread * rng.normal(size=(n_trials, n_channels)))
amplitudes[np.arange(n_trials), np.arange(n_trials) % 4] *= 0.6
mixing, _ = np.linalg.qr(rng.normal(size=(n_channels, n_channels)))
sources = amplitudes[:, :, None] * rng.normal(size=(n_trials, n_channels, n_times))
signals = mixing @ sources

# %%
# Accuracy
# --------
#
# The covariances are estimated in a pipeline. The stochastic solver with the metric
# "riemann" is the algorithm of the paper; the other one minimises the cost of all
# samples together.

models = {
    "MDRM": mdrm(),
    "TSLDA": tslda(),
    "PLRSQ": PLRSQ(max_iter=300),
    "PLRSQ, stochastic": PLRSQ(
        metric="riemann", solver="sgd", max_iter=20, random_state=0
    ),
    "PLRSQ, log-Euclidean": PLRSQ(metric="logeuclid", max_iter=300),
}
folds = StratifiedKFold(5, shuffle=True, random_state=0)
for name, model in models.items():
    pipeline = make_pipeline(Covariances("oas"), model)
    scores = cross_val_score(pipeline, signals, y, cv=folds)
    print(f"{name:22s} {scores.mean():.3f} +- {scores.std() / np.sqrt(5):.3f}")

# %%
# The prototypes
# --------------
#
# A prototype can be displayed like any sample. The sources are known here, so the
# prototypes are shown in their coordinates, where the diagonal has the variances. Shown
# is the logarithm, relative to the mean of the prototypes: blue is less than in the
# other classes. In each class it is the source that is damped there. The prototypes
# differ more than the class means, because they are trained to put the borders between
# the classes in the right places.

X = Covariances("oas").transform(signals)
model = PLRSQ().fit(X, y)
unmixed = mixing.T @ model.prototypes_ @ mixing
relative = logm(whiten(unmixed, mean_affine_invariant(unmixed)))

figure, axes = plt.subplots(2, 2, figsize=(6.6, 5.6), layout="constrained")
limit = np.abs(relative).max()
for axis, matrix, label in zip(
    axes.flat, relative, model.prototype_labels_, strict=True
):
    image = axis.imshow(matrix, vmin=-limit, vmax=limit, cmap="RdBu_r")
    damped = list(classes).index(label)
    axis.plot(damped, damped, "s", ms=15, mfc="none", mec="black", label="damped")
    axis.set(title=label, xlabel="source", ylabel="source")
axes[0, 0].legend(loc="lower left")
figure.colorbar(image, ax=axes, label="log covariance, relative to the mean")
plt.show()

# %%
# Loss curves
# -----------
#
# The cost during the fit. The stochastic solver records the mean cost of the samples
# before their steps. L-BFGS records the cost of all samples, with the penalty of the
# distances between prototypes and samples, and begins with the initial cost.

stochastic = PLRSQ(solver="sgd", max_iter=50, random_state=0).fit(X, y)
_, axis = plt.subplots(layout="constrained")
axis.plot(model.loss_curve_, label='"lbfgs"')
axis.plot(np.arange(1, 1 + stochastic.n_iter_), stochastic.loss_curve_, label='"sgd"')
axis.set(xlabel="iteration, or epoch", ylabel="cost", ylim=(0, None))
axis.legend()
plt.show()
