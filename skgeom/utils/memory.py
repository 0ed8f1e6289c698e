"""Memory: how much there is, and how many rows are processed at a time."""

import os
from contextlib import suppress
from pathlib import Path

import numpy as np

# Number of rows that are copied to float64 at a time. For the statistics of MNIST,
# blocks of 128 rows take twice the time, and blocks of 32,768 rows need 2.6 times the
# memory (page "Constants").
ROWS_PER_BLOCK = 2048

# Files with the memory limit of a container: control groups of versions 2 and 1.
_LIMITS_OF_CONTAINERS = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)


def require_memory(n_bytes, contents, remedy):
    """Raise MemoryError if ``n_bytes`` exceeds the available memory."""
    available = memory()
    if n_bytes > available:
        raise MemoryError(
            f"{contents} need {n_bytes / 1e9:.3g} GB, but there are "
            f"{available / 1e9:.3g} GB of free memory. {remedy}"
        )


def memory():
    """Upper bound of the bytes of memory available to this process; may be infinite.

    Each call reads the system's files, which takes about 0.1 ms.
    """
    sizes = [np.inf]
    with suppress(AttributeError, OSError, ValueError):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in _LIMITS_OF_CONTAINERS:
        with suppress(OSError, ValueError):  # the file may contain "max"
            sizes.append(int(Path(path).read_text()))
    with suppress(OSError, IndexError):  # Linux: includes memory of caches
        text = Path("/proc/meminfo").read_text()
        sizes.append(1024 * int(text.split("MemAvailable:")[1].split()[0]))
    return min(sizes)
