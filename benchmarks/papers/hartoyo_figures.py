"""Hartoyo et al.: the figures about the breast cancer data of Wisconsin (WBCD).

The text of the paper states values of figure 9 and of the network; the output of the
authors' notebook contains the values of figures 7 and 8. The paper does not name the
seed of its split into 70 % and 30 %. Among 300 seeds, with and without stratification,
one split (SPLIT) reproduces the four printed values of figure 9, and the values of PCA,
LDA and UMAP in figure 8.
"""

from functools import cache
from itertools import combinations, product

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, LinearSVC

from benchmarks.papers._data import table
from benchmarks.papers._runner import Row, reproduces
from benchmarks.papers.hartoyo import (
    MEASURES,
    PAPER,
    authors_data,
    authors_network,
    hard_scores,
    umap,
)
from skgeom import CovarianceHessianProjection

SPLIT = 42
# Seeds of the networks in the authors' notebooks, for this split.
SEEDS = {"wbcd": 18, "heart": 11, "pima": 35}


@cache
def holdout(seed, epochs, dataset):
    """The authors' split, and a network that is trained on its first part."""
    X, X_test, y, y_test = parts(dataset)
    return X, X_test, y, y_test, authors_network(X, y, seed, epochs)


def parts(dataset):
    return train_test_split(*authors_data(dataset), test_size=0.3, random_state=SPLIT)


def projection(seed, epochs, dataset="wbcd", **counts):
    X, _, y, _, network = holdout(seed, epochs, dataset)
    model = CovarianceHessianProjection(FrozenEstimator(network), **counts)
    return model.fit(X, y)


def training(quick):
    """Epochs as in the authors' notebook, and seeds of the networks."""
    return {"epochs": 100 if quick else 1000, "seeds": list(range(2 if quick else 10))}


def networks(dataset, quick):
    """Labels and arguments: the network of the authors' seed, and networks of ten."""
    seed, many = SEEDS[dataset], training(quick)
    yield {"network": f"seed {seed}"}, many | {"seeds": [seed]}
    if not quick:
        yield {"network": "seeds 0 to 9"}, many


def separation(hessian, covariance, epochs, seeds, dataset="wbcd"):
    """Figures 1, C.11 and C.13, b to d: the plane of two eigenvectors."""
    grids = []
    for seed in seeds:
        model = projection(seed, epochs, dataset, n_covariance=3, n_hessian=3)
        grids.append(model.separation_)
    place = hessian - 1, covariance - 1
    return {
        "squared distance of means": [grid.between[place] for grid in grids],
        "sum of variances": [grid.within[place] for grid in grids],
        "LDA ratio": [grid.ratio[place] for grid in grids],
    }


def plot_separation(figure, lines):
    lines = [line for line in lines if line["network"] == lines[0]["network"]]
    measures = list(dict.fromkeys(line["measure"] for line in lines))
    for axes, measure in zip(figure.subplots(1, 3), measures, strict=True):
        values = [float(x["reproduced"]) for x in lines if x["measure"] == measure]
        axes.imshow(np.reshape(values, (3, 3)))
        axes.set(title=measure, xlabel="covariance", ylabel="Hessian")


@reproduces(
    f"{PAPER}, figure 1",
    "WBCD in the planes of covariance and Hessian eigenvectors",
    plot=plot_separation,
)
def hartoyo_figure_1(quick):
    yield from planes("wbcd", quick)


@reproduces(
    f"{PAPER}, figure C.11",
    "Heart disease in the planes of covariance and Hessian eigenvectors",
    plot=plot_separation,
)
def hartoyo_figure_c11(quick):
    yield from planes("heart", quick)


@reproduces(
    f"{PAPER}, figure C.13",
    "Pima in the planes of covariance and Hessian eigenvectors",
    plot=plot_separation,
)
def hartoyo_figure_c13(quick):
    yield from planes("pima", quick)


def planes(dataset, quick):
    for network, options in networks(dataset, quick):
        for hessian, covariance in product((1, 2, 3), repeat=2):
            labels = {"hessian": hessian, "covariance": covariance}
            arguments = labels | options | {"dataset": dataset}
            yield Row(labels | network, separation, arguments)


def plane_f1(columns, epochs, seeds):
    """F1 of a linear support vector machine on a plane of WBCD.

    The plane is that of two attributes, or of the proposed projection.
    """
    scores = []
    for seed in seeds:
        X, X_test, y, y_test, _ = holdout(seed, epochs, "wbcd")
        if columns:
            Z, Z_test = X[:, columns], X_test[:, columns]
        else:
            model = projection(seed, epochs)
            Z, Z_test = model.transform(X), model.transform(X_test)
        predicted = SVC(kernel="linear").fit(Z, y).predict(Z_test)
        scores.append(f1_score(y_test, predicted))
    return {"test F1": scores}


