"""Fetchers of tables of medical data with two classes."""

import io

import numpy as np

from skgeom.datasets._files import (
    DAMAGED,
    FETCH_CONSTRAINTS,
    FETCH_DOCS,
    check_arrays,
    downloaded_file,
    fetched,
    local_file,
)
from skgeom.utils._sklearn import validated_parameters
from skgeom.utils.docs import substitute_docs

_DOCS = {
    **FETCH_DOCS,
    "bunch": """
table : Bunch
    The attributes are

    - ``data``, ndarray of shape (n_samples, n_features), float64: the features;
    - ``target``, ndarray of shape (n_samples,), int: the classes, 0 and 1;
    - ``feature_names``, list of str: the names of the features;
    - ``target_names``, list of str: the names of the classes;
    - ``DESCR``, a description.""",
    "tuple": """
(data, target) : tuple
    If ``return_X_y=True``.""",
}

_HEART_URL = (
    "https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/"
    "processed.cleveland.data"
)
_HEART_FILE = "a74b7efa387bc9d108d7d0115d831fe9b414b29ae7124f331b622b4efa0427c8"
_HEART_ARRAYS = "d92c375c6a41cd79e54d8f34597c8c4f8553548e5d396265661ed8a4ef2a6577"

_PIMA_URL = "https://www.openml.org/data/v1/download/37/diabetes.arff"
_PIMA_ARRAYS = "6183861257383297e300e4695745c9b4e668ce3677bebf1faa21082a5f7cf2a4"


@substitute_docs(**_DOCS)
@validated_parameters(**FETCH_CONSTRAINTS)
def fetch_heart(*, data_home=None, download_if_missing=True, return_X_y=False):
    """Fetch the Cleveland heart disease data of 303 patients.

    The table has 13 features. Some features are categories encoded as numbers. Six
    missing values, four of ``ca`` and two of ``thal``, are NaN. Class 0 is
    ``"absent"``, and class 1 is ``"present"``. Class 1 combines the diagnoses 1 to 4 of
    the source.

    The function reads one of two files in the folder of the environment variable
    SKGEOM_DATA: ``heart_cleveland.csv``, a table with a header and 15 columns
    (``feature_names``, the diagnosis ``num`` from 0 to 4, and ``target``), or
    ``processed.cleveland.data``, the file of the UCI machine learning repository. If
    both files are missing, ``processed.cleveland.data`` is downloaded once.

    Parameters
    ----------
    {data_home}
    {download_if_missing}
    {return_X_y}

    Returns
    -------
    {bunch}
    {tuple}

    Raises
    ------
    {OSError}

    References
    ----------
    .. [1] R. Detrano et al., "International application of a new probability algorithm
       for the diagnosis of coronary artery disease", American Journal of Cardiology 64,
       1989.

    Examples
    --------
    >>> from skgeom.datasets import fetch_heart
    >>> X, y = fetch_heart(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (303, 13)
    """
    contents = "the file, or a table heart_cleveland.csv as in the docstring,"
    path = (
        local_file("heart_cleveland.csv")
        or local_file("processed.cleveland.data")
        or downloaded_file(
            _HEART_URL, contents, data_home, download_if_missing, _HEART_FILE
        )
    )
    values = _read_table(path)[:, :14]
    # NaN has several bit patterns, which would change the digest.
    check_arrays([np.where(np.isnan(values), -1, values)], _HEART_ARRAYS, path)
    return fetched(
        return_X_y,
        values[:, :13],
        values[:, 13] > 0,
        feature_names=(
            "age sex cp trestbps chol fbs restecg thalach exang oldpeak slope ca thal"
        ).split(),
        target_names=["absent", "present"],
        DESCR="Heart disease, Cleveland: 303 patients, 13 attributes, two classes.",
    )


@substitute_docs(**_DOCS)
@validated_parameters(**FETCH_CONSTRAINTS)
def fetch_pima(*, data_home=None, download_if_missing=True, return_X_y=False):
    """Fetch the Pima Indians diabetes data of 768 women.

    The table has 8 features. Zeros in ``glucose``, ``blood_pressure``,
    ``skin_thickness``, ``insulin`` and ``bmi`` are missing values. Class 0 is
    ``"negative"``, and class 1 is ``"positive"`` (diabetes within five years).

    The function reads the file ``pima_diabetes.csv`` in the folder of the environment
    variable SKGEOM_DATA, a table with a header and the columns ``feature_names`` and
    ``target``. If the file is missing, data set 37 of OpenML is downloaded once.

    Parameters
    ----------
    {data_home}
    {download_if_missing}
    {return_X_y}

    Returns
    -------
    {bunch}
    {tuple}

    Raises
    ------
    {OSError}

    References
    ----------
    .. [1] J. W. Smith et al., "Using the ADAP learning algorithm to forecast the onset
       of diabetes mellitus", Proceedings of the Annual Symposium on Computer
       Applications in Medical Care, 1988.

    Examples
    --------
    >>> from skgeom.datasets import fetch_pima
    >>> X, y = fetch_pima(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (768, 8)
    """
    contents = "a table pima_diabetes.csv, as described in the docstring,"
    path = local_file("pima_diabetes.csv") or downloaded_file(
        _PIMA_URL, contents, data_home, download_if_missing
    )
    values = _read_table(path)
    check_arrays([values], _PIMA_ARRAYS, path)
    return fetched(
        return_X_y,
        values[:, :8],
        values[:, 8],
        feature_names=(
            "pregnancies glucose blood_pressure skin_thickness insulin bmi pedigree age"
        ).split(),
        target_names=["negative", "positive"],
        DESCR="Pima Indians diabetes: 768 women, 8 attributes, two classes.",
    )


def _read_table(path):
    """Numbers of a table in CSV or ARFF format without its header; "?" is NaN."""
    try:
        text = path.read_text(encoding="utf-8")
        text = text.replace("tested_negative", "0").replace("tested_positive", "1")
        rows = [line for line in text.splitlines() if line[:1].isdigit()]
        if not rows:
            raise ValueError("it has no rows of numbers")
        return np.genfromtxt(io.StringIO("\n".join(rows)), delimiter=",", ndmin=2)
    except ValueError as error:
        raise OSError(
            f"{path} cannot be read as a table ({error}): {DAMAGED}"
        ) from error
