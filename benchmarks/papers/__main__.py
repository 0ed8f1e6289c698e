"""Compute tables and figures of the papers again, and compare with what is printed.

    python -m benchmarks.papers --list
    python -m benchmarks.papers plrsq-table-6 hartoyo-table
    python -m benchmarks.papers all --quick

The tables go to benchmarks/papers/results, from where the documentation takes them;
those of ``--quick``, with fewer seeds and samples, are only printed. Finished rows are
kept in benchmarks/papers/cache, so that an interrupted run goes on where it was.
Data are those of the folder ``SKGEOM_DATA``, or downloaded if skgeom.datasets can.
"""

import argparse
import importlib
import sys
import warnings
from pathlib import Path

from benchmarks.papers import MODULES
from benchmarks.papers._runner import HERE, REGISTRY, run


def draw(reproduction, lines, folder):
    """The picture of a reproduction that has one, if matplotlib is installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no picture: matplotlib is not installed")
        return
    figure = Figure(layout="constrained")
    reproduction.plot(figure, lines)
    figure.savefig(Path(folder, f"{reproduction.name}.png"))


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help="names of --list, or all")
    parser.add_argument("--list", action="store_true", help="what there is")
    parser.add_argument("--quick", action="store_true", help="a minute each at most")
    parser.add_argument("--results", help="folder for tables and pictures")
    parser.add_argument("--cache", default=HERE / "cache", help="folder of known rows")
    parser.add_argument("--progress", action="store_true", default=None)
    options = parser.parse_args(arguments)
    for module in MODULES:
        importlib.import_module(f"benchmarks.papers.{module}")
    if options.list:
        for name, item in REGISTRY.items():
            print(f"{name:24s} {item.title} ({item.paper})")
        return 0
    names = list(REGISTRY) if options.names == ["all"] else options.names
    unknown = sorted(set(names) - set(REGISTRY))
    if unknown or not names:
        what = f"unknown: {', '.join(unknown)}" if unknown else "give names, or all"
        parser.error(f"{what}; --list shows what there is")
    # Epochs and regularisation are those of the papers, converged or not.
    warnings.simplefilter("ignore", UserWarning)
    results = options.results or (None if options.quick else HERE / "results")
    for name in names:
        lines = run(
            REGISTRY[name],
            quick=options.quick,
            cache=options.cache,
            results=results,
            progress=options.progress,
        )
        if options.results and lines and REGISTRY[name].plot is not None:
            draw(REGISTRY[name], lines, options.results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
