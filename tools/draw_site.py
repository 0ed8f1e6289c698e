"""Draw the figures of the site that are not part of the gallery.

    python tools/draw_site.py

The script writes the logo and the figure of the landing page to ``doc/_static``, and
the decision tree to ``doc``, for light and for dark pages.
"""

import io
import re
from html import escape
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse, FancyBboxPatch
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from skgeom import SQFA, GaussianClassifier

STATIC = Path(__file__).parents[1] / "doc" / "_static"
BLUE, ORANGE = "#3b7dd8", "#e8833a"
# Colours of text and lines.
THEMES = {
    "light": {"text": "#222832", "line": "#8a93a1", "box": "#f3f5f9"},
    "dark": {"text": "#dfe4ec", "line": "#7c8696", "box": "#1f2632"},
}


def main():
    # Store letters as text, so that files are small and equal in each run.
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "skgeom"})
    draw_logo(STATIC / "logo.svg")
    for name, theme in THEMES.items():
        with plt.rc_context(colours_of(theme)):
            draw_reason(STATIC / f"why-{name}.svg")
            draw_tree(STATIC.parent / f"which-{name}.inc", name, theme)


def colours_of(theme):
    """Parameters of matplotlib for a theme."""
    keys = ["text.color", "axes.labelcolor", "xtick.color", "ytick.color"]
    colours = dict.fromkeys(keys, theme["text"])
    return {**colours, "axes.edgecolor": theme["line"], "axes.facecolor": "none"}


def save(figure, path, **parameters):
    figure.savefig(path, transparent=True, metadata={"Date": None}, **parameters)
    plt.close(figure)


def draw_logo(path):
    """Two classes with equal means but different covariances."""
    figure = plt.figure(figsize=(1, 1))
    axis = figure.add_axes((0, 0, 1, 1), xlim=(-1, 1), ylim=(-1, 1))
    axis.axis("off")
    for angle, colour in [(35, BLUE), (-35, ORANGE)]:
        ellipse = Ellipse(
            (0, 0), 1.8, 0.7, angle=angle, fc=colour, ec="none", alpha=0.8
        )
        axis.add_patch(ellipse)
    axis.plot(0, 0, "o", color="white", ms=7)
    save(figure, path)


def two_classes(n_samples, rng):
    """Two classes in ten dimensions that differ in the covariance of two of them.

    The variance is largest in two other features, where the classes are equal, and the
    means differ a little in one more.
    """
    labels = np.arange(n_samples) % 2
    X = rng.normal(size=(n_samples, 10))
    X[:, :2] *= 4
    X[:, 2] += 0.15 * labels
    sign = np.where(labels, 1, -1)
    wide, narrow = 2 * rng.normal(size=n_samples), 0.3 * rng.normal(size=n_samples)
    X[:, 3] = (wide + narrow) / np.sqrt(2)
    X[:, 4] = sign * (wide - narrow) / np.sqrt(2)
    return X, labels


def draw_reason(path):
    """The features of PCA, LDA and SQFA of the two classes."""
    rng = np.random.default_rng(0)
    X, y = two_classes(4000, rng)
    X_test, y_test = two_classes(4000, rng)
    methods = {
        "PCA": PCA(2),
        "LDA": LinearDiscriminantAnalysis(),
        "SQFA": SQFA(2, random_state=0),
    }
    figure, panels = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
    for panel, (name, method) in zip(panels, methods.items(), strict=True):
        Z = method.fit(X, y).transform(X)
        quadratic = GaussianClassifier().fit(Z, y)
        score = quadratic.score(method.transform(X_test), y_test)
        for label, colour in enumerate([BLUE, ORANGE]):
            some = Z[y == label][:250]
            if some.shape[1] == 2:
                panel.plot(*some.T, "o", color=colour, ms=3.5, alpha=0.7, mew=0)
            else:  # LDA has one feature for two classes
                panel.hist(Z[y == label], bins=40, color=colour, alpha=0.6)
        panel.set(xticks=[], yticks=[], xlabel="feature 1")
        panel.set_ylabel("feature 2" if Z.shape[1] == 2 else "samples")
        panel.set_title(f"{name}: {score:.0%} accuracy", fontsize=14)
    save(figure, path)


