"""Tables of medical data with two classes."""

import os

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.utils import Bunch
from sklearn.utils._optional_dependencies import check_pandas_support
from sklearn.utils._param_validation import validate_params

from skgeom.datasets._files import (
    DAMAGED,
    RemoteFile,
    cache_path,
    check_arrays,
    fetch_file,
    local_path,
    read_npz,
    write_npz,
)
from skgeom.datasets._openml import changed, fetch_openml_arrays
from skgeom.datasets._parameters import FETCH_CONSTRAINTS, FETCH_DOCS
from skgeom.utils.estimator import substitute_docs

_DOCS = {
    **FETCH_DOCS,
    "bunch": """
table : Bunch
    With the attributes

    - ``data``, ndarray of shape (n_samples, n_features), float64, or DataFrame;
    - ``target``, ndarray of shape (n_samples,), int, or Series: the classes, 0 and 1;
    - ``feature_names`` and ``target_names``, lists of str;
    - ``frame``, a DataFrame of data and target if ``as_frame``, otherwise None;
    - ``DESCR``, a description.""",
    "tuple": """
(data, target) : tuple
    If ``return_X_y``.""",
}
_CONSTRAINTS = {**FETCH_CONSTRAINTS, "as_frame": ["boolean"]}

_HEART = RemoteFile(
    "processed.cleveland.data",
    "https://archive.ics.uci.edu/ml/machine-learning-databases/heart-disease/"
    "processed.cleveland.data",
    "a74b7efa387bc9d108d7d0115d831fe9b414b29ae7124f331b622b4efa0427c8",
    " or a table heart_cleveland.csv, as the docstring of fetch_heart describes it,",
)
_HEART_SHA256 = "d92c375c6a41cd79e54d8f34597c8c4f8553548e5d396265661ed8a4ef2a6577"
_HEART_FEATURES = (
    "age sex cp trestbps chol fbs restecg thalach exang oldpeak slope ca thal"
).split()

_PIMA_SHA256 = "6183861257383297e300e4695745c9b4e668ce3677bebf1faa21082a5f7cf2a4"
_PIMA_FEATURES = (
    "pregnancies glucose blood_pressure skin_thickness insulin bmi pedigree age"
).split()


@substitute_docs(**_DOCS)
@validate_params(
    {"return_X_y": ["boolean"], "as_frame": ["boolean"]},
    prefer_skip_nested_validation=True,
)
def fetch_wbcd(*, return_X_y=False, as_frame=False):
    """Fetch the Wisconsin breast cancer data (diagnostic), 569 tumours.

    The same as :func:`sklearn.datasets.load_breast_cancer`, without a download: 30
    features of cell nuclei, without missing values. The classes are ``"malignant"``, 0,
    and ``"benign"``, 1.

    Parameters
    ----------
    {return_X_y}
    {as_frame}

    Returns
    -------
    {bunch}
    {tuple}

    Examples
    --------
    >>> from skgeom.datasets import fetch_wbcd
    >>> X, y = fetch_wbcd(return_X_y=True)
    >>> X.shape
    (569, 30)
    """
    table = load_breast_cancer()
    return _table(
        table.data,
        table.target,
        table.feature_names.tolist(),
        table.target_names.tolist(),
        table.DESCR,
        return_X_y,
        as_frame,
    )


