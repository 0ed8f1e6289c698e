"""Fetchers of images of digits."""

import numpy as np
from scipy.io import loadmat

from skgeom.datasets._files import (
    FETCH_CONSTRAINTS,
    FETCH_DOCS,
    check_arrays,
    check_file,
    downloaded_file,
    fetched,
    given_file,
    local_file,
    read_npz,
)
from skgeom.utils._sklearn import StrOptions, validated_parameters
from skgeom.utils.docs import substitute_docs

_MNIST_URL = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz"
_MNIST_FILE = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"
_MNIST_ARRAYS = "14496c267285682a914dff1e35d1758a71f1c8d10bdc17d6b9ce111f32f9365e"
_SVHN_URL = "http://ufldl.stanford.edu/housenumbers/"
_SVHN_FILES = {
    "train": "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
    "test": "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b",
}
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


@substitute_docs(**FETCH_DOCS)
@validated_parameters(subset=[_SUBSETS], return_X_y=["boolean"])
def fetch_svhn(*, subset="all", return_X_y=False):
    """Fetch SVHN, 99,289 images of the digits of house numbers.

    The images are the cropped digits of SVHN: 73,257 training images and 26,032 test
    images. The function reads the files ``train_32x32.mat`` and ``test_32x32.mat`` in
    the folder of the environment variable SKGEOM_DATA. Download the files manually (174
    and 61 MiB) from http://ufldl.stanford.edu/housenumbers/. The function does not
    download them, because the source has no https address.

    Parameters
    ----------
    {subset}
    {return_X_y}

    Returns
    -------
    digits : Bunch
        The attributes are

        - ``data``, ndarray of shape (n_images, 1024), float32: the means of the three
          color channels, row by row;
        - ``images``, ndarray of shape (n_images, 32, 32): the same values;
        - ``target``, ndarray of shape (n_images,), int: the digits 0 to 9;
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
    .. [1] Y. Netzer, T. Wang, A. Coates, A. Bissacco, B. Wu and A. Y. Ng, "Reading
       digits in natural images with unsupervised feature learning", NIPS workshop on
       deep learning and unsupervised feature learning, 2011.

    Examples
    --------
    >>> from skgeom.datasets import fetch_svhn
    >>> X, y = fetch_svhn(subset="test", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (26032, 1024)
    """
    parts = ["train", "test"] if subset == "all" else [subset]
    images, target = [], []
    for part in parts:
        name = f"{part}_32x32.mat"
        path = given_file(name, f"Download {_SVHN_URL}{name}, without https.")
        check_file(path, _SVHN_FILES[part])
        contents = loadmat(path)
        colors = np.moveaxis(contents["X"], -1, 0)  # stored as (32, 32, 3, n)
        images.append(colors.mean(axis=-1, dtype=np.float32))
        target.append(contents["y"].ravel() % 10)  # zero is stored as 10
    images = np.concatenate(images)
    return fetched(
        return_X_y,
        images.reshape(len(images), -1),
        np.concatenate(target),
        images=images,
        n_train=0 if subset == "test" else len(target[0]),
        DESCR="SVHN: digits of house numbers in street views, of 32 x 32 pixels.",
    )
