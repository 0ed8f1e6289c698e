"""SPD classifiers across sessions and subjects, compared with pyRiemann's transfer.

    python benchmarks/bench_transfer.py PART [--data FOLDER]

PART is accuracy, online, window, strength, relevance, checks, calibration, constants,
within or labels.

``FOLDER`` (or SKGEOM_DATA) contains the matrices of BCI IV 2a, subjects 1 to 4, and of
SSVEP (eeg_ssvep.npz). No method uses labels of the new domain. "Days" trains on the
first day of a subject and tests on the second day; "people" trains on three subjects
and tests on each day of the fourth subject separately. A domain is a day, or a run of
48 trials. Rows named "C by cross-validation" select C of logistic regression with folds
that hold out whole subjects, or whole runs if there is one training subject.

- ``accuracy`` passes the new matrices together, and ``online`` one after the other;
- ``window`` compares windows of the running mean on halves of the first days;
- ``strength`` compares values of prior_strength across subjects;
- ``relevance`` compares values of relevance, also from the second day to the first day
  and on simulated data;
- ``checks`` compares the results of each subject with and without adaptation, for equal
  and unequal class proportions;
- ``calibration`` compares the probabilities for new subjects with and without the
  temperature that held-out domains select;
- ``constants`` compares candidates of the shrinkage, numbers of folds, and stopping
  rules of expectation maximization;
- ``within`` cross-validates within the second day;
- ``labels`` adds the first labeled trials of each class of the new day to the training
  data (``doc/results/transfer_labels.csv``).
"""

import argparse
import os
import time
import warnings
from copy import deepcopy
from itertools import islice, product
from pathlib import Path
from unittest.mock import patch

