"""Reproduce tables and figures of the papers, and compare them with the printed values.

    python -m benchmarks.papers --list
    python -m benchmarks.papers plrsq-table-6 hartoyo-table
    python -m benchmarks.papers all --quick
    python -m benchmarks.papers --table

The tables are written to benchmarks/papers/results, from which the documentation
includes them; tables of ``--quick``, with fewer rows, seeds and samples, are only
printed. Finished rows are cached in benchmarks/papers/cache, so that an interrupted run
continues; use ``--fresh`` to compute them again after a change of the packages.
``--only LDA QDA`` computes the rows with these labels and keeps the stored results of
all other rows. ``--seeds 5`` computes five repetitions of rows whose repetitions are
stored separately, in benchmarks/papers/results/repetitions, in addition to the stored
repetitions; ``--seeds 0`` writes the table from the stored repetitions. Data are read
from the folder ``SKGEOM_DATA``, or downloaded if skgeom.datasets names a source.
"""

import argparse
import importlib
import sys
import traceback
import warnings
from pathlib import Path

from benchmarks.papers import MODULES
from benchmarks.papers._runner import HERE, REGISTRY, run
from benchmarks.papers._table import PAGE, page


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
    parser.add_argument("--list", action="store_true", help="list the names")
    parser.add_argument(
        "--table", action="store_true", help="write the page with all captions"
    )
    parser.add_argument(
        "--quick", action="store_true", help="few rows, seeds and samples"
    )
    parser.add_argument(
        "--results", help="folder for tables and pictures, instead of the checkout's"
    )
    parser.add_argument("--cache", default=HERE / "cache", help="folder of cached rows")
    parser.add_argument("--only", nargs="+", help="labels of the rows to compute")
    parser.add_argument("--seeds", type=int, help="limit of the new repetitions")
    parser.add_argument("--fresh", action="store_true", help="ignore the cached rows")
    parser.add_argument(
        "--progress",
        action="store_true",
        default=None,
        help="tell the row at work, as is done on a terminal",
    )
    options = parser.parse_args(arguments)
    for module in MODULES:
        importlib.import_module(f"benchmarks.papers.{module}")
    if options.list:
        for name, item in REGISTRY.items():
            print(f"{name:24s} {item.title} ({item.paper})")
        return 0
    if options.table:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    names = list(REGISTRY) if options.names == ["all"] else options.names
    unknown = sorted(set(names) - set(REGISTRY))
    if unknown or not names:
        what = f"unknown: {', '.join(unknown)}" if unknown else "give names, or all"
        parser.error(f"{what}; --list shows what there is")
    # The papers fix epochs and regularization, so fits may not converge.
    warnings.simplefilter("ignore", UserWarning)
    failed = []
    for name in names:
        try:
            reproduce(REGISTRY[name], options)
        except KeyboardInterrupt:
            print("\ninterrupted; finished rows are kept, the same command goes on")
            return 130
        except Exception:  # of one table; the remaining tables can be computed
            traceback.print_exc()
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return 1 if failed else 0


def reproduce(reproduction, options):
    """Compute a table, and its picture if a folder is asked for."""
    lines = run(
        reproduction,
        quick=options.quick,
        cache=options.cache,
        fresh=options.fresh,
        results=options.results or (None if options.quick else HERE / "results"),
        progress=options.progress,
        only=options.only,
        seeds=options.seeds,
    )
    if options.results and lines and reproduction.plot is not None:
        draw(reproduction, lines, options.results)


if __name__ == "__main__":
    sys.exit(main())
