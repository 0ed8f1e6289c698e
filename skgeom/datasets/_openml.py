"""Data of OpenML, by scikit-learn."""

import importlib.util

from sklearn.datasets import fetch_openml

from skgeom.datasets._files import absent, local_folder, make_folder, remedy


def fetch_openml_arrays(name, contents, data_id, path, download_if_missing):
    """Arrays (X, y) of a data set of OpenML. scikit-learn checks the download.

    ``path`` is where the data will be kept. For error messages, ``name`` is the name of
    a file with the same data that can be put into SKGEOM_DATA, and ``contents``
    describes it.
    """
    source = f"https://www.openml.org/d/{data_id}"
    wanted = f"a file {name}, {contents},"
    if not download_if_missing:
        raise absent(name, source, wanted)
    make_folder(path, wanted)
    # The faster parser needs pandas, which is not a dependency of skgeom.
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
    """Reason and remedy for messages that data of OpenML are not those expected."""
    return (
        f"OpenML has changed them. Put a file {name} of the original data into "
        f"{local_folder()}."
    )