import numpy as np
from pyriemann.classification import MDM
from pyriemann.tangentspace import TangentSpace
from pyriemann.transfer import TLCenter, TLClassifier, encode_domains
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, cohen_kappa_score, log_loss
from sklearn.model_selection import (
    GridSearchCV,
    LeaveOneGroupOut,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from suite import matrices

from skgeom import PLRSQ, Recentering, TransferDiscriminantAnalysis
from skgeom._transfer import _adaptation, _shrinkage_selection
from skgeom.geometry import expm

PARTS = ["accuracy", "online", "window", "strength", "relevance", "checks"]
PARTS += ["calibration", "constants", "within", "labels"]
TRIALS_PER_RUN = 48
RESULTS = Path(__file__).parents[1] / "doc" / "results"
LOGISTIC = make_pipeline(TangentSpace(), LogisticRegression(max_iter=1000))
CLASSIFIERS = {
    "MDM": MDM(),
    "tangent space + logistic regression": LOGISTIC,
    "tangent space + logistic regression, C by cross-validation": GridSearchCV(
        LOGISTIC,
        {"logisticregression__C": [1e-4, 1e-3, 0.01, 0.1, 1, 10]},
        cv=LeaveOneGroupOut(),
    ),
    "PLRSQ": PLRSQ(),
    "PLRSQ, log-Euclidean": PLRSQ(metric="logeuclid"),
}


class Trials:
    """Matrices, classes, subjects and domains of a data set."""

    def __init__(self, X, y, subject, day, run):
        self.X, self.y, self.subject = X, y, subject
        self.domains = {"day": day, "run": run}
        self._recentered = {}

    def recentered(self, domain):
        """The matrices, each re-centered by its domain; computed once."""
        key = id(domain)
        if key not in self._recentered:
            self._recentered[key] = Recentering().fit_transform(self.X, domain=domain)
        return self._recentered[key]

    def groups(self, train):
        """Groups for cross-validation: subjects, or the runs of one subject."""
        subject = self.subject[train]
        several = len(np.unique(subject)) > 1
        return subject if several else self.domains["run"][train]

    def splits(self, task):
        """Training trials, and test parts that are scored separately."""
        day = self.domains["day"]
        for s in np.unique(self.subject):
            own = self.subject == s
            days = np.unique(day[own])
            if task == "people":
                yield ~own, [day == d for d in days]
            elif len(days) > 1:
                days = days if task == "days" else days[::-1]  # "back" in time
                yield day == days[0], [day == d for d in days[1:]]


def bci(folder):
    data = np.load(folder / "bci_iv_2a_s1_to_s4.npz")
    subjects = (1, 2, 3, 4)
    X, y = (np.concatenate([data[f"{n}_{s}"] for s in subjects]) for n in ("cov", "y"))
    test = np.concatenate([data[f"test_{s}"] for s in subjects]).astype(int)
    subject = np.repeat(subjects, len(X) // 4)
    return Trials(
        X, y, subject, 2 * subject + test, np.arange(len(X)) // TRIALS_PER_RUN
    )


def ssvep(folder):
    data = np.load(folder / "eeg_ssvep.npz")
    order = np.lexsort((data["onset_s"], data["session"]))
    order = order[data["y"][order] > 0]
    X, y, subject, session = (
        data[n][order] for n in ("cov", "y", "subject", "session")
    )
    return Trials(X, y, subject, session, session)


def fitted(classifier, X, trials, train):
    """Fit a classifier to the training matrices among X."""
    search = isinstance(classifier, GridSearchCV)
    options = {"groups": trials.groups(train)} if search else {}
    return classifier.fit(X[train], trials.y[train], **options)


def as_it_is(trials, train, test, domain, classifier):
    return fitted(classifier, trials.X, trials, train).predict(trials.X[test])


def by_pyriemann(trials, train, test, domain, classifier):
    """TLCenter on all matrices, without labels of the test matrices."""
    both = train | test
    hidden = np.where(train, trials.y, -1)[both]
    labels = domain[both].astype(str)
    X, encoded = encode_domains(trials.X[both], hidden, labels)
    Z = TLCenter(target_domain=labels[0]).fit_transform(X, encoded)
    known = train[both]
    model = TLClassifier(labels[0], classifier).fit(Z[known], encoded[known])
    return model.predict(Z[~known]).astype(int)


def by_recentering(trials, train, test, domain, classifier):
    Z = trials.recentered(domain)
    return fitted(classifier, Z, trials, train).predict(Z[test])


def by_adaptation(trials, train, test, domain, classifier):
    X, y = trials.X, trials.y
    model = classifier.fit(X[train], y[train], domain=domain[train])
    model.adapt(X[test], domain=domain[test])
    return model.predict(X[test], domain=domain[test])


def by_its_recentering(trials, train, test, domain, classifier):
    X, y = trials.X, trials.y
    model = classifier.fit(X[train], y[train], domain=domain[train])
    return model.predict(X[test], domain=domain[test])


def kappas(trials, task, method, domain, classifier):
    """Kappa of each subject, the mean over the parts."""
    for train, parts in trials.splits(task):
        yield np.mean(
            [
                cohen_kappa_score(
                    trials.y[part],
                    method(trials, train, part, domain, clone(classifier)),
                )
                for part in parts
            ]
        )


def print_row(name, trials, tasks, method, domain, classifier):
    start, found = time.process_time(), []
    for task in tasks:
        each = list(kappas(trials, task, method, domain, classifier))
        found.append((np.mean(each), each))
    cells = [
        f"{task} {mean:.3f} ({' '.join(f'{k:.2f}' for k in each)})"
        for task, (mean, each) in zip(tasks, found, strict=True)
    ]
    seconds = time.process_time() - start
    print(f"  {name:52s} {'  '.join(cells)}  {seconds:.0f} s", flush=True)


def accuracy(folder, only=""):
    adaptive = TransferDiscriminantAnalysis()
    for title, trials, tasks in (
        ("BCI IV 2a, kappa", bci(folder), ["days", "people"]),
        ("SSVEP, kappa", ssvep(folder), ["people"]),
    ):
        print(title)
        day, run = trials.domains["day"], trials.domains["run"]
        for name, model in CLASSIFIERS.items():
            if only not in name:
                continue
            print_row(name, trials, tasks, as_it_is, day, model)
            if name in ("MDM", "tangent space + logistic regression"):
                print_row(f"{name}, TLCenter", trials, tasks, by_pyriemann, day, model)
            for kind, domain in {"day": day, "run": run}.items():
                if kind == "day" or run is not day:
                    row = f"{name}, re-centered by {kind}"
                    print_row(row, trials, tasks, by_recentering, domain, model)
        for kind, domain in {"day": day, "run": run}.items():
            name = "TransferDiscriminantAnalysis"
            if only in name and (kind == "day" or run is not day):
                row = f"{name} by {kind}, "
                options = tasks, by_its_recentering, domain, adaptive
                print_row(f"{row}re-centered", trials, *options)
                print_row(
                    f"{row}adapted", trials, tasks, by_adaptation, domain, adaptive
                )


def one_by_one(trials, train, parts, adapts, window=48):
    """Kappas of parts whose matrices are passed to one model, one by one."""
    day, X = trials.domains["day"], trials.X
    model = TransferDiscriminantAnalysis(recentering=Recentering(window=window))
    model.fit(X[train], trials.y[train], domain=day[train])
    for number, part in enumerate(parts):
        label, predicted = [f"part {number}"], []
        for x in X[part][:, None]:
            if adapts:
                model.partial_adapt(x, domain=label)
            else:
                model.recentering_.partial_fit(x, domain=label)
            predicted.append(model.predict(x, domain=label)[0])
        yield cohen_kappa_score(trials.y[part], predicted)


def online(folder):
    for title, trials, tasks in (
        ("BCI IV 2a, kappa", bci(folder), ["days", "back", "people"]),
        ("SSVEP, kappa", ssvep(folder), ["people"]),
    ):
        print(f"{title}, a trial at a time")
        for task, adapts in product(tasks, (False, True)):
            name = f"{task}, {'adapted' if adapts else 're-centered'}"
            print_online(name, trials, trials.splits(task), adapts=adapts)


def print_online(name, trials, splits, **options):
    start = time.process_time()
    each = [
        np.mean([*one_by_one(trials, train, parts, **options)])
        for train, parts in splits
    ]
    cells = " ".join(f"{kappa:.2f}" for kappa in each)
    seconds = time.process_time() - start
    print(f"  {name}: {np.mean(each):.3f} ({cells})  {seconds:.0f} s", flush=True)


def window(folder):
    print("Kappa, a trial at a time, re-centered")
    print("halves: BCI IV 2a, first days, trained on runs 1 to 3, tested on 4 to 6")
    trials = bci(folder)
    day, run = trials.domains["day"], trials.domains["run"]
    halves = []
    for s in np.unique(trials.subject):
        first = day == 2 * s
        early = first & (run % 6 < 3)
        halves.append((early, [first & ~early]))
    for size in (6, 12, 24, 48, 96, None):
        name = f"halves, window={size}"
        print_online(name, trials, halves, adapts=False, window=size)


def strength(folder):
    print("TransferDiscriminantAnalysis by run, adapted, across people, kappa")
    for name, trials in (("BCI IV 2a", bci(folder)), ("SSVEP", ssvep(folder))):
        for value in (30, 50, 100, 200, 300, 500):
            model = TransferDiscriminantAnalysis(prior_strength=value)
            options = by_adaptation, trials.domains["run"], model
            row = f"{name}, prior_strength={value}"
            print_row(row, trials, ["people"], *options)


def relevance(folder):
    print("TransferDiscriminantAnalysis by run, kappa re-centered and adapted")
    for name, trials in (("BCI IV 2a", bci(folder)), ("SSVEP", ssvep(folder))):
        run, tasks = trials.domains["run"], ["days", "back", "people"]
        for value in (0, 0.05, 0.1, 0.15, 0.2, 0.3):
            model = TransferDiscriminantAnalysis(relevance=value)
            for kind, method in {
                "re-centered": by_its_recentering,
                "adapted": by_adaptation,
            }.items():
                row = f"{name}, relevance={value}, {kind}"
                print_row(row, trials, tasks, method, run, model)
    print("Simulations, accuracy: 3 of 20 rotated channels, 30 matrices a class")
    for value in (0, 0.05, 0.1, 0.15, 0.2, 0.3):
        model = TransferDiscriminantAnalysis(relevance=value)
        each = [simulated_accuracy(model, seed) for seed in range(10)]
        print(f"  relevance={value}: {np.mean(each):.3f} ({np.std(each):.3f})")
    print(
        "Without domains, accuracy with relevance=0 and 0.1: suite.matrices('report')"
    )
    for problem in matrices("report"):
        scores = [
            [
                TransferDiscriminantAnalysis(relevance=value)
                .fit(X[:1500], y[:1500])
                .score(X_test, y_test)
                for value in (0, 0.1)
            ]
            for X, y, X_test, y_test in islice(problem.parts(), 5)
        ]
        print(f"  {problem.name}: {np.mean(scores, axis=0).round(3)}")


def simulated_accuracy(model, seed):
    rng, y = np.random.default_rng(seed), np.arange(990) % 3
    signals = rng.normal(size=(990, 20, 40))
    signals[np.arange(990), y] *= 1.35
    rotation, _ = np.linalg.qr(rng.normal(size=(20, 20)))
    X = rotation @ (signals @ signals.mT / 40) @ rotation.T
    return model.fit(X[:90], y[:90]).score(X[90:], y[90:])


def checks(folder):
    """Changes by adapt for each subject, with equal and unequal classes."""
    print("Kappa without adaptation, change by adapt, and what was adapted")
    for title, trials in (("BCI IV 2a", bci(folder)), ("SSVEP", ssvep(folder))):
        day = trials.domains["day"]
        for task in ("days", "people"):
            for train, parts in trials.splits(task):
                model = TransferDiscriminantAnalysis()
                model.fit(trials.X[train], trials.y[train], domain=day[train])
                subject = trials.subject[parts[0]][0]
                name = f"{title}, {task}, subject {subject}"
                print_checks(name, model, trials.X, trials.y, parts)
    for seed in range(10):
        X, y, new = simulated_subjects(seed)
        domain = np.arange(len(X)) // 160
        model = TransferDiscriminantAnalysis()
        model.fit(X[~new], y[~new], domain=domain[~new])
        print_checks(f"simulated, seed {seed}", model, X, y, [new])


def print_checks(name, model, X, y, parts):
    for unequal in (False, True):
        before, after, adapted = [], [], []
        for part in parts:
            chosen = np.flatnonzero(part)
            if unequal:  # one of seven matrices in the second half of the classes
                labels = np.searchsorted(model.classes_, y[chosen])
                frequent = labels < (len(model.classes_) + 1) // 2
                chosen = chosen[frequent | (np.arange(len(chosen)) % 7 == 0)]
            new = ["new"] * len(chosen)
            plain, moved = deepcopy(model), deepcopy(model).adapt(X[chosen], domain=new)
            for found, one in ((before, plain), (after, moved)):
                labels = one.predict(X[chosen], domain=new)
                found.append(cohen_kappa_score(y[chosen], labels))
            adapted.append(moved.adaptation_)
        change = np.mean(after) - np.mean(before)
        kind = "unequal" if unequal else "equal"
        print(f"  {name:32s} {kind:8s} {np.mean(before):.3f} {change:+.3f} {adapted}")


def simulated_subjects(seed, n_subjects=5, n_classes=4, n_each=40, size=8):
    """Matrices of subjects whose class differences vary, and of a new subject."""
    rng = np.random.default_rng(seed)
    classes = 0.16 * rng.normal(size=(n_classes, size, size))
    X, y = [], []
    for subject in range(n_subjects):
        mixing = 0.3 * rng.normal(size=(size, size))
        mixing = expm(mixing + mixing.T)
        strength = rng.uniform(0.2, 1.2)
        moves = rng.uniform(0.05, 0.25) * rng.normal(size=(n_classes, size, size))
        for label, mean in enumerate(strength * (classes + moves)):
            count = 2 * n_each if subject == n_subjects - 1 else n_each
            steps = mean + 0.35 * rng.normal(size=(count, size, size))
            X.append(mixing @ expm((steps + steps.mT) / np.sqrt(2)) @ mixing.T)
            y += count * [label]
    X = np.concatenate(X)
    return X, np.array(y), np.arange(len(X)) >= (n_subjects - 1) * n_classes * n_each


def calibration(folder):
    """Means over the subjects, which are the domains, without adaptation."""
    print("Classes of a new subject: accuracy, mean confidence, log-loss")
    trials, rows = bci(folder), {"selected shrinkage": [], "the same, given": []}
    X, y, subject = trials.X, trials.y, trials.subject
    for train, _ in trials.splits("people"):
        model = TransferDiscriminantAnalysis()
        model.fit(X[train], y[train], domain=subject[train])
        given = clone(model).set_params(shrinkage=model.shrinkage_)
        given.fit(X[train], y[train], domain=subject[train])
        for row, one in zip(rows.values(), (model, given), strict=True):
            p = one.predict_proba(X[~train], domain=subject[~train])
            right = accuracy_score(y[~train], one.classes_[p.argmax(axis=1)])
            row.append((right, p.max(axis=1).mean(), log_loss(y[~train], p)))
    for name, row in rows.items():
        print(f"  {name:20s}", *(f"{mean:.3f}" for mean in np.mean(row, axis=0)))


def constants(folder):
    print("TransferDiscriminantAnalysis by run, kappa re-centered and adapted")
    trials = bci(folder)
    run, default = trials.domains["run"], _shrinkage_selection._SHRINKAGES
    finer = [round(1 - k / 20, 2) for k in range(20)]
    for changed in (
        {},
        *({"_SHRINKAGES": candidates} for candidates in (default[::2], finer)),
        *({"_N_FOLDS": number} for number in (3, 10)),
        {"_EM_TOLERANCE": 1e-2},
        {"_EM_TOLERANCE": 1e-6, "_EM_MAX_ITER": 2000},
        {"_EM_MAX_ITER": 50},
    ):
        row = ", ".join(f"{name[1:]} {value}" for name, value in changed.items())
        of_em = any(name.startswith("_EM") for name in changed)
        module = _adaptation if of_em else _shrinkage_selection
        with patch.dict(vars(module), changed):
            for method in (by_its_recentering, by_adaptation):
                options = method, run, TransferDiscriminantAnalysis()
                print_row(row[:52], trials, ["days", "people"], *options)


def within(folder):
    print("BCI IV 2a, kappa of the second days, five folds, logistic regression")
    trials, each = bci(folder), []
    day = trials.domains["day"]
    for s in np.unique(trials.subject):
        own = day == 2 * s + 1
        predicted = cross_val_predict(LOGISTIC, trials.X[own], trials.y[own], cv=5)
        each.append(cohen_kappa_score(trials.y[own], predicted))
    print(f"  {np.mean(each):.3f} ({' '.join(f'{kappa:.2f}' for kappa in each)})")


N_LABELED, WEIGHTS = (0, 5, 10, 20), (1, 10)


def labels(folder):
    """Kappa on the trials of a day after its first 20 of each class."""
    print("BCI IV 2a, kappa across subjects with labeled trials of the new day")
    trials, found = bci(folder), {}
    day = trials.domains["day"]
    Z, y = trials.recentered(day), trials.y
    for train, parts in trials.splits("people"):
        for part in parts:
            order = np.zeros(len(y), dtype=int)  # number of the trial in its class
            for label in np.unique(y):
                own = np.flatnonzero(part & (y == label))
                order[own] = np.arange(len(own))
            test = part & (order >= max(N_LABELED))
            for number in N_LABELED:
                new = np.flatnonzero(part & (order < number))
                for name, predicted in few_labels(trials, Z, day, train, new, test):
                    kappa = cohen_kappa_score(y[test], predicted)
                    found.setdefault(name, {}).setdefault(number, []).append(kappa)
        print(f"  day {day[test][0]}", flush=True)
    with (RESULTS / "transfer_labels.csv").open("w") as file:
        header = ["Training data and classifier", *map(str, N_LABELED)]
        print(*header, sep=",", file=file)
        for name, row in found.items():
            cells = [f"{np.mean(row[n]):.3f}" if n in row else "" for n in N_LABELED]
            print(f'"{name}"', *cells, sep=",", file=file)


def few_labels(trials, Z, day, train, new, test):
    """Names of methods, and their predictions from some labeled trials of a new day."""
    X, y = trials.X, trials.y
    for weight in WEIGHTS if len(new) else (1,):
        rows = np.concatenate([np.flatnonzero(train), *[new] * weight])
        plrsq = PLRSQ().fit(Z[rows], y[rows]).predict(Z[test])
        model = TransferDiscriminantAnalysis().fit(X[rows], y[rows], domain=day[rows])
        model.adapt(X[test], domain=day[test])
        adapted = model.predict(X[test], domain=day[test])
        for shown in (weight,) if len(new) else WEIGHTS:  # equal without new trials
            yield f"Recentering + PLRSQ, weight {shown}", plrsq
            yield f"TransferDiscriminantAnalysis, adapted, weight {shown}", adapted
    if len(new):
        model = TransferDiscriminantAnalysis().fit(Z[new], y[new])
        yield "TransferDiscriminantAnalysis, new day only", model.predict(Z[test])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--data", type=Path, default=os.environ.get("SKGEOM_DATA"))
    parser.add_argument("--only", default="", help="for accuracy: part of a name")
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data, or set SKGEOM_DATA")
    warnings.simplefilter("ignore")  # convergence of means and optimizations
    folder = Path(options.data)
    if options.part == "accuracy":
        accuracy(folder, options.only)
    else:
        globals()[options.part](folder)


if __name__ == "__main__":
    main()
