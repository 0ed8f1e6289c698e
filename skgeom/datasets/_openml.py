"""Data of OpenML, by scikit-learn."""

import importlib.util

from sklearn.datasets import fetch_openml, get_data_home

from skgeom.datasets._files import absent, remedy


def fetch_openml_arrays(name, contents, data_id, data_home, download_if_missing):
    """Arrays (X, y) of a data set of OpenML, whose downloads scikit-learn checks.

    ``name`` is that of a file in SKGEOM_DATA with the same data, and ``contents`` what
    is in it, for error messages.
    """
    source = f"https://www.openml.org/d/{data_id}"
    wanted = f"a file {name}, {contents},"
    if not download_if_missing:
        raise absent(name, source, wanted)
    # The quicker parser needs pandas, on which skgeom does not depend.
    parser = "pandas" if importlib.util.find_spec("pandas") else "liac-arff"
    try:
        return fetch_openml(
            data_id=data_id,
            data_home=get_data_home(data_home),
            as_frame=False,
            return_X_y=True,
            parser=parser,
        )
    except (OSError, ValueError) as error:
        raise OSError(
            f"The data of {name} could not be fetched from {source}: {error}. "
            f"{remedy(wanted)}"
        ) from error
