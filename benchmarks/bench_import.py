"""Time of ``import skgeom``, beside the parts of scikit-learn that it is close to.

    python -m benchmarks.bench_import [--repeats 15]

Each import is a process of its own; the two alternate.
"""

import argparse
import statistics
import subprocess
import sys
import time

IMPORTS = ("sklearn.discriminant_analysis, sklearn.decomposition", "skgeom")


def seconds(names):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {names}"], check=True)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    rounds = [[seconds(names) for names in IMPORTS] for _ in range(repeats + 1)]
    plain, ours = zip(*rounds[1:], strict=True)  # the first one fills caches
    for names, times in zip(IMPORTS, (plain, ours), strict=True):
        print(f"import {names:<55} {statistics.median(times):.3f} s")
    ratios = [own / other for own, other in zip(ours, plain, strict=True)]
    print(f"ratio, median of {repeats}: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
