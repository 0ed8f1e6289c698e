"""Three protocols of MOABB on EEG covariance matrices, compared with pyRiemann.

    python benchmarks/bench_eeg.py [--data FOLDER] [--protocol NAME]

``FOLDER`` (or SKGEOM_DATA) contains the matrices of BCI IV 2a, subjects 1 to 4 (four
imagined movements), and of SSVEP, 12 subjects (three frequencies, without the trials at
rest). The protocols are: within sessions (five stratified folds), across the sessions
of a subject (all sessions except one for training), and across subjects (all subjects
except one for training; each session of the test subject is tested separately). No
method uses labels of the test set; FgMDM with ``tsupdate`` uses the matrices of the
test set. Each method selects one of four candidates by the accuracy in three inner
folds, which hold out whole subjects if there are several, and are stratified otherwise.

The command computes the results that ``doc/results/eeg.csv`` does not contain, and
writes this file and ``doc/results/eeg_ranks.csv``: for each finished protocol, mean
ranks over the subjects, and p-values of Wilcoxon's signed-rank test with Holm's
correction for all pairs of a method of skgeom and a method of pyRiemann. Seconds are
processor time of one thread.
"""

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from bench_external import RESULTS, compare, read, write
from bench_transfer import bci, ssvep
from pyriemann.classification import MDM, FgMDM
from pyriemann.tangentspace import TangentSpace
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from skgeom import PLRSQ, TransferDiscriminantAnalysis

C = {"classifier__C": [0.001, 0.01, 0.1, 1]}
BASELINES = {
    "MDM": (MDM(), {"metric": ["riemann", "logeuclid", "logdet", "euclid"]}),
    "FgMDM": (FgMDM(), {"metric": ["riemann", "logeuclid"], "tsupdate": [False, True]}),
    "tangent space + logistic regression": (LogisticRegression(max_iter=1000), C),
    "tangent space + SVM": (SVC(kernel="linear"), C),
}
OURS = {
    "PLRSQ": (PLRSQ(random_state=0), {"representability": [1e-4, 1e-3, 1e-2, 0.1]}),
    "TransferDiscriminantAnalysis": (
        TransferDiscriminantAnalysis(),
        {"relevance": [0, 0.1, 0.2, 0.4]},
    ),
}
METHODS = OURS | BASELINES


def tuned(method, memory):
    """A grid search with given inner folds; memory caches tangent spaces."""
    model, grid = METHODS[method]
    model = clone(model)
    if method.startswith("tangent space"):
        steps = [("tangent space", TangentSpace()), ("classifier", model)]
        model = Pipeline(steps, memory=memory)
    return GridSearchCV(model, grid)


def splits(trials, protocol, subject):
    """Training and test trials, as indices."""
    day, own = trials.domains["day"], trials.subject == subject
    sessions = np.unique(day[own])
    if protocol == "within-session":
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        for session in sessions:
            index = np.flatnonzero(day == session)
            for train, test in folds.split(index, trials.y[index]):
                yield index[train], index[test]
    for session in sessions:
        test = np.flatnonzero(day == session)
        if protocol == "cross-session" and len(sessions) > 1:
            yield np.flatnonzero(own & (day != session)), test
        elif protocol == "cross-subject":
            yield np.flatnonzero(~own), test


def inner_folds(trials, train):
    subject, y = trials.subject[train], trials.y[train]
    if len(np.unique(subject)) > 1:
        return list(GroupKFold(3).split(train, y, subject))
    return list(StratifiedKFold(3, shuffle=True, random_state=0).split(train, y))


def evaluate(trials, protocol, subject, method):
    """Mean accuracy of a subject, and processor time with the selection."""
    scores, fitted, start = [], {}, time.process_time()
    with tempfile.TemporaryDirectory() as memory:
        for train, test in splits(trials, protocol, subject):
            key = train.tobytes()  # one model for all sessions of a test subject
            if key not in fitted:
                search = tuned(method, memory).set_params(cv=inner_folds(trials, train))
                fitted = {key: search.fit(trials.X[train], trials.y[train])}
            scores.append(fitted[key].score(trials.X[test], trials.y[test]))
    return {
        "accuracy": f"{np.mean(scores):.4f}",
        "seconds": f"{time.process_time() - start:.1f}",
    }


def count_subjects(trials):
    return len(np.unique(trials.subject))


PROTOCOLS = "within-session", "cross-session", "cross-subject"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("SKGEOM_DATA"))
    parser.add_argument("--protocol", nargs="+", choices=PROTOCOLS, default=PROTOCOLS)
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data, or set SKGEOM_DATA")
    warnings.simplefilter("ignore")  # convergence of means and optimizations
    path = RESULTS / "eeg.csv"
    rows = read(path)
    keys = "protocol", "data", "subject", "method"
    known = {tuple(row[key] for key in keys) for row in rows}
    folder = Path(options.data)
    sets = {"BCI IV 2a": bci(folder), "SSVEP": ssvep(folder)}
    for protocol in options.protocol:
        for data, trials in sets.items():
            for subject in np.unique(trials.subject):
                for method in METHODS:
                    labels = (protocol, data, str(subject), method)
                    if labels in known:
                        continue
                    with threadpool_limits(1):
                        result = evaluate(trials, protocol, subject, method)
                    rows.append(dict(zip(keys, labels, strict=True)) | result)
                    write(path, rows)
                    print(*rows[-1].values(), flush=True)
    summary = []
    for protocol in PROTOCOLS:
        own = [
            row | {"table": f"{row['data']}, {row['subject']}"}
            for row in rows
            if row["protocol"] == protocol
        ]
        if len(own) == len(METHODS) * sum(map(count_subjects, sets.values())):
            lines = compare(own, list(OURS), list(BASELINES))
            summary += [{"protocol": protocol} | line for line in lines]
    write(RESULTS / "eeg_ranks.csv", summary)


if __name__ == "__main__":
    main()