@reproduces(f"{PAPER}, figure 3", "Pairs of the first four attributes of WBCD")
def hartoyo_figure_3(quick):
    names = table("wbcd")[2]
    for columns in [*map(list, combinations(range(4), 2)), None]:
        pair = ", ".join(names[i] for i in columns) if columns else "proposed"
        yield Row({"plane": pair}, plane_f1, {"columns": columns} | training(quick))


def matrices(which, epochs, seeds):
    """Figure 4: mean magnitudes of the entries, relative to the largest one."""
    diagonal, others = [], []
    for seed in seeds:
        model = projection(seed, epochs)
        matrix = {"covariance": model.covariance_, "Hessian": model.hessian_}[which]
        matrix = np.abs(matrix) / np.abs(matrix).max()
        outside = ~np.eye(len(matrix), dtype=bool)
        diagonal.append(matrix.diagonal().mean())
        others.append(matrix[outside].mean())
    return {"diagonal / largest": diagonal, "off the diagonal / largest": others}


@reproduces(f"{PAPER}, figure 4", "Covariance and Hessian matrix of WBCD")
def hartoyo_figure_4(quick):
    for which in MATRICES:
        yield Row({"matrix": which}, matrices, {"which": which} | training(quick))


def plane_separation(part, epochs, seeds):
    """Figure 5: distance of the class means and variances in the proposed plane."""
    ratios = []
    for seed in seeds:
        X, X_test, y, y_test, _ = holdout(seed, epochs, "wbcd")
        model, of_test = projection(seed, epochs), part == "test"
        Z, labels = model.transform(X_test if of_test else X), y_test if of_test else y
        first, second = (Z[labels == label] for label in (0, 1))
        between = (first.mean(axis=0) - second.mean(axis=0)) ** 2
        ratios.append(between / (first.var(axis=0) + second.var(axis=0)))
    of_covariance, of_hessian = np.transpose(ratios)
    return {"LDA ratio, covariance": of_covariance, "LDA ratio, Hessian": of_hessian}


@reproduces(f"{PAPER}, figure 5", "Training and test data of WBCD in the plane")
def hartoyo_figure_5(quick):
    for part in ("training", "test"):
        yield Row({"part": part}, plane_separation, {"part": part} | training(quick))


def contribution(feature, epochs, seeds):
    """Figure 6: the magnitude of an entry of both first eigenvectors."""
    index = table("wbcd")[2].index(feature)
    models = [projection(seed, epochs) for seed in seeds]
    of_covariance, of_hessian = np.transpose(
        [model.contributions_[:, index] for model in models]
    )
    return {"covariance": of_covariance, "Hessian": of_hessian}


def plot_contributions(figure, lines):
    for axes, measure in zip(figure.subplots(1, 2), MATRICES, strict=True):
        own = [line for line in lines if line["measure"] == measure]
        own.sort(key=lambda line: float(line["reproduced"]))
        names = [line["feature"] for line in own]
        axes.barh(names, [float(line["reproduced"]) for line in own])
        axes.tick_params(labelsize=5)
        axes.set_title(measure)


MATRICES = "covariance", "Hessian"


@reproduces(
    f"{PAPER}, figure 6",
    "Contributions of the features of WBCD to the two eigenvectors",
    plot=plot_contributions,
)
def hartoyo_figure_6(quick):
    for feature in table("wbcd")[2]:
        labels = {"feature": str(feature)}
        yield Row(labels, contribution, labels | training(quick))


def network_scores(epochs, seeds):
    """The scores of the networks; the paper states them for one network."""
    scores = []
    for seed in seeds:
        _, X_test, _, y_test, network = holdout(seed, epochs, "wbcd")
        predicted = network.predict(X_test)
        scores.append([*hard_scores(y_test, predicted), np.mean(predicted == y_test)])
    return dict(zip([*MEASURES, "accuracy"], np.transpose(scores), strict=True))


def holdout_projection(method, seed, epochs):
    X, _, y, _ = parts("wbcd")
    if method == "PCA":
        return PCA(2).fit(X)
    if method == "LDA":
        return LinearDiscriminantAnalysis().fit(X, y)
    if method == "UMAP":
        return umap(n_neighbors=20, random_state=0).fit(X, y)
    if method == "Hessian only":
        return projection(seed, epochs, n_covariance=0, n_hessian=2)
    return projection(seed, epochs)


