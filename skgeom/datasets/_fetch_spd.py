"""Fetchers of SPD matrices from images and EEG, and of EEG signals."""

from numbers import Integral

import numpy as np

from skgeom.datasets._files import (
    FETCH_DOCS,
    check_arrays,
    fetched,
    given_file,
    read_npz,
)
from skgeom.utils._sklearn import Interval, StrOptions, validated_parameters
from skgeom.utils.docs import substitute_docs

_ETH80_SHA256 = "272ffda0fa92b0ce971e561e0d90fb28662dac18bdfd479215ea693a49087924"
_ETH80_SOURCE = "https://github.com/Kai-Xuan/ETH-80"

_BCI_SHA256 = [  # by subject
    "b071f9966c5ef3e38b3ee5d3235d8cab8c9cb03b278156c6f1d4dc2fd85fd1b1",
    "7ef98016f0cd36f6355919635b5399827a593a10d83ef40f70f7c17a6f9405a0",
    "f4ed6547f97682324b7f8421fe9ae16f5e74d294eb97e6e9e347b3e440e74cb8",
    "4ef892035e8f50aa47f2580e4872b7c154b47e2eccca16021c08d9d6aa6212c6",
]

_SSVEP_SHA256 = "c76bb20aae156144bb21f5c11acc50ddd6f6cfa8e0e64ff5b953dc862bc3aade"


@substitute_docs(**FETCH_DOCS)
@validated_parameters(
    features=[StrOptions({"intensity", "color"})], return_X_y=["boolean"]
)
def fetch_eth80(features="intensity", *, return_X_y=False):
    """Fetch ETH-80 as region covariance descriptors of 3,280 photographs.

    ETH-80 contains photographs of 80 objects from 41 views [1]_. The objects belong to
    8 categories of 10 objects. The descriptors are equal to the output of
    :class:`~skgeom.RegionCovariance` for images of 256 x 256 pixels.

    The function reads the file ``eth80_covariances.npz`` in the folder of the
    environment variable SKGEOM_DATA. The file contains the arrays ``cov5`` and ``cov9``
    (the descriptors for ``features="intensity"`` and ``"color"``), ``y`` (the
    category), ``object`` and ``view``. It cannot be downloaded, because the photographs
    are not published as one file. Compute it from the photographs instead.

    Parameters
    ----------
    features : {"intensity", "color"}, default="intensity"
        The parameter ``features`` of :class:`~skgeom.RegionCovariance`. The descriptors
        have the size 5 x 5 for ``"intensity"``, and 9 x 9 for ``"color"``.
    {return_X_y}

    Returns
    -------
    objects : Bunch
        The attributes are

        - ``data``, ndarray of shape (3280, n, n), float64: the descriptors, with n = 5
          or 9;
        - ``target``, ndarray of shape (3280,), int: the category, 0 to 7;
        - ``target_names``, list of str: the names of the categories;
        - ``object``, ndarray of shape (3280,), int: the index of the object within its
          category, 0 to 9;
        - ``group``, ndarray of shape (3280,), int: the index of the object among all
          objects, 0 to 79;
        - ``view``, ndarray of str: the polar and azimuthal angles of the view;
        - ``DESCR``, a description.

    (data, target) : tuple of ndarray
        If ``return_X_y=True``.

    Raises
    ------
    {OSError}

    Notes
    -----
    Views of the same object are similar. Split by ``group`` to test on new objects. In
    [2]_, 21 views of every object are used for training and 20 views for testing.

    References
    ----------
    .. [1] B. Leibe and B. Schiele, "Analyzing appearance and contour based methods for
       object categorization", CVPR 2003.
    .. [2] F. Tang, H. Feng, P. Tino, B. Si and D. Ji, "Probabilistic learning vector
       quantization on manifold of symmetric positive definite matrices", Neural
       Networks 142, 2021.

    Examples
    --------
    >>> from skgeom.datasets import fetch_eth80
    >>> X, y = fetch_eth80("color", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (3280, 9, 9)
    """
    path = given_file(
        "eth80_covariances.npz",
        "Compute its arrays, which the docstring of fetch_eth80 names, with "
        f"skgeom.RegionCovariance from the photographs of {_ETH80_SOURCE}.",
    )
    cov5, cov9, target, objects, view = read_npz(
        path, ["cov5", "cov9", "y", "object", "view"]
    )
    check_arrays([cov5, cov9, target, objects], _ETH80_SHA256, path)
    data = cov5 if features == "intensity" else cov9
    target, objects = target.astype(np.intp), objects.astype(np.intp)
    return fetched(
        return_X_y,
        data,
        target,
        target_names=["apple", "car", "cow", "cup", "dog", "horse", "pear", "tomato"],
        object=objects,
        group=10 * target + objects,
        view=view,
        DESCR="ETH-80: region covariances of photographs of 80 objects, 8 categories.",
    )


