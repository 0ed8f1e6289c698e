"""The figures of the guides that no page of the gallery draws.

The directive ``plot`` calls a function of this file while the pages are built.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Ellipse
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.metrics import log_loss

from skgeom import PLRSQ, GaussianClassifier
from skgeom.baselines import mdrm
from skgeom.geometry import expm, invsqrtm, logm, sqrtm
from skgeom.plotting import SelectionDisplay

BLUE, ORANGE, GREEN, GREY = "#3b7dd8", "#e8833a", "#3a9e6e", "#8a93a1"


def draw_matrix(axis, matrix, centre, size, **style):
    """A covariance of two features as the ellipse of its standard deviations."""
    values, vectors = np.linalg.eigh(matrix)
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    width, height = 2 * size * np.sqrt(values[::-1])
    axis.add_patch(Ellipse(centre, width, height, angle=angle, **style))


def learning_curves():
    """Accuracy and log-loss of LDA, QDA and GaussianClassifier."""
    models = {
        "GaussianClassifier": GaussianClassifier(),
        "LDA": LinearDiscriminantAnalysis(),
        "QDA": QuadraticDiscriminantAnalysis(),
    }
    colours = dict(zip(models, [BLUE, ORANGE, GREY], strict=True))
    sizes = np.array([40, 80, 160, 320, 640])
    scores = {name: np.empty((2, 5, len(sizes))) for name in models}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        factors = np.eye(8) + 0.15 * rng.normal(size=(3, 8, 8))
        means = 0.7 * rng.normal(size=(3, 8))

        def draw(n, rng=rng, factors=factors, means=means):
            y = np.arange(n) % 3
            z = rng.normal(size=(n, 8))
            return means[y] + np.einsum("ij,ikj->ik", z, factors[y]), y

        X_test, y_test = draw(3000)
        for i, size in enumerate(sizes):
            X, y = draw(size)
            for name, model in models.items():
                model.fit(X, y)
                loss = log_loss(y_test, model.predict_proba(X_test))
                scores[name][:, seed, i] = 100 * model.score(X_test, y_test), loss
    axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")[1]
    labels = ["test accuracy (%)", "test log-loss"]
    for row, (axis, label) in enumerate(zip(axes, labels, strict=True)):
        for name in models:
            mean = scores[name][row].mean(axis=0)
            axis.plot(sizes, mean, "o-", ms=4, color=colours[name], label=name)
        axis.set(xscale="log", xlabel="training samples", ylabel=label)
        axis.set_xticks(sizes, sizes)
        axis.minorticks_off()
    axes[1].set(yscale="log")
    axes[0].legend(frameon=False)


def selection():
    """Scores of the ridges of GaussianClassifier on digits."""
    X, y = load_digits(return_X_y=True)
    model = GaussianClassifier().fit(X[:600], y[:600])
    axis = plt.subplots(figsize=(5, 3.2), layout="constrained")[1]
    SelectionDisplay.from_estimator(model, "ridge", ax=axis, color=BLUE)


# The cone


def turned(values, degrees):
    angle = np.radians(degrees)
    rotation = np.array(
        [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    )
    return rotation @ np.diag(values) @ rotation.T


def in_space(matrices):
    """Three coordinates in which the positive definite matrices are a round cone."""
    a, b, c = matrices[..., 0, 0], matrices[..., 0, 1], matrices[..., 1, 1]
    return (a - c) / 2, b, (a + c) / 2


def geodesic(start, end, time):
    """The point of the affine-invariant geodesic at a time between 0 and 1."""
    root, inverse = sqrtm(start), invsqrtm(start)
    return root @ expm(time * logm(inverse @ end @ inverse)) @ root


def spd_cone():
    """Two ways between two covariance matrices: straight, and the geodesic."""
    start, end = turned([9.0, 0.4], 15), turned([0.4, 9.0], -10)
    times = np.linspace(0, 1, 61)
    ways = {
        "straight line": (np.array([(1 - t) * start + t * end for t in times]), ORANGE),
        "geodesic": (
            np.array([geodesic(start, end, t) for t in times]),
            BLUE,
        ),
    }
    figure = plt.figure(figsize=(9, 3.6), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[1, 1.6])
    space = figure.add_subplot(grid[:, 0], projection="3d")
    angle, height = np.meshgrid(np.linspace(0, 2 * np.pi, 60), np.linspace(0, 6, 12))
    surface = height * np.cos(angle), height * np.sin(angle), height
    space.plot_surface(*surface, color=GREY, alpha=0.15, linewidth=0)
    space.plot(*(row[-1] for row in surface), color=GREY, lw=1)
    for number, (name, (way, colour)) in enumerate(ways.items()):
        space.plot(*in_space(way), color=colour, lw=2.5)
        space.plot(*in_space(way[[0, -1]]), "ko", ms=4)
        axis = figure.add_subplot(grid[number, 1])
        for place, matrix in enumerate(way[::10]):
            draw_matrix(axis, matrix, (place, 0), 0.15, fc=colour, alpha=0.5, ec=colour)
        axis.set(xlim=(-0.6, 6.6), ylim=(-0.55, 0.55), aspect="equal")
        areas = np.sqrt(np.linalg.det(way))
        axis.set_title(f"{name}: up to {areas.max() / areas[0]:.1f} times the area")
        axis.axis("off")
    space.set(title="all covariances of two features")
    space.axis("off")
    space.view_init(elev=14, azim=-75)
    space.set_box_aspect((1, 1, 0.9), zoom=1.5)


# Prototypes


def matrix_at(points):
    """Matrices of determinant one: a ratio of variances, and a correlation."""
    u, v = np.moveaxis(points, -1, 0)
    return expm(np.stack([np.stack([u, v], -1), np.stack([v, -u], -1)], -2))


def place_of(matrices):
    logarithms = logm(matrices)
    return np.stack(
        [
            (logarithms[..., 0, 0] - logarithms[..., 1, 1]) / 2,
            logarithms[..., 0, 1],
        ],
        -1,
    )


def prototypes():
    """Covariance matrices of three classes, one of them in two groups."""
    rng = np.random.default_rng(1)
    centres = [(-1.1, 0.0), (1.1, 0.1), (0.0, 0.6), (0.1, -0.6)]
    labels = np.repeat([0, 0, 1, 2], 500)
    places = np.repeat(centres, 500, axis=0) + 0.28 * rng.normal(size=(2000, 2))
    X, train = matrix_at(places), np.arange(2000) % 12 == 0
    plrsq = PLRSQ(2, random_state=0).fit(X[train], labels[train])
    means = mdrm().fit(X[train], labels[train])
    methods = {
        "nearest class mean": (means, means[-1].covmeans_, [0, 1, 2]),
        "PLRSQ, two prototypes a class": (
            plrsq,
            plrsq.prototypes_,
            plrsq.prototype_labels_,
        ),
    }
    axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")[1]
    ticks = np.linspace(-2, 2, 120)
    grid = np.stack(np.meshgrid(ticks, ticks), -1)
    colours = [BLUE, ORANGE, GREEN]
    for axis, (name, method) in zip(axes, methods.items(), strict=True):
        model, found, classes = method
        regions = model.predict(matrix_at(grid.reshape(-1, 2))).reshape(grid.shape[:2])
        axis.pcolormesh(
            ticks, ticks, regions, cmap=ListedColormap(colours), alpha=0.18, lw=0
        )
        shown = zip(places[train], X[train], labels[train], strict=True)
        for place, matrix, label in shown:
            draw_matrix(
                axis, matrix, place, 0.06, fc="none", ec=colours[label], alpha=0.8
            )
        for matrix, label in zip(found, classes, strict=True):
            draw_matrix(
                axis,
                matrix,
                place_of(matrix),
                0.13,
                fc=colours[int(label)],
                ec="black",
                lw=1.5,
            )
        score = model.score(X[~train], labels[~train])
        axis.set_title(f"{name}: accuracy {score:.0%}")
        axis.set(
            xlim=(-2, 2),
            ylim=(-2, 2),
            xticks=[],
            yticks=[],
            aspect="equal",
            xlabel="larger variance of the first feature →",
        )
    axes[0].set_ylabel("higher correlation →")