def holdout_scores(method, epochs, seeds):
    """Figures 7 and 8: F1 of a linear support vector machine.

    As in the authors' notebook, coordinates of Hessian eigenvectors are divided by
    their deviation in the training or the test part.
    """
    X, X_test, y, y_test = parts("wbcd")
    f1 = {"training F1": [], "test F1": []}
    scaled = {"proposed": [0, 1], "Hessian only": [1, 1]}.get(method, [0, 0])
    for seed in seeds:
        transformer = holdout_projection(method, seed, epochs)
        Z, Z_test = (transformer.transform(part) for part in (X, X_test))
        if any(scaled):
            Z, Z_test = (part / part.std(axis=0) ** scaled for part in (Z, Z_test))
        linear = LinearSVC(random_state=1)
        svm = (SVC(kernel="linear") if method == "LDA" else linear).fit(Z, y)
        f1["training F1"].append(f1_score(y, svm.predict(Z)))
        f1["test F1"].append(f1_score(y_test, svm.predict(Z_test)))
    return f1


@reproduces(f"{PAPER}, figures 7 and 8", "Training and test F1 of one split of WBCD")
def hartoyo_figure_8(quick):
    printed = {
        "network": {
            "F1": 0.9841,
            "balanced accuracy": 0.9917,
            "kappa": 0.9749,
            "accuracy": 0.9883,
        },
        "proposed": {"test F1": 0.9841},
        "Hessian only": {"test F1": 0.9688},
        "PCA": {"test F1": 0.96},
        "LDA": {"test F1": 0.9291},
        "UMAP": {"test F1": 0.9333},
    }
    for network, options in networks("wbcd", quick):
        for method in ("network", "proposed", "Hessian only"):
            labels = {"method": f"{method}, {network['network']}"}
            if method == "network":
                yield Row(labels, network_scores, options, printed[method])
            else:
                arguments = {"method": method} | options
                yield Row(labels, holdout_scores, arguments, printed[method])
    for method in ("PCA", "LDA") if quick else ("PCA", "LDA", "UMAP"):
        arguments = {"method": method} | options | {"seeds": [0]}
        yield Row({"method": method}, holdout_scores, arguments, printed[method])


def isotropy(label):
    """Figure 9: mean magnitudes in the covariance matrix of a class."""
    X, _, y, _ = parts("wbcd")
    covariance = np.abs(np.cov(X[y == label].T))
    outside = ~np.eye(len(covariance), dtype=bool)
    return {
        "mean of the diagonal": covariance.diagonal().mean(),
        "mean off the diagonal": covariance[outside].mean(),
    }


@reproduces(f"{PAPER}, figure 9", "Covariance matrices of the two classes of WBCD")
def hartoyo_figure_9(quick):
    for label, printed in enumerate([(0.5655, 0.1566), (0.8503, 0.2828)]):
        names = "mean of the diagonal", "mean off the diagonal"
        published = dict(zip(names, printed, strict=True))
        yield Row({"class": label}, isotropy, {"label": label}, published)


def eigenvalue(rank, epochs, seeds):
    """Figure 10: an eigenvalue of both matrices."""
    models = [projection(seed, epochs) for seed in seeds]
    spectra = np.array(
        [[m.covariance_eigenvalues_, m.hessian_eigenvalues_] for m in models]
    )
    decades = np.floor(np.log10(np.maximum(spectra, 1e-300)))
    below = (decades[..., 0] - decades[..., rank - 1]).min(axis=1)
    ratios = (spectra[..., 0] / spectra[..., rank - 1]).T
    return {
        "covariance": spectra[:, 0, rank - 1],
        "Hessian": spectra[:, 1, rank - 1],
        "decades below the first eigenvalue (both matrices)": below,
        "first / this, covariance": ratios[0],
        "first / this, Hessian": ratios[1],
    }


def plot_spectra(figure, lines):
    for axes, measure in zip(figure.subplots(1, 2), MATRICES, strict=True):
        own = [line for line in lines if line["measure"] == measure]
        values = np.abs([float(line["reproduced"]) for line in own])
        axes.semilogy([line["rank"] for line in own], values, "o")
        axes.set(title=measure, xlabel="rank")


@reproduces(
    f"{PAPER}, figure 10",
    "Spectra of the matrices of WBCD",
    median=True,
    plot=plot_spectra,
)
def hartoyo_figure_10(quick):
    for rank in range(1, 31):
        yield Row({"rank": rank}, eigenvalue, {"rank": rank} | training(quick))
