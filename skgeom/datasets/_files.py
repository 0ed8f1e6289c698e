"""Files of data sets: where they are looked for, downloads, and their digests."""

import hashlib
import os
import time
import uuid
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np

from skgeom.utils._warnings import warn_user

DAMAGED = "the file is damaged or another one. Replace or remove it."

_TIMEOUT = 30  # seconds without an answer
_N_TRIES = 4
_DELAY = 1  # seconds between tries
_CHUNK = 2**20


class RemoteFile(NamedTuple):
    """A file that can be downloaded, and the SHA-256 digest that it must have.

    ``alternative`` is what else may be put into SKGEOM_DATA, for messages.
    """

    name: str
    url: str
    sha256: str
    alternative: str = ""

    @property
    def wanted(self):
        return f"the file {self.name}, as it is there,{self.alternative}"


def local_path(name):
    """The file of this name in the folder SKGEOM_DATA, or None."""
    folder = os.environ.get("SKGEOM_DATA")
    path = Path(folder) / name if folder else None
    return path if path and path.is_file() else None


def cache_path(name, data_home):
    """Where a file of this name is kept once it has been fetched; makes no folder."""
    if data_home is None:  # as sklearn.datasets.get_data_home, which makes the folder
        data_home = os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")
    return Path(data_home).expanduser() / "skgeom" / name


def make_folder(path, wanted):
    """Make the folder of a file; ``wanted`` is as for :func:`remedy`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"The folder {path.parent}, where {path.name} would be kept, cannot be made"
            f" ({error}). Give data_home a folder that can be written to, or put "
            f"{wanted} into {local_folder()}."
        ) from error


def local_folder():
    """What SKGEOM_DATA stands for now, for messages."""
    folder = os.environ.get("SKGEOM_DATA")
    state = "not set" if not folder else folder
    if folder and not Path(folder).is_dir():
        state += ", which does not exist"
    return f"the folder that the environment variable SKGEOM_DATA names ({state})"


def remedy(wanted, download_if_missing=True):
    """What to do; ``wanted`` says what helps in SKGEOM_DATA, None if nothing does."""
    ways = [] if wanted is None else [f"put {wanted} into {local_folder()}"]
    ways.append(
        "try again with a connection to the internet"
        if download_if_missing
        else "call with download_if_missing=True"
    )
    text = ", or ".join(ways)
    return f"{text[0].upper()}{text[1:]}."


def absent(name, source, wanted):
    """The error for data that are neither at hand nor may be downloaded."""
    return OSError(
        f"{name} is not on this machine, and download_if_missing is False. Its source "
        f"is {source}. {remedy(wanted, download_if_missing=False)}"
    )


def file_digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def array_digest(*arrays):
    """SHA-256 of arrays: of their dtypes, shapes and values, not of a file format."""
    digest = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{array.dtype.str[1:]}{array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()


def check_arrays(arrays, sha256, origin, reason=DAMAGED):
    """Raise an error if arrays are not those expected, which says where they are from.

    ``reason`` is why that may be, and what to do.
    """
    found = array_digest(*arrays)
    if found != sha256:
        raise OSError(
            f"The contents of {origin} have the SHA-256 digest {found}, not {sha256}: "
            f"{reason}"
        )


def read_npz(path, names):
    """Arrays of some names in an npz file, with errors that name the file."""
    with open(path, "rb") as file:
        try:
            with np.load(file) as data:
                return [data[name] for name in names]
        except Exception as error:  # damaged files raise errors of a dozen kinds
            raise OSError(
                f"{path} cannot be read as an npz file with the arrays "
                f"{', '.join(names)} ({error}): {DAMAGED}"
            ) from error


def write_npz(path, **arrays):
    """Save arrays so that no other process ever sees a part of the file."""
    temporary = _temporary(path)
    try:
        with open(temporary, "wb") as file:
            np.savez_compressed(file, **arrays)
        os.replace(temporary, path)
    except OSError as error:  # the arrays are at hand all the same
        warn_user(
            f"{path} could not be written ({error}), so that the data will be "
            "downloaded again the next time.",
            UserWarning,
        )
    finally:
        temporary.unlink(missing_ok=True)


def _temporary(path):
    """A name beside ``path`` that no other thread or process writes to."""
    return path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")


def fetch_file(remote, data_home, download_if_missing):
    """Path of a file: from SKGEOM_DATA, from earlier, or by a download.

    Raises an OSError if there is none, or if a file in SKGEOM_DATA has another digest.
    """
    path = local_path(remote.name)
    if path is not None:
        found = file_digest(path)
        if found != remote.sha256:
            raise OSError(
                f"{path} has the SHA-256 digest {found}, not {remote.sha256}: {DAMAGED}"
            )
        return path
    path = cache_path(remote.name, data_home)
    if os.path.isfile(path):
        if file_digest(path) == remote.sha256:
            return path
        if download_if_missing:
            warn_user(f"{path} is damaged, and downloaded again.", UserWarning)
        else:
            raise OSError(
                f"{path} is damaged, and download_if_missing is False. Call with "
                f"download_if_missing=True, to download it again from {remote.url}."
            )
    elif not download_if_missing:
        raise absent(remote.name, remote.url, remote.wanted)
    make_folder(path, remote.wanted)
    download(remote, path)
    return path


def download(remote, path):
    """Download a file, going on from where an earlier try was interrupted.

    What has arrived is kept beside ``path`` with the suffix ".part", and becomes the
    file itself when it is complete and has the right digest. During the download it has
    a name of its own, so that others who fetch the same file do no harm.
    """
    kept, part = path.with_name(path.name + ".part"), _temporary(path)
    with suppress(FileNotFoundError):
        os.replace(kept, part)
    try:
        failure = _complete(remote, part)
        if failure is None:
            os.replace(part, path)
            return
    finally:
        with suppress(FileNotFoundError):
            os.replace(part, kept)
    raise OSError(
        f"{remote.name} could not be downloaded from {remote.url} to {path.parent}: "
        f"{failure}. {remedy(remote.wanted)}"
    ) from (failure if isinstance(failure, Exception) else None)


def _complete(remote, part):
    """Download what is missing of a file; returns None, or why that failed."""
    failure = None
    for k in range(_N_TRIES):
        if k:
            time.sleep(_DELAY)
        try:
            resumed = _append_rest(remote.url, part)
        except (OSError, HTTPException) as error:  # OSError: URLError and time-outs too
            failure = error
            continue
        found = file_digest(part)
        if found == remote.sha256:
            return None
        part.unlink()
        failure = f"it has the SHA-256 digest {found}, not {remote.sha256}"
        if not resumed:
            break  # the server has another file: the next try would give the same
    return failure


def _append_rest(url, part):
    """Append what is missing of a file; returns whether it had a beginning already."""
    size = part.stat().st_size if part.is_file() else 0
    headers = {"User-Agent": "skgeom"}
    if size:
        headers["Range"] = f"bytes={size}-"
    try:
        response = urlopen(Request(url, headers=headers), timeout=_TIMEOUT)
    except HTTPError as error:
        if error.code == 416 and size:
            return True  # nothing is missing; the digest will tell
        raise
    with response:
        resumed = bool(size) and response.status == 206
        expected = response.headers.get("Content-Length")
        received = 0
        with open(part, "ab" if resumed else "wb") as file:
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                received += len(chunk)
    if expected is not None and received < int(expected):
        raise OSError(f"the connection ended after {received} of {expected} bytes")
    return resumed