# Questions with their answers: a further question, or estimators, the page to which
# they link, and whether they are part of skgeom. The table of doc/which.rst contains
# the same answers.
API = "generated/skgeom.{}.html".format
TREE = (
    "What are your data?",
    [
        (
            "vectors",
            (
                "What do you need?",
                [
                    (
                        "linear features",
                        (
                            "Which vectors?",
                            [
                                (
                                    "images or signals",
                                    'SQFA, distance="hellinger"',
                                    "user_guide/sqfa.html",
                                    True,
                                ),
                                (
                                    "only the means differ",
                                    "scikit-learn's LDA",
                                    "",
                                    False,
                                ),
                                ("other vectors", "SQFA", API("SQFA"), True),
                            ],
                        ),
                    ),
                    (
                        "nonlinear features",
                        "LandmarkKernelPCA + SQFA",
                        "user_guide/nonlinear_filters.html",
                        True,
                    ),
                    (
                        "an accurate classifier",
                        "KernelDiscriminantAnalysis",
                        API("KernelDiscriminantAnalysis"),
                        True,
                    ),
                    (
                        "interpretable prototypes",
                        "RSLVQ or GMLVQ",
                        "user_guide/lvq.html",
                        True,
                    ),
                ],
            ),
        ),
        ("covariance matrices", "PLRSQ", API("PLRSQ"), True),
        (
            "covariances of several subjects or sessions",
            "Recentering",
            "user_guide/transfer.html",
            True,
        ),
        (
            "a trained classifier to explain",
            "CovarianceHessianProjection",
            API("CovarianceHessianProjection"),
            True,
        ),
        (
            "uncertain samples to reject",
            "RejectionClassifier",
            API("RejectionClassifier"),
            True,
        ),
        (
            "more data than memory",
            "ClassStatistics",
            "user_guide/large_data.html",
            True,
        ),
    ],
)
COLUMNS = 0, 3.2, 7.4, 11.9
WIDTH, HEIGHT, ROW = 2.2, 0.5, 0.8


def draw_tree(path, name, theme):
    """Which estimator for which data: part of a page, so that links can be followed."""
    figure = plt.figure(figsize=(15, 9))
    axis = figure.add_axes((0, 0, 1, 1), xlim=(-0.1, 14.9), ylim=(-8.5, 0.5))
    axis.axis("off")
    draw_branch(axis, theme, TREE, level=0, row=0)
    drawing = io.StringIO()
    save(figure, drawing, format="svg")
    lines = drawing.getvalue()
    lines = lines[lines.index("<svg") :].rstrip().replace(' target="_blank"', "")
    names = iter([text for _, text, page in leaves_of(TREE) if page])
    lines = re.sub(
        '(<a xlink:href="[^"]+)',
        lambda link: f'{link[1]}" aria-label="{escape(next(names))}',
        lines,
    )
    label = "Decision tree with the questions and estimators of the table below"
    tree = f'<div class="only-{name} decision-tree" role="group" aria-label="{label}">'
    text = f"{tree}\n{lines}\n</div>\n"
    if name == "light":  # once, for narrow screens of both themes
        text += f"{as_list()}\n"
    path.write_text(text)


def leaves_of(branch, answers=()):
    """Answers that lead to an estimator, its name, and its page."""
    for answer, *following in branch[1]:
        if len(following) == 1:
            yield from leaves_of(following[0], (*answers, answer))
        else:
            yield (*answers, answer), *following[:2]


def as_list():
    """The decision tree as a list, which narrow screens show instead."""
    items = []
    for answers, text, page in leaves_of(TREE):
        name = escape(text)
        link = f'<a href="{page}">{name}</a>' if page else name
        items.append(f"<li>{', '.join(answers)}: {link}</li>")
    return "\n".join(['<ul class="decision-list">', *items, "</ul>"])


def draw_branch(axis, theme, branch, level, row):
    """Draw a question and its answers; returns its height and the next row."""
    question, answers = branch
    heights = []
    for _, *following in answers:
        if len(following) == 1:
            height, row = draw_branch(axis, theme, following[0], level + 1, row)
        else:
            height, row = -ROW * row, row + 1
            draw_leaf(axis, theme, *following, height)
        heights.append(height)
    middle = (heights[0] + heights[-1]) / 2
    x = COLUMNS[level]
    draw_box(axis, x, middle, WIDTH, question, theme["box"], theme)
    for (answer, *following), height in zip(answers, heights, strict=True):
        end = COLUMNS[level + 1] if len(following) == 1 else COLUMNS[-1]
        bend = x + WIDTH + 0.2
        corners = [x + WIDTH, bend, bend, end], [middle, middle, height, height]
        axis.plot(*corners, color=theme["line"], lw=1, zorder=0)
        axis.text(bend + 0.1, height + 0.07, answer, fontsize=12.5, va="bottom")
    return middle, row


def draw_leaf(axis, theme, text, page, is_ours, height):
    fill = BLUE if is_ours else theme["line"]
    draw_box(axis, COLUMNS[-1], height, 2.9, text, fill, theme, "white", page)


def draw_box(axis, x, y, width, text, fill, theme, colour=None, page=""):
    style = "round,pad=0,rounding_size=0.12"
    place = x, y - HEIGHT / 2
    box = FancyBboxPatch(
        place, width, HEIGHT, boxstyle=style, fc=fill, ec=theme["line"]
    )
    axis.add_patch(box)
    box.set_url(page or None)  # the page that a click opens
    centre = x + width / 2, y
    colour = colour or theme["text"]
    axis.text(
        *centre, text, ha="center", va="center_baseline", fontsize=13, color=colour
    )


if __name__ == "__main__":
    main()
