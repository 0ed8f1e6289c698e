"""Learning vector quantization of SPD matrices: plain loops, solvers and metrics.

    python benchmarks/bench_lvq.py fits|speed|solvers|metrics [--data FOLDER]

``FOLDER`` (or SKGEOM_DATA) contains the matrices of BCI IV 2a and of ETH-80.
benchmarks/papers computes the tables of the paper. ``fits --against CHECKOUT`` also
measures a different version of skgeom, in turn with this version.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skgeom import GLRSQ, GMLVQ, PLRSQ
from skgeom.datasets import make_spd_classes

SEEDS = range(5)


def load_bci(folder, subject):
    data = np.load(folder / "bci_iv_2a_s1_to_s4.npz")
    X, test = data[f"cov_{subject}"], data[f"test_{subject}"].astype(bool)
    y = data[f"y_{subject}"] if f"y_{subject}" in data else data["y"]
    return X[~test], y[~test], X[test], y[test]


def load_eth(folder, n_categories, seed):
    """21 random images of each object for training, the others for the test."""
    data = np.load(folder / "eth80_covariances.npz")
    rng = np.random.default_rng(seed)
    train = np.zeros(len(data["y"]), bool)
    for label in range(n_categories):
        for thing in range(10):
            own = np.flatnonzero((data["y"] == label) & (data["object"] == thing))
            train[rng.choice(own, 21, replace=False)] = True
    X, y = data["cov5"], data["y"]
    test = ~train & (y < n_categories)
    return X[train], y[train], X[test], y[test]


def load_channels(_, seed):
    """Five classes of matrices of 64 x 64, 400 for training and 100 for the test."""
    X, y = make_spd_classes(5, 100, 64, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:400], order[400:]
    return X[train], y[train], X[test], y[test]


def load_wide(_, seed):
    """Five classes of 60 vectors of 1,500 features, and 300 vectors for the test."""
    rng = np.random.default_rng(seed)
    y = np.arange(600) % 5
    X = rng.normal(size=(600, 1500)) + 0.07 * rng.normal(size=(5, 1500))[y]
    return X[:300], y[:300], X[300:], y[300:]


def seconds(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def plain_epoch(X, y, W, sigma2, rate):
    """Algorithm 1 with pyriemann's functions, in a plain loop."""
    from pyriemann.geometry.distance import distance_riemann
    from pyriemann.geometry.tangentspace import exp_map_riemann, log_map_riemann

    for x, label in zip(X, y, strict=True):
        squared = np.array([distance_riemann(x, w) ** 2 for w in W])
        terms = np.exp(-(squared - squared.min()) / (2 * sigma2))
        posterior = terms / terms.sum()
        for j, w in enumerate(W):
            step = rate / sigma2 * ((j == label) - posterior[j])
            W[j] = exp_map_riemann(step * log_map_riemann(x[None], w), w)[0]
    return W


def speed(folder):
    from pyriemann.classification import MDM

    X, y, Xt, _ = load_bci(folder, 1)
    start = np.stack([X[y == label].mean(axis=0) for label in range(4)])
    common = {"metric": "riemann", "sigma2": 3.5}
    common |= {"solver": "sgd", "init": start}
    model = PLRSQ(**common, max_iter=1, random_state=0).fit(X, y)  # rate .22 * .01
    order = np.random.RandomState(0).permutation(len(y))  # of the epoch
    n_epochs, rows = 10, []
    for _ in range(5):
        parts = X[order], y[order], list(start), 3.5, 0.0022
        plain, W = seconds(lambda parts=parts: plain_epoch(*parts))
        assert np.allclose(model.prototypes_, W, rtol=1e-6)
        fit = PLRSQ(**common, max_iter=n_epochs)
        rows.append((plain, seconds(lambda f=fit: f.fit(X, y))[0] / n_epochs))
    plain, one = np.median(rows, axis=0)
    print(
        f"epoch of 288 matrices of 22 x 22, 4 prototypes: plain loop {plain:.3f} s; "
        f"of fits of {n_epochs} epochs,"
    )
    print(f"  {one:.4f} s, {plain / one:.1f} times as fast")

    mdm = MDM().fit(X, y)
    model = PLRSQ(metric="riemann", solver="sgd", max_iter=1).fit(X, y)
    times = np.array(
        [
            (seconds(lambda: mdm.predict(Xt))[0], seconds(lambda: model.predict(Xt))[0])
            for _ in range(7)
        ]
    )
    peer, ours = np.median(times, axis=0)
    print(f"predict, 288 matrices: MDM {peer:.4f} s, PLRSQ {ours:.4f} s")

    rng = np.random.default_rng(0)
    roots = rng.normal(size=(10_000, 9, 20))
    X, y = roots @ roots.mT / 20, np.arange(10_000) % 10
    model = PLRSQ(5, metric="riemann", init=X[:50], solver="sgd", max_iter=1)
    model.fit(X[:200], np.repeat(np.arange(10), 5)[np.arange(200) % 50])
    took = np.median([seconds(lambda: model.predict(X))[0] for _ in range(5)])
    print(f"predict, 10,000 matrices of 9 x 9, 50 prototypes: {took:.2f} s")


