"""Files of data sets: paths, downloads and checksums."""

import hashlib
import os
from pathlib import Path

import numpy as np
from sklearn.datasets import fetch_file, get_data_home
from sklearn.utils import Bunch

DAMAGED = "the file is damaged or a different file. Replace or remove it."

FETCH_DOCS = {
    "data_home": """
data_home : str, path-like or None, default=None
    Folder of downloaded files, which are stored in its subfolder ``skgeom/``. None uses
    the folder that :func:`sklearn.datasets.get_data_home` returns.""",
    "download_if_missing": """
download_if_missing : bool, default=True
    Whether to download missing files. If False, a missing file raises an error.""",
    "return_X_y": """
return_X_y : bool, default=False
    Whether to return ``(data, target)`` instead of a Bunch.""",
    "subset": """
subset : {"all", "train", "test"}, default="all"
    The images to return. With ``"all"``, the training images precede the test
    images.""",
    "OSError": """
OSError
    If a file is missing and cannot or may not be downloaded, or if its contents are
    not the expected data. The message names the file and the remedy.""",
}

FETCH_CONSTRAINTS = {
    "data_home": [str, os.PathLike, None],
    "download_if_missing": ["boolean"],
    "return_X_y": ["boolean"],
}


def local_file(name):
    """Path of a file in the folder SKGEOM_DATA, or None if there is no such file."""
    folder = os.environ.get("SKGEOM_DATA")
    path = Path(folder, name) if folder else None
    return path if path and path.is_file() else None


def put_into(contents):
    """Instruction to put ``contents`` into the folder SKGEOM_DATA."""
    folder = os.environ.get("SKGEOM_DATA", "not set")
    return (
        f"Put {contents} into the folder that the environment variable SKGEOM_DATA "
        f"names ({folder})."
    )


def downloaded_file(url, contents, data_home, download_if_missing, sha256=None):
    """Path of a file in ``data_home``, downloaded by scikit-learn if it is missing.

    ``contents`` describes, for messages, the file that the user can put into the folder
    SKGEOM_DATA.

    Raises
    ------
    OSError
        If the file is missing and cannot or may not be downloaded.
    """
    name = url.rsplit("/", 1)[1]
    by_hand = put_into(contents)
    try:
        folder = Path(get_data_home(data_home), "skgeom")
        if not download_if_missing:
            if (folder / name).is_file():
                return folder / name
            raise OSError("it is not on this machine, and download_if_missing is False")
        folder.mkdir(exist_ok=True)
        return fetch_file(url, folder=folder, local_filename=name, sha256=sha256)
    except OSError as error:
        raise OSError(f"No file {name} of {url}: {error}. {by_hand}") from error


def array_digest(*arrays):
    """SHA-256 of the dtypes, shapes and values of arrays.

    The digest does not depend on the file format, the byte order or the memory layout.
    """
    digest = hashlib.sha256()
    for array in arrays:
        array = np.ascontiguousarray(array)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{array.dtype.str[1:]}{array.shape}".encode())
        digest.update(array.data)
    return digest.hexdigest()


def check_arrays(arrays, sha256, path):
    """Raise OSError if the digest of the arrays of a file is not ``sha256``."""
    found = array_digest(*arrays)
    if found != sha256:
        raise OSError(
            f"The arrays of {path} have the SHA-256 digest {found}, not {sha256}: "
            f"{DAMAGED}"
        )


def read_npz(path, names):
    """The named arrays of an npz file, read without pickle. Errors name the file."""
    with open(path, "rb") as file:
        try:
            with np.load(file) as data:
                return [data[name] for name in names]
        except Exception as error:  # damaged files raise many types of errors
            raise OSError(
                f"{path} cannot be read as an npz file with the arrays "
                f"{', '.join(names)} ({error}): {DAMAGED}"
            ) from error


def fetched(return_X_y, data, target, **attributes):
    """``(data, target)``, or a Bunch that also has the attributes."""
    target = target.astype(np.intp)
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, **attributes)
