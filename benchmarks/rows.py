"""Finished rows of a long benchmark, in a file of JSON lines: [key, row]."""

import json
from pathlib import Path


def read_rows(file):
    """The rows in a file, by their keys; none if there is no file."""
    if not Path(file).exists():
        return {}
    with open(file) as lines:
        return {tuple(key): row for key, row in map(json.loads, lines)}


def add_row(file, key, row):
    with open(file, "a") as out:
        out.write(json.dumps([key, row]) + "\n")
