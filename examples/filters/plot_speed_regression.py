"""
Regression with uncertainty: the speed of natural images
========================================================

:class:`skgeom.GaussianRegressor` predicts a continuous target from features whose means
and covariances both may depend on the target. Here the target is the speed of a moving
image. The example compares the estimator with ridge regression and kernel ridge
regression. All three use the same six features, which SQFA learns from 21 speeds as
classes.
"""

# sphinx_gallery_thumbnail_number = 101

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgeom import SQFA, GaussianRegressor
from skgeom.datasets import make_speed_videos

# %%
# The training videos show one photograph, and the test videos show a different
# photograph. The test speeds include speeds between the training speeds.

speeds = np.linspace(-6, 6, 41)
videos = make_speed_videos(speeds=speeds, n_per_speed=120, random_state=0)
y = speeds[videos.target]
train = (videos.image_id == 0) & (videos.target % 2 == 0)
test = videos.image_id == 1
filters = SQFA(6, distance="hellinger", random_state=0)
Z_train = filters.fit_transform(videos.data[train], videos.target[train])
Z_test, y_train, y_test = filters.transform(videos.data[test]), y[train], y[test]

# %%
# All three regressions select their regularization by cross-validation.

ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-4, 4, 20)))
kernel_ridge = GridSearchCV(
    make_pipeline(StandardScaler(), KernelRidge(kernel="rbf")),
    {
        "kernelridge__alpha": np.logspace(-3, 0, 4),
        "kernelridge__gamma": [0.1, 0.3, 1, 3],
    },
    scoring="neg_root_mean_squared_error",
)
models = {
    "ridge": ridge,
    "kernel ridge": kernel_ridge,
    "GaussianRegressor": GaussianRegressor(21),
}
for name, model in models.items():
    predicted = model.fit(Z_train, y_train).predict(Z_test)
    error = root_mean_squared_error(y_test, predicted)
    print(f"{name:>17}: root mean squared error {error:.2f} degrees per second")

# %%
# If the model is calibrated, 95 % of the 95 % credible intervals contain the target.
# The printed percentage is higher, so the model is slightly underconfident.

regressor = models["GaussianRegressor"]
low, high = regressor.predict_interval(Z_test, coverage=0.95)
covered = np.mean((low <= y_test) & (y_test <= high))
print(f"{covered:.1%} of the speeds are in their 95 % intervals")

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
medians, ranges = [], []
for speed in speeds:
    own = predicted[y_test == speed]
    medians.append(np.median(own))
    ranges.append(np.quantile(own, [0.05, 0.95]))
axes[0].plot(speeds, speeds, color="gray", lw=1)
axes[0].fill_between(speeds, *np.transpose(ranges), alpha=0.3)
axes[0].plot(speeds, medians)
axes[0].set(xlabel="speed (degrees per second)", ylabel="prediction")
axes[0].set_title("Median and 90 % range of the predictions")
for i in (0, 1, 2, 3):
    density = regressor.predict_density(Z_test[i : i + 1])[0]
    (line,) = axes[1].plot(regressor.grid_, density / density.max())
    axes[1].axvline(y_test[i], color=line.get_color(), ls="--", lw=1)
axes[1].set(xlabel="speed (degrees per second)", ylabel="posterior density / maximum")
axes[1].set_title("Four posteriors (dashed: true speeds)")
# sphinx_gallery_alt = "Predicted against true speeds, and four posterior densities"
plt.show()