# For each problem: a function that loads a split, the splits, and the estimator.
FITS = {
    "ETH-80, 8 categories": (
        lambda folder, seed: load_eth(folder, 8, seed),
        SEEDS,
        PLRSQ(6, metric="riemann", random_state=0),
    ),
    "ETH-80, sigma2 learned": (
        lambda folder, seed: load_eth(folder, 8, seed),
        [0],
        PLRSQ(6, metric="riemann", sigma2="learn", random_state=0),
    ),
    "64 channels": (load_channels, SEEDS, PLRSQ(metric="riemann")),
    "vectors of 1,500 features": (load_wide, [0], GMLVQ(max_iter=10, tol=0)),
    **{
        f"BCI, subject {s}, {type(model).__name__}": (load_bci, [s], model)
        for model in (PLRSQ(metric="riemann"), GLRSQ())
        for s in (1, 2, 3, 4)
    },
}


def counted_eigenproblems():
    """A list to which numpy appends how many eigenproblems each call solves."""
    counts = []

    def counting(function):
        def counted(matrices, *args, **options):
            counts.append(np.size(matrices) // np.shape(matrices)[-1] ** 2)
            return function(matrices, *args, **options)

        return counted

    for name in ("eigh", "eigvalsh"):
        setattr(np.linalg, name, counting(getattr(np.linalg, name)))
    return counts


def fit_once(folder, name):
    """Means over the splits of a problem: seconds, eigenproblems, iterations, ..."""
    from sklearn.metrics import cohen_kappa_score

    load, splits, model = FITS[name]
    counts, rows = counted_eigenproblems(), []
    for split in splits:
        X, y, Xt, yt = load(folder, split)
        counts.clear()
        took, _ = seconds(lambda X=X, y=y: model.fit(X, y))
        solved, predicted = sum(counts), model.predict(Xt)
        accuracy, kappa = (predicted == yt).mean(), cohen_kappa_score(yt, predicted)
        last = model.loss_curve_[-1]
        rows.append((took, solved, model.n_iter_, last, accuracy, kappa))
    return np.mean(rows, axis=0).tolist()


def fits(folder, against=None, repeats=5):
    """Fits with the affine-invariant metric, in separate processes."""
    checkouts = [Path(__file__).parents[1], *([against] if against else [])]
    print("problem: median seconds, eigenproblems, iterations, cost, accuracy, kappa")
    for name in FITS:
        rows = [[] for _ in checkouts]
        for _ in range(repeats):
            for checkout, found in zip(checkouts, rows, strict=True):
                printed = subprocess.run(
                    [sys.executable, __file__, "fit", "--only", name],
                    env={
                        **os.environ,
                        "PYTHONPATH": str(checkout),
                        "SKGEOM_DATA": str(folder),
                    },
                    check=True,
                    stdout=subprocess.PIPE,
                ).stdout
                found.append(json.loads(printed))
        print(name)
        for checkout, found in zip(checkouts, rows, strict=True):
            took, solved, n_iter, last, accuracy, kappa = np.median(found, axis=0)
            report = (
                f"{took:.2f} s, {solved:.0f} eigenproblems, {n_iter:.1f} iterations"
            )
            scores = f"cost {last:.3f}, accuracy {accuracy:.4f}, kappa {kappa:.4f}"
            print(f"  {checkout.name}: {report}, {scores}")
        if against:
            ratios = [theirs[0] / ours[0] for ours, theirs in zip(*rows, strict=True)]
            print(f"  {np.median(ratios):.1f} times as fast")


def cost(model, X, y):
    return -model.predict_log_proba(X)[np.arange(len(y)), y].sum()


def fitted(X, y, n_prototypes, **options):
    """Seconds of a fit, and the model."""
    options |= {"metric": "riemann", "representability": 0, "random_state": 0}
    model = PLRSQ(n_prototypes, **options)
    return seconds(lambda: model.fit(X, y))


def solvers(folder):
    problems = {
        "BCI, subject 1": (load_bci(folder, 1), 1, 9.5),
        "ETH-80, 8 categories": (load_eth(folder, 8, 0), 5, 0.5),
        "ETH-80, small variance": (load_eth(folder, 6, 0), 6, 0.02),
    }
    for name, ((X, y, Xt, yt), n_prototypes, sigma2) in problems.items():
        problem = X, y, n_prototypes
        sgd_s, sgd = fitted(*problem, sigma2=sigma2, solver="sgd")
        report = f"{cost(sgd, X, y):.2f}, test accuracy {sgd.score(Xt, yt):.4f}"
        print(f"{name}, {n_prototypes} prototypes a class, sigma2 {sigma2}")
        print(f"  sgd, 100 epochs: {sgd_s:.1f} s, cost {report}")
        for n in (3, 5, 10, 20, 50):
            search = {"solver": "lbfgs", "max_iter": n, "tol": 0}
            took, model = fitted(*problem, sigma2=sigma2, **search)
            report = f"{cost(model, X, y):.2f}, test accuracy {model.score(Xt, yt):.4f}"
            ratio = f"{sgd_s / took:.1f} times as fast"
            print(f"  lbfgs, {n} iterations: {took:.1f} s, {ratio}, cost {report}")


def metrics(folder):
    """Default parameters with each metric, in turn; times relative to "riemann"."""
    problems = {
        "ETH-80, 8 categories, 6 prototypes": (
            [load_eth(folder, 8, s) for s in SEEDS],
            6,
        ),
        "BCI, subject 1": ([load_bci(folder, 1)] * len(SEEDS), 1),
    }
    names = ["riemann", "logdet", "logeuclid", "tangent", "mahalanobis"]
    names += ["euclid"]
    for title, (splits, n_prototypes) in problems.items():
        print(title)
        rows = []
        for seed, (X, y, Xt, yt) in zip(SEEDS, splits, strict=True):
            row = []
            for name in names:
                model = PLRSQ(n_prototypes, metric=name, random_state=seed)
                took, _ = seconds(lambda m=model, X=X, y=y: m.fit(X, y))
                row.append((took, model.score(Xt, yt)))
            rows.append(row)
        times, scores = np.moveaxis(rows, -1, 0)
        for k, name in enumerate(names):
            took, faster = np.median(times[:, k]), np.median(times[:, 0] / times[:, k])
            accuracy = f"test accuracy {scores[:, k].mean():.4f}"
            print(f"  {name}: {took:.2f} s, {faster:.1f} times as fast, {accuracy}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parts = ["fits", "speed", "solvers", "metrics", "fit"]
    parser.add_argument("part", choices=parts)
    parser.add_argument("--only", choices=FITS, help="for fit: the problem")
    parser.add_argument("--against", type=Path, help="for fits: another checkout")
    parser.add_argument("--repeats", type=int, default=5, help="for fits")
    parser.add_argument("--data", type=Path, default=os.environ.get("SKGEOM_DATA"))
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data, or set SKGEOM_DATA")
    warnings.simplefilter("ignore", ConvergenceWarning)
    folder = Path(options.data)
    if options.part == "fit":
        print(json.dumps(fit_once(folder, options.only)))
    elif options.part == "fits":
        fits(folder, options.against, options.repeats)
    else:
        globals()[options.part](folder)


if __name__ == "__main__":
    main()
