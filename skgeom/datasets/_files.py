"""Files of data sets: where they are, their downloads and their digests."""

import hashlib
import os
import uuid
from pathlib import Path
from typing import NamedTuple

import numpy as np

from skgeom.utils.validation import warn_user

DAMAGED = "the file is damaged or another one. Replace or remove it."

_TIMEOUT = 30  # seconds without an answer
_N_RETRIES = 3
_CHUNK = 2**20  # bytes written at a time
_MOST_BYTES = 2**32  # of the arrays of a file; those of MNIST take 2**26


class RemoteFile(NamedTuple):
    """A file that can be downloaded, and the SHA-256 digest that it must have.

    Messages say that the file can be put into SKGEOM_DATA, or ``alternative``.
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
    """Path of a fetched file of this name. The folder need not exist."""
    if data_home is None:  # sklearn.datasets.get_data_home would make the folder
        data_home = os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")
    return Path(data_home).expanduser() / "skgeom" / name


def make_folder(path, wanted):
    """Make the folder of a file. The error names ``wanted`` as :func:`remedy` does."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"The folder {path.parent}, where {path.name} would be kept, cannot be made"
            f" ({error}). Give data_home a folder that can be written to, or put "
            f"{wanted} into {local_folder()}."
        ) from error


def local_folder():
    """Description of the folder SKGEOM_DATA, for messages."""
    folder = os.environ.get("SKGEOM_DATA")
    state = "not set" if not folder else folder
    if folder and not Path(folder).is_dir():
        state += ", which does not exist"
    return f"the folder that the environment variable SKGEOM_DATA names ({state})"


def remedy(wanted, download_if_missing=True):
    """What the user can do, for messages.

    ``wanted`` describes the file to put into SKGEOM_DATA; None if no file would help.
    """
    ways = [] if wanted is None else [f"put {wanted} into {local_folder()}"]
    ways.append(
        "try again with a connection to the internet"
        if download_if_missing
        else "call with download_if_missing=True"
    )
    text = ", or ".join(ways)
    return f"{text[0].upper()}{text[1:]}."


def absent(name, source, wanted):
    """The error for data that are not on this machine and may not be downloaded."""
    return OSError(
        f"{name} is not on this machine, and download_if_missing is False. Its source "
        f"is {source}. {remedy(wanted, download_if_missing=False)}"
    )


def file_digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def array_digest(*arrays):
    """SHA-256 of the dtypes, shapes and values of arrays.

    It does not depend on the file format, nor on the byte order or memory layout.
    """
    digest = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{array.dtype.str[1:]}{array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()


def check_arrays(arrays, sha256, origin, reason=DAMAGED):
    """Raise OSError if the digest of arrays is not ``sha256``.

    The message says that they come from ``origin``, and gives ``reason``: why they may
    differ, and what to do.
    """
    found = array_digest(*arrays)
    if found != sha256:
        raise OSError(
            f"The contents of {origin} have the SHA-256 digest {found}, not {sha256}: "
            f"{reason}"
        )


def read_npz(path, names):
    """The named arrays of an npz file. Errors name the file."""
    with open(path, "rb") as file:
        try:
            with np.load(file) as data:
                size = sum(member.file_size for member in data.zip.infolist())
                if size > _MOST_BYTES:  # a small file can hold as many zeros
                    raise ValueError(f"its arrays take {size} bytes")
                return [data[name] for name in names]
        except Exception as error:  # damaged files raise errors of a dozen kinds
            raise OSError(
                f"{path} cannot be read as an npz file with the arrays "
                f"{', '.join(names)} ({error}): {DAMAGED}"
            ) from error


def write_npz(path, **arrays):
    """Save arrays in a file that no other process can see unfinished."""
    # A name of its own: other threads and processes may write the same file.
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        with open(temporary, "wb") as file:
            np.savez_compressed(file, **arrays)
        os.replace(temporary, path)
    except OSError as error:  # the caller has the arrays, and can go on
        warn_user(
            f"{path} could not be written ({error}), so that the data will be "
            "downloaded again the next time.",
            UserWarning,
        )
    finally:
        temporary.unlink(missing_ok=True)


def fetch_file(remote, data_home, download_if_missing):
    """Path of a file: in SKGEOM_DATA, kept from an earlier call, or downloaded.

    A file in SKGEOM_DATA belongs to the user: if its digest is wrong, this is an error.
    Kept files are downloaded again in that case.

    Raises
    ------
    OSError
        If the file is missing, or damaged, and cannot or may not be downloaded.
    ImportError
        If it must be downloaded and pooch is not installed.
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
    _download(remote, path)
    return path


def _download(remote, path):
    """Download a file by pooch, which moves it to its place if its digest is right."""
    try:
        import pooch
    except ImportError as error:
        raise ImportError(
            f"The download of {remote.name} needs the package pooch: pip install pooch."
            f" Without it, put {remote.wanted} into {local_folder()}."
        ) from error
    make_folder(path, remote.wanted)
    files = pooch.create(
        path.parent,
        base_url="",
        registry={remote.name: f"sha256:{remote.sha256}"},
        urls={remote.name: remote.url},
        retry_if_failed=_N_RETRIES,
    )
    connection = pooch.HTTPDownloader(
        timeout=_TIMEOUT,
        chunk_size=_CHUNK,
        headers={"User-Agent": "skgeom"},
        stream=False,  # pooch does not close the streams of downloads that fail
    )
    try:
        files.fetch(remote.name, downloader=connection)
    except (OSError, ValueError) as error:  # ValueError: another digest
        reason = str(error).rstrip(".")
        raise OSError(
            f"{remote.name} could not be downloaded from {remote.url} to {path.parent}:"
            f" {reason}. {remedy(remote.wanted)}"
        ) from error
