"""The figures of these pages, of the tables in ``benchmarks/papers/results``.

The directive ``plot`` calls a function of this file while the pages are built.
"""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

# The directive runs this file in its own folder.
RESULTS = Path("../../benchmarks/papers/results").resolve()
OURS = dict(marker="o", color="#3b7dd8", label="skgeom")
PAPER = dict(marker="D", mfc="white", mec="#c2571a", mew=1.5, label="published")
COLOURS = ["#3b7dd8", "#e8833a", "#3a9e6e", "#8d63c6", "#8a93a1", "#c2571a"]


def rows_of(name, **chosen):
    """Rows of a table in which the columns have given values."""
    with open(RESULTS / f"{name}.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for column, value in chosen.items():
        rows = [row for row in rows if row[column] == value]
    return rows


def numbers(rows, column):
    return np.array([float(row[column] or "nan") for row in rows])


def draw_comparison(axis, rows, labels=None, title=None, unit=1):
    """Our values with their spread, and published values, in rows, times a unit."""
    labels = labels or [row["method"] for row in rows]
    places = np.arange(len(rows))
    spread = unit * np.nan_to_num(numbers(rows, "spread"))
    axis.hlines(places, 0, 1, transform=axis.get_yaxis_transform(), color="0.92")
    axis.plot(unit * numbers(rows, "published"), places, ls="none", ms=8, **PAPER)
    ours = unit * numbers(rows, "reproduced")
    axis.errorbar(ours, places, xerr=spread, ls="none", ms=5, **OURS)
    axis.set_yticks(places, labels)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_title(title)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)


def panels(number, height, **options):
    """Axes side by side."""
    size = {"figsize": (9, height), "layout": "constrained", "squeeze": False}
    return plt.subplots(1, number, **size, **options)[1][0]


def legend(axis, **options):
    """One legend below all panels."""
    handles, labels = axis.get_legend_handles_labels()
    place = {"loc": "outside lower center", "ncols": len(labels)}
    axis.figure.legend(handles, labels, **place, **options)


# Supervised quadratic feature analysis


def sqfa_mnist():
    measures = {"QDA": "quadratic classifier", "kNN": "three nearest neighbors"}
    measures["QDA of Gaussians"] = "simulated Gaussians"
    of_methods(rows_of("sqfa-mnist"), measures, 5.0, least=83)


def sqfa_distances():
    measures = {"QDA": "quadratic classifier", "kNN": "three nearest neighbors"}
    of_methods(rows_of("sqfa-preprint-figure-8"), measures, 2.8, least=78)


def sqfa_videos():
    measures = {"QDA": "quadratic classifier", "kNN": "three nearest neighbors"}
    measures["QDA of Gaussians"] = "simulated Gaussians"
    of_methods(rows_of("sqfa-figure-6", photographs="natural"), measures, 3.2)


def of_methods(rows, measures, height, least=None):
    """Accuracies by several measures, sorted by the first measure."""
    first = [row for row in rows if row["measure"] == next(iter(measures))]
    order = sorted(first, key=lambda row: -float(row["reproduced"]))
    order = [row["method"] for row in order]
    axes = panels(len(measures), height, sharey=True)
    for axis, (measure, title) in zip(axes, measures.items(), strict=True):
        chosen = [row for row in rows if row["measure"] == measure]
        chosen.sort(key=lambda row: order.index(row["method"]))
        draw_comparison(axis, chosen, title=title, unit=100)
        axis.set_xlabel("accuracy (%)")
        if least is not None:
            far_below(axis, chosen, least)


def far_below(axis, rows, least):
    """Print values that are too small for the axis as numbers at its edge."""
    axis.set_xlim(left=least)
    for place, value in enumerate(100 * numbers(rows, "reproduced")):
        if value < least:
            axis.text(least, place, f" \N{LEFTWARDS ARROW} {value:.1f}", va="center")


