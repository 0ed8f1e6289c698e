"""Parameters that several fetchers have: their documentation and constraints."""

import os

FETCH_DOCS = {
    "data_home": """
data_home : str, path-like or None, default=None
    Folder in which fetched files are kept, in its subfolder ``skgeom/``. None for
    :func:`sklearn.datasets.get_data_home`.""",
    "download_if_missing": """
download_if_missing : bool, default=True
    Whether to download what is not on this machine. If False, missing data are an
    error.""",
    "return_X_y": """
return_X_y : bool, default=False
    Whether to return ``(data, target)`` instead of a Bunch.""",
    "subset": """
subset : {"all", "train", "test"}, default="all"
    Which of the images, in their usual order: training images come first.""",
    "as_frame": """
as_frame : bool, default=False
    Whether ``data`` and ``target`` are a DataFrame and a Series of pandas, which must
    be installed.""",
    "OSError": """
OSError
    If the data are not on this machine and cannot or may not be downloaded, or if a
    file does not have the content that it should have. The message names the file, its
    source and what to do.""",
    "ImportError": """
ImportError
    If a file must be downloaded and the package pooch is not installed.""",
}

FETCH_CONSTRAINTS = {
    "data_home": [str, os.PathLike, None],
    "download_if_missing": ["boolean"],
    "return_X_y": ["boolean"],
}
