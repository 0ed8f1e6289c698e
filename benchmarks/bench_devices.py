"""Time and results of each family of estimators with PyTorch, compared with NumPy.

Run the script on an otherwise idle machine::

    SKGEOM_DATA=folder python benchmarks/bench_devices.py
    SKGEOM_DATA=folder python benchmarks/bench_devices.py --device cuda

``devices_filters.py``, ``devices_kernel.py`` and ``devices_lvq.py`` define the rows;
``--only filters`` selects some of them. Samples are copied to the device before the
measurement. Times are medians of alternating runs after a warm-up, and the ratio is the
time with NumPy divided by the time on the device. MNIST, ETH-80 and BCI data are read
from the folder ``SKGEOM_DATA``; if data are missing, their rows are skipped with a
message. If the package sqfa is installed, one row compares its time in CPU memory and
on the device.
"""

import argparse
import importlib
import os
import platform
import warnings

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import torch
from sklearn.exceptions import ConvergenceWarning

FAMILIES = "filters", "kernel", "lvq"


def describe(device):
    """The machine, in words."""
    threads = f"{torch.get_num_threads()} threads"
    name = f"{platform.processor() or platform.machine()}, {threads}"
    if device != "cpu":
        name += f"; {torch.cuda.get_device_name(device)}"
    return f"torch {torch.__version__}, {name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1, ...")
    parser.add_argument("--only", nargs="+", default=FAMILIES, choices=FAMILIES)
    parser.add_argument("--quick", action="store_true", help="small, to try it out")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(describe(arguments.device))
    columns = (
        f"{'numpy s':>9} {'device s':>9} {'ratio':>7} {'numpy':>11} {'device':>11}"
    )
    print(f"{'':60s} {columns}")
    for family in arguments.only:
        try:
            rows = importlib.import_module(f"devices_{family}").rows
            for name, host, there, *scores in rows(arguments.device, arguments.quick):
                figures = f"{host:9.3f} {there:9.3f} {host / there:7.2f}"
                reached = " ".join(f"{score:11.6g}" for score in scores)
                print(f"{name:60s} {figures} {reached}", flush=True)
        except (ImportError, FileNotFoundError, KeyError) as error:
            print(f"{family}: left out, since {error!r}")


if __name__ == "__main__":
    main()
