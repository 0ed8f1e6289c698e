"""Runs the reproductions: cache, tables beside the published figures, CSV files.

A reproduction is a generator of rows, registered by :func:`reproduces`. A row says what
is computed, by which function of which arguments, and what the paper prints for it::

    @reproduces("Doe 2020, table 1", "Accuracy on the digits")
    def doe_table_1(quick):
        for method, published in {"LDA": 0.95, "QDA": None}.items():
            yield Row({"method": method}, accuracy, {"name": method},
                      {"accuracy": published})

``accuracy(name="LDA")`` returns ``{"accuracy": number}``, or a list of numbers, one for
each seed or split.
"""

import csv
import importlib.metadata
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import skgeom

HERE = Path(__file__).parent
COLUMNS = "measure published reproduced difference spread runs seconds".split()
REGISTRY = {}


class Missing(Exception):
    """Data or an optional package is not there; the message says how to get it."""


@dataclass(frozen=True)
class Row:
    labels: dict[str, object]
    function: Callable[..., dict]
    arguments: dict[str, object]
    published: dict[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Reproduction:
    name: str
    paper: str
    title: str
    rows: Callable
    version: int
    median: bool
    plot: Callable | None


def reproduces(paper, title, *, version=1, median=False, plot=None):
    """Register a generator of rows, ``rows(quick)``, under its name with dashes.

    ``version`` is to be raised when results of older code are to be forgotten.
    ``median`` summarises runs by median and interquartile range instead of mean and
    standard deviation. ``plot(figure, lines)`` draws the lines of the table.
    """

    def register(rows):
        name = rows.__name__.replace("_", "-")
        REGISTRY[name] = Reproduction(name, paper, title, rows, version, median, plot)
        return rows

    return register


class Cache:
    """Results in a file of JSON lines, by name, version, function and arguments."""

    def __init__(self, folder, reproduction):
        self.path = Path(folder) / f"{reproduction.name}.jsonl"
        self.version = reproduction.version
        self.known = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                try:
                    entry = json.loads(line)
                except json.JSONDecodeError:  # cut off by an interruption
                    continue
                self.known[entry["key"]] = entry

    def result(self, row):
        """Values by measure, and seconds: from the file, or computed and appended."""
        parts = [self.version, row.function.__name__, row.arguments]
        key = json.dumps(parts, sort_keys=True)
        if key not in self.known:
            start = time.perf_counter()
            values = row.function(**row.arguments)
            values = {
                measure: [float(v) for v in (value if _is_many(value) else [value])]
                for measure, value in values.items()
            }
            seconds = round(time.perf_counter() - start, 2)
            self.known[key] = {"key": key, "values": values, "seconds": seconds}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write("\n" + json.dumps(self.known[key]))
        return self.known[key]


def _is_many(value):
    return getattr(value, "ndim", 1 if isinstance(value, list | tuple) else 0) > 0


def lines_of(row, result, median):
    """One line of the table for each measure."""
    for measure, values in result["values"].items():
        published = row.published.get(measure)
        if median:
            reproduced = statistics.median(values)
            # a single value has no quartiles; twice the same has equal ones
            many = values if len(values) > 1 else 2 * values
            quartiles = statistics.quantiles(many, method="inclusive", n=4)
            spread = quartiles[2] - quartiles[0]
        else:
            reproduced = statistics.fmean(values)
            spread = statistics.pstdev(values)
        difference = "" if published is None else f"{reproduced - published:+.4f}"
        ends = [
            measure,
            "" if published is None else f"{published:g}",
            f"{reproduced:.4g}",
            difference,
            f"{spread:.2g}" if len(values) > 1 else "",
            len(values),
            result["seconds"],
        ]
        yield {**row.labels, **dict(zip(COLUMNS, ends, strict=True))}


def run(
    reproduction, *, quick=False, cache=HERE / "cache", results=None, progress=None
):
    """Compute or look up all rows, print the table, and write it; returns its lines."""
    progress = sys.stderr.isatty() if progress is None else progress
    print(f"\n{reproduction.name}: {reproduction.title} ({reproduction.paper})")
    cache = Cache(cache, reproduction)
    rows, lines, missing, seconds = list(reproduction.rows(quick)), [], set(), 0
    for number, row in enumerate(rows, 1):
        if progress:
            words = " ".join(str(label) for label in row.labels.values())
            print(f"\r\033[K{number}/{len(rows)} {words}", end="", file=sys.stderr)
        try:
            result = cache.result(row)
        except Missing as reason:
            missing.add(str(reason))
            continue
        seconds += result["seconds"]
        lines += lines_of(row, result, reproduction.median)
    if progress:
        print("\r\033[K", end="", file=sys.stderr)
    show(lines)
    for reason in sorted(missing):
        print(f"left out: {reason}")
    if results is not None and lines:
        path = Path(results, f"{reproduction.name}.csv")
        if missing and path.exists():
            print(f"{path.name} is kept, since rows are left out")
        else:
            write(reproduction, lines, path, seconds)
    return lines


def header(lines):
    labels = [name for line in lines for name in line if name not in COLUMNS]
    return [*dict.fromkeys(labels), *COLUMNS]


def show(lines):
    """Print a table with aligned columns."""
    names = header(lines) if lines else []
    cells = [names, *([str(line.get(name, "")) for name in names] for line in lines)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells if lines else []:
        pairs = zip(row, widths, strict=True)
        print("  ".join(cell.ljust(width) for cell, width in pairs).rstrip())


def write(reproduction, lines, path, seconds):
    """The CSV file of a table, and its line in versions.csv."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_csv(path, header(lines), lines)
    path, known = path.with_name("versions.csv"), []
    if path.exists():
        with path.open(newline="") as file:
            known = [r for r in csv.DictReader(file) if r["name"] != reproduction.name]
    record = {
        "name": reproduction.name,
        "minutes": f"{seconds / 60:.1f}",
        "skgeom": skgeom.__version__,
        "python": platform.python_version(),
    }
    for package in ("numpy", "scipy", "scikit-learn", "pyriemann"):
        record[package] = importlib.metadata.version(package)
    write_csv(path, list(record), sorted([*known, record], key=lambda r: r["name"]))


def write_csv(path, names, lines):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


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
