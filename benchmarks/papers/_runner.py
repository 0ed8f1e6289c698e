"""Run the reproductions: cache, tables with the published values, CSV files.

A reproduction is a generator of rows. A row is a function with arguments and the values
that the paper prints::

    @reproduces("Doe 2020, table 1", "Accuracy on the digits")
    def doe_table_1(quick):
        for method, published in {"LDA": 0.95, "QDA": None}.items():
            yield Row({"method": method}, accuracy, {"name": method},
                      {"accuracy": published})

``accuracy(name="LDA")`` returns ``{"accuracy": number}``, or a list of numbers, one for
each seed or split. The function of a row with ``seeds=20`` has the argument ``seed``
and returns numbers of one repetition. Each repetition is stored as it finishes, in the
folder ``repetitions`` of the results, so that a later run continues.
"""

import csv
import importlib.metadata
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import skgeom

HERE = Path(__file__).parent
COLUMNS = "measure published reproduced difference spread runs seconds".split()
# Packages that some methods require.
OPTIONAL = ("umap-learn", "torch")
REGISTRY = {}


class Missing(Exception):
    """Data or an optional package is missing; the message explains how to get it."""


@dataclass(frozen=True)
class Row:
    labels: dict[str, object]
    function: Callable[..., dict]
    arguments: dict[str, object]
    published: dict[str, float | None] = field(default_factory=dict)
    seeds: int = 0


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

    Increase ``version`` to ignore cached results of older code.
    ``median`` summarizes runs by median and interquartile range instead of mean and
    standard deviation. ``plot(figure, lines)`` draws the lines of the table.
    """

    def register(rows):
        name = rows.__name__.replace("_", "-")
        REGISTRY[name] = Reproduction(name, paper, title, rows, version, median, plot)
        return rows

    return register


class Cache:
    """Results in a file of JSON lines, by name, version, function and arguments."""

    def __init__(self, folder, reproduction, fresh=False, repetitions=None):
        self.paths = [
            Path(place) / f"{reproduction.name}.jsonl"
            for place in (folder, repetitions or folder)
        ]
        self.version = reproduction.version
        self.known = {}
        for path in self.paths if not fresh else []:
            for line in path.read_text().splitlines() if path.exists() else []:
                try:
                    entry = json.loads(line)
                except json.JSONDecodeError:  # from an interrupted run
                    continue
                self.known[entry["key"]] = entry

    def key(self, row, **seed):
        parts = [self.version, row.function.__name__, row.arguments | seed]
        return json.dumps(parts, sort_keys=True)

    def result(self, row, limit=None):
        """Values by measure, and seconds: from a file, or computed and appended.

        Of a row with seeds, all repetitions that are stored, and at least ``limit``.
        """
        if not row.seeds:
            return self.entry(row, self.paths[0])
        wanted = row.seeds if limit is None else limit
        entries = [
            self.entry(row, self.paths[1], seed=seed)
            for seed in range(row.seeds)
            if seed < wanted or self.key(row, seed=seed) in self.known
        ]
        if not entries:
            raise Missing(f"{words(row)}: no repetition is stored")
        values = {
            measure: [value for entry in entries for value in entry["values"][measure]]
            for measure in entries[0]["values"]
        }
        seconds = round(sum(entry["seconds"] for entry in entries), 2)
        return {"values": values, "seconds": seconds}

    def entry(self, row, path, **seed):
        key = self.key(row, **seed)
        if key not in self.known:
            start = time.perf_counter()
            values = row.function(**row.arguments, **seed)
            values = {
                k: np.atleast_1d(v).astype(float).tolist() for k, v in values.items()
            }
            seconds = round(time.perf_counter() - start, 2)
            self.known[key] = {"key": key, "values": values, "seconds": seconds}
            self.known[key] |= {"commit": commit()} if seed else {}
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                file.write("\n" + json.dumps(self.known[key]))
        return self.known[key]


def lines_of(row, result, median):
    """One line of the table for each measure."""
    for measure, values in result["values"].items():
        if median:
            low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
            spread = high - low
        else:
            middle, spread = np.mean(values), np.std(values)
        printed = row.published.get(measure)
        ends = [
            measure,
            "" if printed is None else f"{printed:g}",
            f"{middle:.4g}",
            "" if printed is None else f"{middle - printed:+.4f}",
            f"{spread:.2g}" if len(values) > 1 else "",
            len(values),
            result["seconds"],
        ]
        yield {**row.labels, **dict(zip(COLUMNS, ends, strict=True))}


def run(
    reproduction,
    *,
    quick=False,
    cache=HERE / "cache",
    fresh=False,
    results=None,
    progress=None,
    only=None,
    seeds=None,
):
    """Compute or look up rows, print and write the table, and return its lines.

    ``only`` contains labels of the rows to compute. Rows that are not computed, for
    this reason or because something is missing, remain in the file unchanged. ``seeds``
    limits the repetitions that are computed.
    """
    progress = sys.stderr.isatty() if progress is None else progress
    print(f"\n{reproduction.name}: {reproduction.title} ({reproduction.paper})")
    repetitions = None if results is None else Path(results, "repetitions")
    cache = Cache(cache, reproduction, fresh, repetitions)
    every = list(reproduction.rows(quick))
    wanted = set(only or ())
    rows = [row for row in every if not wanted or wanted & {*labels(row).values()}]
    computed, missing = {}, set()
    for number, row in enumerate(rows, 1):
        if progress:
            line = f"\r\033[K{number}/{len(rows)} {words(row)}"
            print(line, end="", file=sys.stderr)
        try:
            result = cache.result(row, seeds)
        except Missing as reason:
            missing.add(str(reason))
            continue
        computed[words(row)] = list(lines_of(row, result, reproduction.median))
    if progress:
        print("\r\033[K", end="", file=sys.stderr)
    lines = [line for row in computed.values() for line in row]
    show(lines)
    if quick:
        number = len(list(reproduction.rows(False)))
        others = "; the others come without --quick" if number > len(rows) else ""
        print(f"{len(rows)} of {number} rows{others}")
    for reason in sorted(missing):
        print(f"left out: {reason}")
    if results is not None and lines:
        write(reproduction, every, computed, Path(results))
    return lines


def labels(row):
    return {name: str(label) for name, label in row.labels.items()}


def words(row):
    return " ".join(labels(row).values())


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


def write(reproduction, rows, computed, folder):
    """The CSV file of a table, and its line in versions.csv.

    ``computed`` contains the lines of some rows, by their labels.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stored, by_row = read_csv(folder / f"{reproduction.name}.csv"), {}
    for row in rows:
        old = [line for line in stored if labels(row).items() <= line.items()]
        by_row[words(row)] = computed.get(words(row), old)
    lines = [line for row in by_row.values() for line in row]
    write_csv(folder / f"{reproduction.name}.csv", header(lines), lines)
    known = read_csv(folder / "versions.csv")
    known = [line for line in known if line["name"] != reproduction.name]
    seconds = sum(float(row[0]["seconds"]) for row in by_row.values() if row)
    record = {
        "name": reproduction.name,
        "minutes": f"{seconds / 60:.1f}",
        "rows": f"{len(computed)} of {len(rows)}",
        "commit": commit(),
        "skgeom": skgeom.__version__,
        "python": platform.python_version(),
    }
    for package in ("numpy", "scipy", "scikit-learn", "pyriemann", *OPTIONAL):
        try:
            record[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            record[package] = ""
    known = sorted([*known, record], key=lambda r: r["name"])
    write_csv(folder / "versions.csv", list(record), known)


def commit():
    """The commit of the checkout, for versions.csv."""
    command = ["git", "-C", str(HERE), "rev-parse", "--short=10", "HEAD"]
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):  # not a checkout of git
        return ""


def read_csv(path):
    """Lines of a CSV file, none if it does not exist."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_csv(path, names, lines):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