@substitute_docs(**_DOCS)
@validate_params(_CONSTRAINTS, prefer_skip_nested_validation=True)
def fetch_heart(
    *, data_home=None, download_if_missing=True, return_X_y=False, as_frame=False
):
    """Fetch the heart disease data of Cleveland, 303 patients.

    There are 13 attributes, some of which are codes. Six values are missing and given
    as NaN: four of ``ca`` and two of ``thal``. The classes are ``"absent"``, 0, and
    ``"present"``, 1, which is a diagnosis from 1 to 4 in the source.

    The data are read from one of two files in the folder SKGEOM_DATA:
    ``heart_cleveland.csv``, a table with a header and 15 columns (``feature_names``,
    the diagnosis ``num`` from 0 to 4, and ``target``), or
    ``processed.cleveland.data``, the file of the UCI machine learning repository.
    Without these, the latter is downloaded once, by the package pooch.

    Parameters
    ----------
    {data_home}
    {download_if_missing}
    {return_X_y}
    {as_frame}

    Returns
    -------
    {bunch}
    {tuple}

    Raises
    ------
    {OSError}
    {ImportError}

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
    path = local_path("heart_cleveland.csv")
    if path is not None:
        values = _read_csv(path, header=True, n_columns=15)[:, :14]
    else:
        path = fetch_file(_HEART, data_home, download_if_missing)
        values = _read_csv(path, header=False, n_columns=14)
    # NaN has more than one bit pattern, and would make the digest ambiguous.
    check_arrays([np.where(np.isnan(values), -1, values)], _HEART_SHA256, path)
    return _table(
        values[:, :13],
        values[:, 13] > 0,
        _HEART_FEATURES,
        ["absent", "present"],
        "Heart disease, Cleveland: 303 patients, 13 attributes, two classes.",
        return_X_y,
        as_frame,
    )


@substitute_docs(**_DOCS)
@validate_params(_CONSTRAINTS, prefer_skip_nested_validation=True)
def fetch_pima(
    *, data_home=None, download_if_missing=True, return_X_y=False, as_frame=False
):
    """Fetch the diabetes data of Pima Indians, 768 women.

    Zeros in ``glucose``, ``blood_pressure``, ``skin_thickness``, ``insulin`` and
    ``bmi`` stand for missing values. The classes are ``"negative"``, 0, and
    ``"positive"``, 1: diabetes within five years.

    The data are read from a file ``pima_diabetes.csv`` in the folder SKGEOM_DATA, a
    table with a header and the columns ``feature_names`` and ``target``. Without that
    file, they are downloaded once from OpenML, data set 37.

    Parameters
    ----------
    {data_home}
    {download_if_missing}
    {return_X_y}
    {as_frame}

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
    name = "pima_diabetes.csv"
    local = local_path(name)
    cache = cache_path("pima_diabetes.npz", data_home)
    if local is not None:
        values = _read_csv(local, header=True, n_columns=9)
        check_arrays([values], _PIMA_SHA256, local)
    elif os.path.isfile(cache):
        (values,) = read_npz(cache, ["values"])
        check_arrays([values], _PIMA_SHA256, cache)
    else:
        contents = "with a header and the columns pregnancies to age, and target"
        X, y = fetch_openml_arrays(name, contents, 37, cache, download_if_missing)
        values = np.column_stack([X, y == "tested_positive"]).astype(np.float64)
        origin = "data set 37 of OpenML"
        check_arrays([values], _PIMA_SHA256, origin, changed(name))
        write_npz(cache, values=values)
    return _table(
        values[:, :8],
        values[:, 8],
        _PIMA_FEATURES,
        ["negative", "positive"],
        "Pima Indians diabetes: 768 women, 8 attributes, two classes.",
        return_X_y,
        as_frame,
    )


def _read_csv(path, *, header, n_columns):
    """Table of ``n_columns`` numbers in a file; what is no number becomes NaN."""
    try:
        with open(path, encoding="utf-8") as file:
            rows = [line.split(",") for line in file if line.strip()][int(header) :]
        values = np.array([[_number(text) for text in row] for row in rows])
    except ValueError as error:
        raise OSError(
            f"{path} cannot be read as a table ({error}): {DAMAGED}"
        ) from error
    if values.ndim != 2 or values.shape[1] != n_columns:
        raise OSError(
            f"{path} must be a table of {n_columns} columns, got shape "
            f"{values.shape}: {DAMAGED}"
        )
    return values


def _number(text):
    try:
        return float(text)
    except ValueError:
        return np.nan


def _table(
    data, target, feature_names, target_names, description, return_X_y, as_frame
):
    target = target.astype(np.intp)
    frame = None
    if as_frame:
        check_pandas_support("as_frame=True")
        import pandas as pd

        data = pd.DataFrame(data, columns=feature_names)
        target = pd.Series(target, name="target")
        frame = pd.concat([data, target], axis=1)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=list(feature_names),
        target_names=target_names,
        DESCR=description,
    )
