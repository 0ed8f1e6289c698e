"""Data of OpenML, by scikit-learn."""

import importlib.util

from sklearn.datasets import fetch_openml

from skgeom.datasets._files import absent, local_folder, make_folder, remedy


def fetch_openml_arrays(name, contents, data_id, path, download_if_missing):
    """Arrays (X, y) of a data set of OpenML, whose downloads scikit-learn checks.

    ``name`` is that of a file in SKGEOM_DATA with the same data, and ``contents`` what
    is in it, for error messages; ``path`` is where the data will be kept.
    """
    source = f"https://www.openml.org/d/{data_id}"
    wanted = f"a file {name}, {contents},"
    if not download_if_missing:
        raise absent(name, source, wanted)
    make_folder(path, wanted)
    # The quicker parser needs pandas, on which skgeom does not depend.
    parser = "pandas" if importlib.util.find_spec("pandas") else "liac-arff"
    try:
        return fetch_openml(
            data_id=data_id,
            data_home=str(path.parents[1]),
            as_frame=False,
            return_X_y=True,
            parser=parser,
        )
    except (OSError, ValueError) as error:
        raise OSError(
            f"The data of {name} could not be fetched from {source}: {error}. "
            f"{remedy(wanted)}"
        ) from error


def changed(name):
    """Why OpenML may have other data than expected, and what to do."""
    return (
        f"OpenML has changed them. Put a file {name} of the original data into "
        f"{local_folder()}."
    )
