"""Images of digits."""

import os

import numpy as np
from scipy.io import loadmat
from sklearn.utils import Bunch
from sklearn.utils._param_validation import StrOptions, validate_params

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

_MNIST_SHA256 = "14496c267285682a914dff1e35d1758a71f1c8d10bdc17d6b9ce111f32f9365e"
_SVHN = {
    "train": RemoteFile(
        "train_32x32.mat",
        "http://ufldl.stanford.edu/housenumbers/train_32x32.mat",
        "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
    ),
    "test": RemoteFile(
        "test_32x32.mat",
        "http://ufldl.stanford.edu/housenumbers/test_32x32.mat",
        "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b",
    ),
}


@substitute_docs(**FETCH_DOCS)
@validate_params(
    FETCH_CONSTRAINTS | {"subset": [StrOptions({"all", "train", "test"})]},
    prefer_skip_nested_validation=True,
)
def fetch_mnist(
    *, subset="all", data_home=None, download_if_missing=True, return_X_y=False
):
    """Fetch MNIST, 70,000 handwritten digits.

    They are read from a file ``mnist.npz`` in the folder SKGEOM_DATA, with arrays ``X``
    of 70000 x 28 x 28 bytes and ``y``. Without that file, they are downloaded once from
    OpenML, data set 554.

    Parameters
    ----------
    {subset}
    {data_home}
    {download_if_missing}
    {return_X_y}

    Returns
    -------
    digits : Bunch
        With the attributes

        - ``data``, ndarray of shape (n_images, 784), uint8: intensities, row by row;
        - ``images``, the same with shape (n_images, 28, 28);
        - ``target``, ndarray of shape (n_images,), int: the digits;
        - ``n_train``, the number of training images, which come first;
        - ``DESCR``, a description.

    (data, target) : tuple of ndarray
        If ``return_X_y``.

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
    name = "mnist.npz"
    path = local_path(name) or cache_path(name, data_home)
    if os.path.isfile(path):
        X, y = read_npz(path, ["X", "y"])
        try:
            data, target = _mnist_arrays(X, y)
        except (TypeError, ValueError) as error:
            raise OSError(
                f"{path} has other arrays than those of MNIST ({error}): {DAMAGED}"
            ) from error
        check_arrays([data, target], _MNIST_SHA256, path)
    else:
        contents = "with arrays X (70000 x 28 x 28, uint8) and y"
        data, target = _mnist_arrays(
            *fetch_openml_arrays(name, contents, 554, path, download_if_missing)
        )
        origin = "data set 554 of OpenML"
        check_arrays([data, target], _MNIST_SHA256, origin, changed(name))
        write_npz(path, X=data.reshape(-1, 28, 28), y=target)
    description = "MNIST: 70,000 handwritten digits, of 28 x 28 pixels."
    parts = _subset(data, target, 60_000, subset)
    return _images(*parts, (28, 28), description, return_X_y)


def _mnist_arrays(X, y):
    return X.reshape(len(X), -1).astype(np.uint8), y.astype(np.uint8)


@substitute_docs(**FETCH_DOCS)
@validate_params(
    FETCH_CONSTRAINTS
    | {
        "subset": [StrOptions({"all", "train", "test"})],
        "color": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def fetch_svhn(
    *,
    subset="all",
    color=False,
    data_home=None,
    download_if_missing=True,
    return_X_y=False,
):
    """Fetch SVHN, 99,289 digits of house numbers in street views.

    These are the cropped digits: a training set of 73,257 images and a test set of
    26,032. They are read from files ``train_32x32.mat`` and ``test_32x32.mat`` in the
    folder SKGEOM_DATA. Without these, they are downloaded once from their source, 174
    and 61 MiB, by the package pooch.

    Parameters
    ----------
    {subset}
    color : bool, default=False
        Whether to return the three colours instead of their mean.
    {data_home}
    {download_if_missing}
    {return_X_y}

    Returns
    -------
    digits : Bunch
        With the attributes

        - ``data``, ndarray of shape (n_images, 1024), float32: mean intensities, row by
          row; or (n_images, 3072), uint8, if ``color``;
        - ``images``, the same with shape (n_images, 32, 32), or (n_images, 32, 32, 3);
        - ``target``, ndarray of shape (n_images,), int: the digits 0 to 9;
        - ``n_train``, the number of training images, which come first;
        - ``DESCR``, a description.

    (data, target) : tuple of ndarray
        If ``return_X_y``.

    Raises
    ------
    {OSError}
    {ImportError}

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
    names = ["train", "test"] if subset == "all" else [subset]
    parts = [
        _read_svhn(fetch_file(_SVHN[name], data_home, download_if_missing), color)
        for name in names
    ]
    images, target = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    n_train = 0 if subset == "test" else len(parts[0][1])
    description = "SVHN: digits of house numbers in street views, of 32 x 32 pixels."
    data = images.reshape(len(images), -1)
    return _images(data, target, n_train, images.shape[1:], description, return_X_y)


def _read_svhn(path, color):
    contents = loadmat(path)
    images = np.moveaxis(contents["X"], -1, 0)  # stored as (32, 32, 3, n)
    if not color:
        images = images.mean(axis=-1, dtype=np.float32)
    return images, contents["y"].ravel() % 10  # zero is stored as 10


def _subset(data, target, n_train, subset):
    """Data and targets of a subset, and its number of training images."""
    if subset == "train":
        return data[:n_train], target[:n_train], n_train
    if subset == "test":
        return data[n_train:], target[n_train:], 0
    return data, target, n_train


def _images(data, target, n_train, shape, description, return_X_y):
    target = target.astype(np.intp)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        images=data.reshape(-1, *shape),
        target=target,
        n_train=n_train,
        DESCR=description,
    )