def sqfa_bound():
    """The bound divided by the distance: on data, and for equal covariances."""
    left, right = panels(2, 2.8)
    rows = rows_of("sqfa-figure-10")
    features = list(dict.fromkeys(row["features"] for row in rows))
    for number, name in enumerate(features):
        part = [row for row in rows if row["features"] == name]
        values = {row["measure"]: float(row["reproduced"]) for row in part}
        least, median = (
            values[f"{word} bound / distance"] for word in ("least", "median")
        )
        left.plot([least, median], [number] * 2, color=OURS["color"], lw=1)
        left.plot(median, number, "o", color=OURS["color"], ms=6)
    left.set_yticks(range(len(features)), features)
    left.set(xlabel="bound / distance", xlim=(0.85, 1.0), title="pairs of digits")
    rows = rows_of("sqfa-figure-9")
    by_measure = {
        name: [row for row in rows if row["measure"] == name]
        for name in ["Fisher-Rao distance", "Calvo-Oller bound"]
    }
    for (name, part), line in zip(by_measure.items(), ["-", "--"], strict=True):
        x, y = numbers(part, "mahalanobis"), numbers(part, "reproduced")
        right.plot(x, y, line, color=OURS["color"], label=name)
    right.set(xlabel="Mahalanobis distance", title="Gaussians with equal covariances")
    right.legend(frameon=False)
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)


def sqfa_toys():
    """Parts of the filters in each pair of dimensions."""
    names = {
        "sqfa-figure-2": "figure 2",
        "sqfa-figure-3": "figure 3",
        "sqfa-preprint-figure-7": "preprint, figure 7",
    }
    axes = panels(3, 2.6)
    for axis, (name, title) in zip(axes, names.items(), strict=True):
        rows = [row for row in rows_of(name) if row["measure"] != "objective"]
        methods = list(dict.fromkeys(row["method"] for row in rows))
        pairs = list(dict.fromkeys(row["measure"] for row in rows))
        start = np.zeros(len(methods))
        for pair, colour in zip(pairs, COLOURS, strict=False):
            part = [row for row in rows if row["measure"] == pair]
            width = numbers(part, "reproduced")
            axis.barh(methods, width, left=start, color=colour, label=pair[11:])
            start += width
        axis.invert_yaxis()
        axis.set(title=title, xlabel="fraction of squared weights", xlim=(0, 1))
        axis.spines[["top", "right"]].set_visible(False)
    legend(axes[0], title="dimensions")


# Covariance and Hessian


def hartoyo_table():
    axes = panels(2, 3.4)
    for axis, name, title in zip(
        axes,
        ["hartoyo-table", "hartoyo-pima"],
        ["breast cancer", "Pima diabetes"],
        strict=True,
    ):
        draw_comparison(axis, rows_of(name, measure="F1"), title=title)
        axis.set_xlabel("F1")
    legend(axes[0])


def hartoyo_held_out():
    titles = {"wbcd": "breast cancer", "heart": "heart disease", "pima": "Pima"}
    axes = panels(3, 3.2)
    for axis, (name, title) in zip(axes, titles.items(), strict=True):
        rows = rows_of("hartoyo-held-out", data=name, measure="F1")
        for row in rows:  # mean of ten folds, with its standard error
            row["spread"] = float(row["spread"]) / np.sqrt(int(row["runs"]))
        draw_comparison(axis, rows, title=title)
        axis.set_xlabel("F1")
    legend(axes[0])


def hartoyo_splits():
    """F1 on the split of the paper; and the spectra."""
    left, right = panels(2, 2.8)
    rows = rows_of("hartoyo-figure-8")
    rows = [row for row in rows if row["measure"] in ("F1", "test F1")]
    draw_comparison(left, rows, title="test F1, authors' split")
    left.legend(frameon=False, loc="upper left")
    for name, line in zip(["covariance", "Hessian"], ["-", "--"], strict=True):
        rows = rows_of("hartoyo-figure-10", measure=name)
        values = numbers(rows, "reproduced")
        right.semilogy(
            numbers(rows, "rank"), values / values[0], line, color="#3b7dd8", label=name
        )
    right.set(xlabel="rank", title="eigenvalues / first eigenvalue", ylim=(1e-4, 2))
    right.legend(frameon=False)
    right.spines[["top", "right"]].set_visible(False)


