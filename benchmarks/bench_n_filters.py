"""Rules for the number of filters, and the test accuracy of each rule.

    python -m benchmarks.bench_n_filters [--part choose|report] [--distance NAME]

For each problem on vectors of benchmarks/suite.py with up to ``--most`` training
samples, filters of SQFA are learned in groups, twice as many as the simple rule
selects. A Gaussian classifier is cross-validated with the leading filters. The rules
are: the simple rule, one less than the number of classes and at least two, with filters
learned together or in groups; the fewest filters within one standard error of the
lowest error; the filters with the lowest error; and the fewest filters whose Bayes
error is at most 1.1 times the Bayes error of all filters. The table contains the
accuracy on the test samples, and the mean number of filters in brackets.
"""

import argparse
import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import suite
from skgeom import SQFA, ClassStatistics, GaussianClassifier, bayes_error

RULES = ["plain", "plain, groups", "one standard error", "least error", "Bayes error"]


def component_errors(sqfa, X, y, cv):
    """Numbers of filters, (n,), their errors, (n, n_splits), and Bayes errors, (n,)."""
    most = sqfa.n_components
    numbers = np.unique([*range(sqfa.group_size, most + 1, sqfa.group_size), most])
    errors = np.empty((len(numbers), cv.get_n_splits()))
    for split, (train, test) in enumerate(cv.split(X, y)):
        Z = sqfa.fit(X[train], y[train]).transform(X)
        for row, k in enumerate(numbers):
            classifier = GaussianClassifier().fit(Z[train, :k], y[train])
            errors[row, split] = 1 - classifier.score(Z[test, :k], y[test])
    statistics = ClassStatistics.from_data(sqfa.fit(X, y).transform(X), y).shrunk()
    axes = np.eye(most)
    bayes = [bayes_error(statistics.project(axes[:k]), tol=0.05) for k in numbers]
    return numbers, errors, np.array([error.value for error in bayes])


def numbers_by_rule(plain, numbers, errors, bayes_errors):
    """The number of filters of each rule, for filters learned in groups."""
    means = errors.mean(axis=1)
    best = means.argmin()
    # L. Breiman, J. Friedman, C. Stone and R. Olshen, "Classification and Regression
    # Trees", 1984, section 3.4.3.
    standard_error = errors[best].std(ddof=1) / np.sqrt(errors.shape[1])
    enough = means <= means[best] + standard_error
    optimal = bayes_errors <= 1.1 * bayes_errors.min()
    return {
        "plain, groups": plain,
        "one standard error": int(numbers[enough.argmax()]),
        "least error": int(numbers[best]),
        "Bayes error": int(numbers[optimal.argmax()]),
    }


def results(problem, distance):
    """For each rule the mean accuracy and the mean number of filters."""
    n_classes = len(np.unique(problem.y))
    rows = {rule: [] for rule in RULES}
    for X, y, X_test, y_test in problem.parts():
        if problem.table:
            scaler = StandardScaler().fit(X)
            X, X_test = scaler.transform(X), scaler.transform(X_test)
        plain = max(2, min(n_classes - 1, X.shape[1]))
        most = min(2 * plain, X.shape[1])
        group_size = 2 if most > 6 else 1
        together = SQFA(plain, distance=distance, random_state=0)
        model = make_pipeline(together, GaussianClassifier()).fit(X, y)
        rows["plain"].append((model.score(X_test, y_test), plain))
        grouped = SQFA(most, distance=distance, group_size=group_size, random_state=0)
        cv = StratifiedKFold(5, shuffle=True, random_state=0)
        found = component_errors(grouped, X, y, cv)
        Z, Z_test = grouped.transform(X), grouped.transform(X_test)
        for rule, k in numbers_by_rule(plain, *found).items():
            classifier = GaussianClassifier().fit(Z[:, :k], y)
            rows[rule].append((classifier.score(Z_test[:, :k], y_test), k))
    return {rule: np.mean(values, axis=0) for rule, values in rows.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=["choose", "report"], default="choose")
    parser.add_argument("--distance", default="hellinger")
    parser.add_argument("--most", type=int, default=5_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':38}", *(f"{rule:>20}" for rule in RULES))
    all_scores = []
    for problem in suite.vectors(options.part):
        if len(problem.splits[0][0]) > options.most:
            continue
        found = results(problem, options.distance)
        all_scores.append([found[rule][0] for rule in RULES])
        cells = [f"{score:.3f} ({n:.1f})" for score, n in found.values()]
        print(f"{problem.name:38}", *(f"{c:>20}" for c in cells), flush=True)
    means = np.mean(all_scores, axis=0)
    print(f"{'mean':38}", *(f"{mean:20.3f}" for mean in means))


if __name__ == "__main__":
    main()
