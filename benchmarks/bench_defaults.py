"""Accuracy of default parameters, compared with grid searches and baselines.

    python -m benchmarks.bench_defaults [--defaults] [--only TEXT]
                                        [--results FILE] [--write FOLDER]

The script fits every estimator to every problem of benchmarks/suite.py with default
parameters, except for the number of components. Unless ``--defaults`` is given,
estimators of skgeom are also fitted with the best values of a small grid, selected by
cross-validation on the training samples. Tables are standardized; other data are not.
Four problems run in parallel with one thread each; the two largest problems run at the
end, one after the other. FILE (JSON lines) stores finished rows, so that an interrupted
run continues. ``--write doc/results`` writes the tables of the documentation.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import indent

import numpy as np
from joblib import Parallel, delayed
from pyriemann.classification import MDM, FgMDM
from pyriemann.tangentspace import TangentSpace
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    cohen_kappa_score,
    log_loss,
)
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks import suite
from benchmarks.rows import add_row, read_rows
from skgeom import (
    GLRSQ,
    GMLVQ,
    PLRSQ,
    RSLVQ,
    SQFA,
    AMAGauss,
    CovarianceHessianProjection,
    GaussianClassifier,
    KernelDiscriminantAnalysis,
)


@dataclass(frozen=True)
class Contestant:
    """An estimator for k components, and a function of samples X that tunes it."""

    make: Callable
    search: Callable | None = None
    plain: bool = False
    fits: Callable = lambda problem: True


def classifying(filters):
    return make_pipeline(filters, GaussianClassifier())


def two_classes(problem):
    return len(np.unique(problem.y)) == 2


def full_covariances(problem):
    """Whether each class has enough samples for a covariance."""
    train, _ = problem.splits[0]
    return np.bincount(problem.y[train]).min() > problem.X.shape[1]


def by_grid(estimator, grid):
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    return GridSearchCV(estimator, grid, cv=cv)


def search_filters(filters):
    """A grid search over sigma^2, from 0.001 to 10 times the mean variance."""

    def search(k, X):
        name = type(filters).__name__.lower()
        values = np.logspace(-3, 1, 9) * X.var(axis=0).mean()
        model = classifying(clone(filters).set_params(n_components=k))
        return by_grid(model, {f"{name}__regularization": values})

    return search


def search_kernel(k, X):
    grid = {
        "gamma": np.array([0.25, 1, 4]) / (X.shape[1] * X.var()),
        "regularization": np.logspace(-7, 0, 8),
    }
    return by_grid(KernelDiscriminantAnalysis(), grid)


def search_prototypes(estimator, **grid):
    return lambda k, X: by_grid(estimator, {"n_prototypes": [1, 2, 3], **grid})


METRICS = ["riemann", "tangent", "mahalanobis"]


VECTORS = {
    "KDA": Contestant(lambda k: KernelDiscriminantAnalysis(), search_kernel),
    "SQFA": Contestant(lambda k: classifying(SQFA(k)), search_filters(SQFA())),
    "SQFA-H": Contestant(
        lambda k: classifying(SQFA(k, distance="hellinger")),
        search_filters(SQFA(distance="hellinger")),
    ),
    "AMA-Gauss": Contestant(
        lambda k: classifying(AMAGauss(k)), search_filters(AMAGauss())
    ),
    "RSLVQ": Contestant(lambda k: RSLVQ(), search_prototypes(RSLVQ())),
    "GMLVQ": Contestant(
        lambda k: GMLVQ(),
        search_prototypes(GMLVQ()),
        # For more features, the metric of all features takes minutes.
        fits=lambda problem: problem.X.shape[1] <= 1_000,
    ),
    "C + H": Contestant(
        lambda k: make_pipeline(CovarianceHessianProjection(), LogisticRegression()),
        fits=two_classes,
    ),
    "LDA": Contestant(lambda k: LinearDiscriminantAnalysis(), plain=True),
    "sLDA": Contestant(
        lambda k: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        plain=True,
    ),
    "QDA": Contestant(
        lambda k: QuadraticDiscriminantAnalysis(tol=0),
        plain=True,
        fits=full_covariances,
    ),
    "SVC": Contestant(lambda k: SVC(), plain=True),
    "logistic": Contestant(lambda k: LogisticRegression(max_iter=2_000), plain=True),
    "NCA + k-NN": Contestant(
        lambda k: make_pipeline(
            NeighborhoodComponentsAnalysis(k, random_state=0), KNeighborsClassifier()
        ),
        plain=True,
    ),
}
MATRICES = {
    "PLRSQ": Contestant(lambda k: PLRSQ(), search_prototypes(PLRSQ(), metric=METRICS)),
    "GLRSQ": Contestant(lambda k: GLRSQ(), search_prototypes(GLRSQ(), metric=METRICS)),
    "MDM": Contestant(lambda k: MDM(), plain=True),
    "tangent space": Contestant(
        lambda k: make_pipeline(TangentSpace(), LogisticRegression(max_iter=2_000)),
        plain=True,
    ),
    "FgMDM": Contestant(lambda k: FgMDM(), plain=True),
}
# largest numbers of training samples; for more samples, a fit takes hours
MOST = {"NCA + k-NN": 2_000, "SVC": 20_000, "RSLVQ": 20_000, "GMLVQ": 20_000}
# largest numbers of training samples and of features with a grid search
SEARCHED = 3_000, 1_000
# A problem with at least this number of training samples runs alone, on all cores.
ALONE = 30_000


def scores(model, X, y):
    """Reported scores of a fitted model on test samples."""
    predicted = model.predict(X)
    row = {
        "accuracy": accuracy_score(y, predicted),
        "balanced accuracy": balanced_accuracy_score(y, predicted),
        "kappa": cohen_kappa_score(y, predicted),
    }
    if hasattr(model, "predict_proba"):
        row["log-loss"] = log_loss(y, model.predict_proba(X), labels=model.classes_)
    return row


def mean_scores(problem, make, n_threads):
    """Mean scores over the splits, median seconds of a fit, and all warnings."""
    rows, seconds, messages = [], [], set()
    for X, y, X_test, y_test in problem.parts():
        model = make(X)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with threadpool_limits(n_threads):
                start = time.perf_counter()
                model.fit(X, y)
                seconds.append(time.perf_counter() - start)
                rows.append(scores(model, X_test, y_test))
        messages |= {f"{w.category.__name__}: {w.message}"[:200] for w in caught}
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    return means | {"seconds": float(np.median(seconds)), "warnings": sorted(messages)}


def makers(problem, contestants):
    """Methods that fit the problem, whether they are tuned, and a factory for X."""
    n_train = len(problem.splits[0][0])
    k = max(2, min(len(np.unique(problem.y)) - 1, problem.X.shape[1]))
    is_large = n_train > SEARCHED[0] or problem.X.shape[1] > SEARCHED[1]

    def default(contestant, X):
        return contestant.make(k)

    def search(contestant, X):
        return contestant.search(k, X)

    def standardized(make, X):
        scaler = StandardScaler()
        return make_pipeline(scaler, make(scaler.fit_transform(X)))

    for name, contestant in contestants.items():
        if n_train > MOST.get(name, n_train) or not contestant.fits(problem):
            continue
        for is_searched, make in ((False, default), (True, search)):
            if is_searched and (contestant.search is None or is_large):
                continue
            make = partial(make, contestant)
            if problem.table:
                make = partial(standardized, make)
            yield name, is_searched, make


def run_problem(kind, part, problem, known, file, searches, n_threads):
    """Fit the missing rows; append a line to ``file`` for each row."""
    contestants = {"vectors": VECTORS, "matrices": MATRICES}[kind]
    for method, is_searched, make in makers(problem, contestants):
        key = [kind, part, problem.name, method, is_searched]
        if tuple(key) in known or (is_searched and not searches):
            continue
        try:
            row = mean_scores(problem, make, n_threads)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            row = {"error": f"{type(error).__name__}: {error}"[:300]}
        add_row(file, key, row)
        print(*key, {k: v for k, v in row.items() if k != "balanced accuracy"})


def run(file, only, searches):
    known = read_rows(file)
    small, large = [], []
    for kind in ("matrices", "vectors"):
        for part in ("choose", "report"):
            for problem in getattr(suite, kind)(part):
                if only in problem.name:
                    group = large if len(problem.splits[0][0]) > ALONE else small
                    group.append((kind, part, problem, known, file, searches))
    Parallel(n_jobs=4)(delayed(run_problem)(*job, n_threads=1) for job in small)
    for job in large:
        run_problem(*job, n_threads=os.cpu_count())


# Tables


def csv_table(title, header, rows):
    lines = [f".. csv-table:: {title}", "   :header-rows: 1", ""]
    lines += ["   " + ", ".join(f'"{cell}"' for cell in row) for row in [header, *rows]]
    return "\n".join(lines) + "\n"


def cell(row, score):
    if row is None:
        return "–"
    if score not in row:
        return "error" if "error" in row else "–"
    value = row[score]
    return f"{value:.2g}" if score == "seconds" else short(f"{value:.3f}")


def short(number):
    """A number without the zero before its decimal point, for narrow tables."""
    return (
        number.replace("0.", ".", 1) if number.lstrip("+-").startswith("0.") else number
    )


def score_table(results, kind, part, score, searched_too):
    """A row for each problem, a column for each method; tuned scores in brackets."""
    methods = {"vectors": VECTORS, "matrices": MATRICES}[kind]
    problems = dict.fromkeys(key[2] for key in results if key[:2] == (kind, part))
    rows = []
    for problem in problems:
        cells = []
        for method in methods:
            text = cell(results.get((kind, part, problem, method, False)), score)
            own = results.get((kind, part, problem, method, True))
            if searched_too and own is not None and score in own:
                text += f" ({cell(own, score)})"
            cells.append(text)
        rows.append([problem, *cells])
    title = score.capitalize()
    if searched_too:
        title += ", in brackets by a grid search"
    return csv_table(title, ["", *methods], rows)


def summary(results, kind, part, score, searched_too):
    """Mean rank, and differences from the best baseline and the tuned method."""
    methods = {"vectors": VECTORS, "matrices": MATRICES}[kind]
    problems = dict.fromkeys(key[2] for key in results if key[:2] == (kind, part))
    ranks, behind_plain, behind_search = ({m: [] for m in methods} for _ in range(3))
    for problem in problems:
        defaults = {
            m: results[kind, part, problem, m, False][score]
            for m in methods
            if score in results.get((kind, part, problem, m, False), {})
        }
        plain = max(v for m, v in defaults.items() if methods[m].plain)
        for method, rank in zip(
            defaults, rankdata([-v for v in defaults.values()]), strict=True
        ):
            ranks[method].append(rank)
            behind_plain[method].append((plain - defaults[method], problem))
            own = results.get((kind, part, problem, method, True), {})
            if score in own:
                behind_search[method].append((own[score] - defaults[method], problem))
    rows = []
    for method in methods:
        if not ranks[method]:
            continue
        cells = [method, len(ranks[method]), f"{np.mean(ranks[method]):.1f}"]
        for behind in (behind_plain[method], behind_search[method])[: 1 + searched_too]:
            if behind:
                worst, where = max(behind)
                mean = -np.mean([b for b, _ in behind])
                cells += [
                    short(f"{mean:+.3f}"),
                    short(f"{-worst:+.3f}") + f" ({where})",
                ]
            else:
                cells += ["–", "–"]
        rows.append(cells)
    header = ["", "data sets", "mean rank", "minus best baseline: mean", "worst"]
    if searched_too:
        header += ["minus grid search: mean", "worst"]
    return csv_table(f"{score.capitalize()}, summary", header, rows)


def folded(table):
    """A table in a dropdown."""
    first, rest = table.split("\n", 1)
    title = first.removeprefix(".. csv-table:: ")
    return f".. dropdown:: {title}\n\n" + indent(f".. csv-table::\n{rest}", "   ")


def write(results, folder):
    parts, searched_too = [], any(key[-1] for key in results)
    for part, apart in (
        ("report", "data not used to choose defaults"),
        ("choose", "data used to choose defaults"),
    ):
        for kind, score in (("vectors", "accuracy"), ("matrices", "kappa")):
            if not any(key[:2] == (kind, part) for key in results):
                continue
            title = f"{'Vectors' if kind == 'vectors' else 'SPD matrices'}, {apart}"
            parts += [
                f"{title}\n{'=' * len(title)}\n",
                summary(results, kind, part, score, searched_too),
                folded(score_table(results, kind, part, score, searched_too)),
                *(
                    folded(score_table(results, kind, part, other, searched_too=False))
                    for other in ("balanced accuracy", "log-loss")
                ),
            ]
    text = "\n".join(parts)
    if folder is None:
        print(text)
    else:
        Path(folder, "defaults_benchmark.inc").write_text(text, encoding="utf-8")
    for key, row in results.items():
        for message in row.get("warnings", [row.get("error")]):
            print(*key, message)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", default="defaults.jsonl", help="finished rows")
    parser.add_argument("--write", help="folder for the tables; printed without")
    parser.add_argument("--only", default="", help="problems whose name has this text")
    parser.add_argument("--defaults", action="store_true", help="no grid searches")
    options = parser.parse_args()
    run(options.results, options.only, not options.defaults)
    write(read_rows(options.results), options.write)


if __name__ == "__main__":
    main()