# Prototypes


def plrsq_bci():
    axes = panels(4, 2.9, sharey=True)
    for number, axis in enumerate(axes, start=1):
        rows = rows_of("plrsq-table-6", subject=str(number))
        draw_comparison(axis, rows, title=f"subject {number}")
        axis.set_xlabel("kappa")
    legend(axes[0])


def plrsq_eth80():
    left, right = panels(2, 3.3)
    methods = {
        "PLRSQ, both metrics": ("PLRSQ, L-BFGS", "accuracy, both"),
        "PLRSQ": ("PLRSQ", "accuracy"),
        "MDRM": ("MDRM", "accuracy"),
    }
    for (name, (method, measure)), colour in zip(
        methods.items(), COLOURS, strict=False
    ):
        rows = rows_of("plrsq-table-5", method=method, measure=measure)
        x = numbers(rows, "categories")
        ours, paper = numbers(rows, "reproduced"), numbers(rows, "published")
        left.plot(x, ours, "o-", color=colour, ms=5, label=name)
        left.plot(x, paper, "D", mfc="none", mec=colour, ms=9, ls="none")
    left.plot([], [], "D", mfc="none", mec="0.4", ms=9, ls="none", label="published")
    left.set(xlabel="categories", ylabel="accuracy (%)", title="table 5")
    left.legend(frameon=False, fontsize=9)
    for categories, colour in zip(["3", "6", "8"], COLOURS, strict=False):
        rows = rows_of("plrsq-figure-5", categories=categories, n_prototypes="2")
        x, y = numbers(rows, "sigma2"), numbers(rows, "reproduced")
        right.semilogx(x, y, "o-", color=colour, label=f"{categories} categories")
    right.set(xlabel=r"$\sigma^2$", title="figure 5, two prototypes per class")
    right.legend(frameon=False, fontsize=9)
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)


def plrsq_synthetic():
    axes = panels(2, 2.9, sharey=True)
    for axis, data in zip(axes, ["SynI", "SynII"], strict=True):
        rows = rows_of("plrsq-table-3", data=data, measure="accuracy")
        draw_comparison(axis, rows, title=data, unit=100)
        axis.set_xlabel("accuracy (%)")
    legend(axes[0])


def plrsq_softness():
    axes = panels(2, 2.6)
    for axis, data in zip(axes, ["SynI", "SynII"], strict=True):
        for name, line, label in [
            ("Const", "o--", "constant"),
            ("AN", "o-", "annealed"),
            ("L-BFGS", "s:", "L-BFGS"),
        ]:
            rows = rows_of("plrsq-figure-2", data=data, PLRSQ=name)
            if rows:
                x, y = numbers(rows, "sigma2"), numbers(rows, "reproduced")
                axis.semilogx(x, y, line, color=OURS["color"], label=label)
        axis.set(xlabel=r"$\sigma^2$", title=data, ylabel="accuracy (%)")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False)


def plrsq_few_images():
    (axis,) = panels(1, 3.2)
    rows = rows_of("plrsq-figure-6")
    methods = list(dict.fromkeys(row["method"] for row in rows))
    for method, colour in zip(methods, COLOURS, strict=False):
        part = [row for row in rows if row["method"] == method]
        axis.errorbar(
            numbers(part, "training images"),
            numbers(part, "reproduced"),
            yerr=np.nan_to_num(numbers(part, "spread")),
            marker="o",
            ms=4,
            color=colour,
            label=method.replace(", by cross-validation", ""),
        )
    axis.set(xscale="log", xlabel="training images", ylabel="accuracy (%)")
    axis.set_xticks([200, 500, 1000, 5000], ["200", "500", "1,000", "5,000"])
    axis.minorticks_off()
    axis.legend(frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
