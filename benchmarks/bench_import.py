"""Time of ``import skgeom``, compared with related modules of scikit-learn.

    python -m benchmarks.bench_import [--repeats 15] [--against CHECKOUT]

Each import runs in a separate process, in turn. skgeom imports pymanopt only for its
optimizers, because pymanopt imports PyTorch, JAX and TensorFlow if they are installed:
run the script in an environment with these packages. ``--against`` also measures a
different version of skgeom.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parents[1]
SKLEARN = "sklearn.discriminant_analysis, sklearn.decomposition"


def seconds(names, checkout):
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-c", f"import {names}"]
    start = time.perf_counter()
    subprocess.run(command, check=True, cwd=checkout, env=environment)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--against", type=Path, help="another checkout")
    arguments = parser.parse_args()
    jobs = [(SKLEARN, HERE), ("pymanopt", HERE), ("skgeom", HERE)]
    if arguments.against:
        jobs.append(("skgeom", arguments.against.resolve()))
    n_rounds = arguments.repeats + 1  # the first import fills caches
    rounds = [[seconds(*job) for job in jobs] for _ in range(n_rounds)][1:]
    print(f"medians of {arguments.repeats}, and of the ratios to the first")
    for number, (names, checkout) in enumerate(jobs):
        times = [row[number] for row in rounds]
        ratios = [row[number] / row[0] for row in rounds]
        where = f" of {checkout.name}" if names == "skgeom" else ""
        took = f"{statistics.median(times):.3f} s {statistics.median(ratios):6.2f}"
        print(f"import {names + where:<55} {took}")


if __name__ == "__main__":
    main()
