"""Fetcher of images of digits."""

import numpy as np

from skgeom.datasets._files import (
    FETCH_CONSTRAINTS,
    FETCH_DOCS,
    check_arrays,
    downloaded_file,
    fetched,
    local_file,
    read_npz,
)
from skgeom.utils._sklearn import StrOptions, validated_parameters
from skgeom.utils.docs import substitute_docs

_MNIST_URL = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz"
_MNIST_FILE = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"
_MNIST_ARRAYS = "14496c267285682a914dff1e35d1758a71f1c8d10bdc17d6b9ce111f32f9365e"
_SUBSETS = StrOptions({"all", "train", "test"})


@substitute_docs(**FETCH_DOCS)
@validated_parameters(**FETCH_CONSTRAINTS, subset=[_SUBSETS])
def fetch_mnist(
    *, subset="all", data_home=None, download_if_missing=True, return_X_y=False
):
    """Fetch MNIST, 70,000 images of handwritten digits.

    The function reads the file ``mnist.npz`` in the folder of the environment variable
    SKGEOM_DATA. The file contains the arrays ``X``, of shape (70000, 28, 28) and dtype
    uint8, and ``y``, the digits. If the file is missing, the file that Keras
    distributes is downloaded once.

    Parameters
    ----------
    {subset}
    {data_home}
    {download_if_missing}
    {return_X_y}

    Returns
    -------
    digits : Bunch
        The attributes are

        - ``data``, ndarray of shape (n_images, 784), uint8: the intensities, row by
          row;
        - ``images``, ndarray of shape (n_images, 28, 28): the same values;
        - ``target``, ndarray of shape (n_images,), int: the digits;
        - ``n_train``, int: the number of training images, which precede the test
          images;
        - ``DESCR``, a description.

    (data, target) : tuple of ndarray
        If ``return_X_y=True``.

    Raises
    ------
    {OSError}

    References
    ----------
    .. [1] Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, "Gradient-based learning
       applied to document recognition", Proceedings of the IEEE 86, 1998.

    Examples
    --------
    >>> from skgeom.datasets import fetch_mnist
    >>> X, y = fetch_mnist(subset="train", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (60000, 784)
    """
    path = local_file("mnist.npz")
    if path is not None:
        X, y = read_npz(path, ["X", "y"])
    else:
        contents = "a file mnist.npz, with arrays X (70000 x 28 x 28, uint8) and y,"
        path = downloaded_file(
            _MNIST_URL, contents, data_home, download_if_missing, _MNIST_FILE
        )
        names = ["x_train", "x_test", "y_train", "y_test"]
        *images, y_train, y_test = read_npz(path, names)
        X, y = np.concatenate(images), np.concatenate([y_train, y_test])
    if X.shape[1:] != (28, 28) or {X.dtype.kind, y.dtype.kind} - set("biuf"):
        raise OSError(f"{path} does not contain images. Replace or remove it.")
    data, target = X.reshape(len(X), -1).astype(np.uint8), y.astype(np.uint8)
    check_arrays([data, target], _MNIST_ARRAYS, path)
    train, test = slice(60_000), slice(60_000, None)
    rows = {"all": slice(None), "train": train, "test": test}[subset]
    return fetched(
        return_X_y,
        data[rows],
        target[rows],
        images=data[rows].reshape(-1, 28, 28),
        n_train=0 if subset == "test" else 60_000,
        DESCR="MNIST: 70,000 handwritten digits, of 28 x 28 pixels.",
    )