@substitute_docs(**FETCH_DOCS)
@validated_parameters(
    subject=[Interval(Integral, 1, 4, closed="both")], return_X_y=["boolean"]
)
def fetch_bci_iv_2a(subject=1, *, return_X_y=False):
    """Fetch BCI competition IV 2a: covariances of EEG during imagined movements.

    The subjects imagined four movements in 288 trials on each of two days [1]_. Each
    matrix is the covariance of 22 channels from 0.5 to 2.5 s after the cue, in signals
    filtered from 10 to 30 Hz. The authors of [2]_ published the matrices.

    The function reads the file ``bci_iv_2a_s1_to_s4.npz`` in the folder of the
    environment variable SKGEOM_DATA. The file contains the arrays ``cov_1``, ``y_1``
    and ``test_1`` for subject 1, and so on for subjects 2 to 4. The function cannot
    download the file. Compute the covariances from the signals, which the package moabb
    downloads.

    Parameters
    ----------
    subject : int, default=1
        Number of the subject, from 1 to 4.
    {return_X_y}

    Returns
    -------
    trials : Bunch
        The attributes are

        - ``data``, ndarray of shape (576, 22, 22), float64: the covariance of each
          trial;
        - ``target``, ndarray of shape (576,), int: the movement, 0 to 3;
        - ``target_names``, list of str: ``"left_hand"``, ``"right_hand"``, ``"feet"``
          and ``"tongue"``;
        - ``test``, ndarray of shape (576,), bool: True for the trials of the second
          day, the test set of the competition;
        - ``DESCR``, a description.

    (data, target) : tuple of ndarray
        If ``return_X_y=True``.

    Raises
    ------
    {OSError}

    References
    ----------
    .. [1] M. Tangermann et al., "Review of the BCI competition IV", Frontiers in
       Neuroscience 6:55, 2012.
    .. [2] F. Tang, H. Feng, P. Tino, B. Si and D. Ji, "Probabilistic learning vector
       quantization on manifold of symmetric positive definite matrices", Neural
       Networks 142, 2021.

    Examples
    --------
    >>> from skgeom.datasets import fetch_bci_iv_2a
    >>> trials = fetch_bci_iv_2a(subject=3)  # doctest: +SKIP
    >>> trials.data[~trials.test].shape  # doctest: +SKIP
    (288, 22, 22)
    """
    path = given_file(
        "bci_iv_2a_s1_to_s4.npz",
        "Compute its arrays, which the docstring of fetch_bci_iv_2a names, from "
        "signals of https://www.bbci.de/competition/iv/, which moabb downloads.",
    )
    names = [f"{part}_{subject}" for part in ("cov", "y", "test")]
    data, target, test = read_npz(path, names)
    check_arrays([data, target, test], _BCI_SHA256[subject - 1], path)
    return fetched(
        return_X_y,
        data,
        target,
        target_names=["left_hand", "right_hand", "feet", "tongue"],
        test=test,
        DESCR=f"BCI competition IV, data set 2a: covariances of subject {subject}.",
    )


@substitute_docs(**FETCH_DOCS)
@validated_parameters(return_X_y=["boolean"])
def fetch_ssvep(*, return_X_y=False):
    """Fetch EEG signals of steady-state visual evoked potentials, 864 trials.

    Twelve subjects looked at a light that flickered at 13, 17 or 21 Hz, or at no
    light, in trials of 5 s [1]_. Each trial consists of the unfiltered signals of eight
    occipital channels from 0.5 s before to 5.5 s after the start of the trial.

    The function reads the file ``eeg_ssvep.npz`` in the folder of the environment
    variable SKGEOM_DATA. The file contains the integer arrays ``X``, ``y``, ``subject``
    and ``session``, the factor ``scale`` that converts ``X`` to signals, and the names
    ``channels``. It cannot be downloaded, because the recordings are not published as
    one file.

    Parameters
    ----------
    {return_X_y}

    Returns
    -------
    trials : Bunch
        The attributes are

        - ``data``, ndarray of shape (864, 8, 1536), float32: the signals, with the axes
          trial, channel and time;
        - ``target``, ndarray of shape (864,), int: the class, 0 to 3;
        - ``target_names``, list of str: ``"rest"``, ``"13 Hz"``, ``"17 Hz"`` and ``"21
          Hz"``;
        - ``subject``, ndarray of shape (864,), int: the subject, 1 to 12;
        - ``session``, ndarray of shape (864,), int: the recording, 0 to 26;
        - ``channels``, list of str: the names of the channels;
        - ``sfreq``, float: the number of samples per second, 256;
        - ``tmin``, float: the time of the first sample in seconds, -0.5;
        - ``DESCR``, a description.

    (data, target) : tuple of ndarray
        If ``return_X_y=True``.

    Raises
    ------
    {OSError}

    Notes
    -----
    In most recordings, the trials of rest precede all other trials, so a classifier can
    also use slow changes of the signals to distinguish rest from the frequencies. The
    trials of the three frequencies alternate.

    References
    ----------
    .. [1] E. K. Kalunga, S. Chevallier, Q. Barthélemy, K. Djouani, E. Monacelli and Y.
       Hamam, "Online SSVEP-based BCI using Riemannian geometry", Neurocomputing 191,
       2016.

    Examples
    --------
    >>> from skgeom.datasets import fetch_ssvep
    >>> trials = fetch_ssvep()  # doctest: +SKIP
    >>> trials.data.shape  # doctest: +SKIP
    (864, 8, 1536)
    """
    path = given_file(
        "eeg_ssvep.npz",
        "Cut the trials, as described in the docstring of fetch_ssvep, from the "
        "recordings of https://github.com/sylvchev/dataset-ssvep-exoskeleton.",
    )
    names = ["X", "y", "subject", "session", "scale", "channels"]
    X, *labels, scale, channels = read_npz(path, names)
    check_arrays([X, *labels], _SSVEP_SHA256, path)
    target, subject, session = (values.astype(np.intp) for values in labels)
    return fetched(
        return_X_y,
        X * np.float32(scale),
        target,
        target_names=["rest", "13 Hz", "17 Hz", "21 Hz"],
        subject=subject,
        session=session,
        channels=channels.tolist(),
        sfreq=256.0,
        tmin=-0.5,
        DESCR="EEG of steady-state visual evoked potentials: 12 subjects, 864 trials.",
    )
