"""Region covariance: a symmetric positive definite descriptor of each image."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils import gen_batches

from skgeom.utils._sklearn import Interval, Options, StrOptions
from skgeom.utils.estimator import BaseEstimator
from skgeom.utils.linalg import ENTRIES_AT_ONCE
from skgeom.utils.methods import fit_method
from skgeom.utils.threads import map_threads
from skgeom.utils.validation import check_array, check_finite, shape_of

LUMA = np.array([0.299, 0.587, 0.114])  # ITU-R BT.601
_SETS = {
    "intensity": ("x", "y", "I", "|I_x|", "|I_y|"),
    "color": ("x", "y", "channels", "|I_x|", "|I_y|", "|I_xx|", "|I_yy|"),
}

_NAMES = ("x", "y", "I", "|I_x|", "|I_y|", "|I_xx|", "|I_yy|", "channels")

# Features are linearly dependent if their correlation matrix has an eigenvalue below
# this bound: with zero, 23 of 50 images with equal color channels raise no error
# (page "Constants").
_DEPENDENT = 1e-13


class RegionCovariance(TransformerMixin, BaseEstimator):
    r"""Describe images by the covariance of features of their pixels.

    Each pixel p has a vector :math:`f_p` of d features, such as its position, its
    intensity and the derivatives of the intensity. The descriptor X of an image is the
    sample covariance of the vectors of its P pixels [1]_,

    .. math::

       X = \frac{1}{P - 1} \sum_{p=1}^{P} (f_p - \bar f) (f_p - \bar f)^\top ,

    with the mean :math:`\bar f` of the vectors. The descriptor is a symmetric positive
    definite (SPD) matrix. Its size does not depend on the size of the image.
    Without ``regularization``, affine-invariant distances between descriptors do not
    depend on the units of the features.

    ``fit`` only validates the input. ``transform`` does not require ``fit``, and
    accepts images of any size.

    Parameters
    ----------
    features : "intensity", "color" or list of str, default="intensity"
        The features of a pixel, in the order of the rows of the descriptors.
        ``"intensity"`` is ``["x", "y", "I", "|I_x|", "|I_y|"]``, the 5 x 5 descriptors
        of [2]_; ``"color"`` is
        ``["x", "y", "channels", "|I_x|", "|I_y|", "|I_xx|", "|I_yy|"]``, the 9 x 9
        descriptors of [2]_ for color images. A list may contain

        - ``"x"`` and ``"y"``, the column and the row, counted from 0;
        - ``"I"``, the intensity: the luma 0.299 R + 0.587 G + 0.114 B of images with
          three channels, and the mean of the channels of all other images;
        - ``"channels"``, all channels as separate features;
        - ``"|I_x|"`` and ``"|I_y|"``, the absolute values of the first derivatives of
          the intensity. A derivative is (I[p + 1] - I[p - 1]) / 2 inside the image, and
          the difference of two neighboring pixels at its edges;
        - ``"|I_xx|"`` and ``"|I_yy|"``, the absolute values of the second derivatives,
          which are the same differences of the signed derivatives I_x and I_y.
    regularization : float, default=0.0
        Number that is added to the diagonal of the descriptors, that is, to the
        variance of each feature, in squared units of the features (pixels and gray
        levels). With 0, ``transform`` raises an error if a feature is constant in an
        image, or if the features of an image are linearly dependent.
    channel_axis : {None, 1, -1}, default=None
        The axis of the channels in an array of shape (n_samples, ...). With None, the
        channels are on the last of four axes, and images that are 3 or 4 pixels high
        raise an error, because axis 1 probably contains their color channels. Use -1
        for such images, and 1 if the channels are on axis 1.

    See Also
    --------
    skgeom.baselines : Classifiers of SPD matrices.
    pyriemann.estimation.Covariances : Covariances of signals.

    References
    ----------
    .. [1] O. Tuzel, F. Porikli and P. Meer, "Region Covariance: A Fast Descriptor for
       Detection and Classification", ECCV 2006.
    .. [2] F. Tang, H. Feng, P. Tino, B. Si and D. Ji, "Probabilistic learning vector
       quantization on manifold of symmetric positive definite matrices", Neural
       Networks 142, 2021. Section 6.2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skgeom import RegionCovariance
    >>> images = load_digits().images
    >>> images.shape
    (1797, 8, 8)
    >>> RegionCovariance().transform(images).shape
    (1797, 5, 5)
    >>> RegionCovariance(["x", "y", "I"]).transform(images)[0].round(1)
    array([[ 5.3,  0. ,  0.3],
           [ 0. ,  5.3, -0.7],
           [ 0.3, -0.7, 27.3]])
    """

    _accepts_vectors, _accepts_matrices = False, True
    _parameter_constraints = {
        "features": [StrOptions(set(_SETS)), list, tuple],
        "regularization": [Interval(Real, 0, None, closed="left")],
        "channel_axis": [None, Options(Integral, {1, -1})],
    }

    def __init__(self, features="intensity", *, regularization=0.0, channel_axis=None):
        self.features = features
        self.regularization = regularization
        self.channel_axis = channel_axis

    @fit_method
    def fit(self, X, y=None):
        """Validate the parameters and the images, without learning from them.

        Parameters
        ----------
        X : array-like of shape (n_samples, height, width[, n_channels])
            Images, or a list of images of different sizes.
        y : None
            Ignored.

        Returns
        -------
        self
            This object.

        Raises
        ------
        ValueError
            If X does not have 3 or 4 axes, if a value is infinite or NaN, if the images
            are too small for the features, if ``channel_axis`` is None and axis 1
            probably contains the channels, or if ``features`` is empty or contains
            unknown or repeated names.
        """
        _for_each_size(self._check, X)
        return self

    def transform(self, X, mask=None):
        """Compute the descriptors.

        Parameters
        ----------
        X : array-like of shape (n_samples, height, width[, n_channels])
            Images, or a list of images of different sizes; not modified. Integers are
            not scaled.
        mask : array-like of bool of shape ([n_samples,] height, width), default=None
            The pixels to use: one mask for all images, or one mask for each image. For
            a list of images of different sizes, pass a list of masks. None uses all
            pixels. Derivatives at the edge of the mask also use pixels outside of the
            mask.

        Returns
        -------
        ndarray of shape (n_samples, d, d)
            The covariance of the d features over the pixels of each image, in float64.

        Raises
        ------
        ValueError
            In the same cases as ``fit``; if images have different numbers of channels;
            if the mask has a wrong shape, contains values except 0 and 1, or selects
            fewer than 2 pixels of an image; or if a descriptor is not positive
            definite.
        """
        self._validate_params()
        descriptors = _for_each_size(self._describe, X, mask)
        if len({d.shape[1:] for d in descriptors}) != 1:
            raise ValueError("All images of X must have the same number of channels.")
        return np.concatenate(descriptors)

    def _describe(self, X, mask=None):
        """The descriptors of images of one size."""
        X, names = self._check(X)
        if mask is not None:
            mask = _check_mask(mask, X.shape[:3])
        descriptors = np.empty((len(X), len(names), len(names)))
        constant = np.empty((len(X), len(names)), dtype=bool)

        def describe(block):
            features = _pixel_features(X[block], names)
            part = None if mask is None else mask[block]
            descriptors[block], constant[block] = _covariances(features, part)

        n_images = max(1, ENTRIES_AT_ONCE // (len(names) * X.shape[1] * X.shape[2]))
        map_threads(describe, list(gen_batches(len(X), n_images)))
        _check_finite(descriptors)
        if self.regularization:
            np.einsum("ijj->ij", descriptors)[...] += self.regularization
        else:
            _check_definite(descriptors, constant, names)
        return descriptors

    def _check(self, X):
        """Validated images with an axis of channels, and the names of the features."""
        X = check_array(
            X,
            input_name="X",
            dtype="numeric",
            allow_nd=True,
            ensure_2d=False,
            ensure_all_finite=False,
        )
        if X.ndim not in (3, 4) or 0 in X.shape:
            raise ValueError(
                "X must be images of shape (n_samples, height, width) or (n_samples, "
                f"height, width, n_channels), got shape {X.shape}. For one image, use "
                "X[None]."
            )
        check_finite(X, "X", axis=tuple(range(1, X.ndim)))
        X = self._with_channels_last(X)
        names = self._names(X.shape[3])
        for name in names:
            axis, order = _derivative(name)
            if order and X.shape[1:3][axis] <= order:
                raise ValueError(
                    f"The feature {name!r} requires images X of at least {order + 1} "
                    f"pixels in the direction of {'yx'[axis]}, got images of height "
                    f"{X.shape[1]} and width {X.shape[2]}."
                )
        return X, names

    def _with_channels_last(self, X):
        """Images of shape (n_samples, height, width, n_channels)."""
        if self.channel_axis is None:
            _check_layout(X.shape)
            return X if X.ndim == 4 else X[..., None]
        if X.ndim == 3:
            raise ValueError(
                f"channel_axis={self.channel_axis} requires images X with four axes, "
                f"got shape {X.shape}. For images without channels, use X[..., None] "
                "and channel_axis=-1. For one image, use X[None]."
            )
        return np.moveaxis(X, self.channel_axis, -1)

    def _names(self, n_channels):
        """Names of the features; the numbers of the channels replace "channels"."""
        features = self.features
        if isinstance(features, str):
            features = _SETS[features]
        names = []
        for name in features:
            if name not in _NAMES:
                raise ValueError(
                    f"features contains the unknown name {name!r}. Use names from "
                    f"{', '.join(_NAMES)}."
                )
            names += range(n_channels) if name == "channels" else [name]
        if not names or len(set(names)) < len(names):
            raise ValueError(
                "features must contain at least one name and no duplicates, got "
                f"{list(features)}."
            )
        return names

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def _for_each_size(function, X, mask=None):
    """Results for a stack of images, or for each image of a list of different sizes."""
    if not isinstance(X, list | tuple) or len({shape_of(image) for image in X}) == 1:
        return [function(X) if mask is None else function(X, mask)]
    if mask is not None and len(mask) != len(X):
        raise ValueError(
            f"mask must be a list of {len(X)} masks, one for each image of X, got "
            f"{len(mask)}."
        )
    results = []
    for number, image in enumerate(X):
        masks = () if mask is None else (np.asarray(mask[number]),)
        try:
            results.append(function(np.asarray(image)[None], *masks))
        except ValueError as error:
            raise ValueError(f"X[{number}]: {error}") from error
    return results


def _check_layout(shape):
    """Raise ValueError for a single color image, or if the channels come first.

    Arrays of such shapes could be images that are 3 or 4 pixels wide or high, but such
    images are very rare.
    """
    colors = (3, 4)
    if len(shape) == 3 and shape[2] in colors:
        raise ValueError(
            f"X of shape {shape} would contain {shape[0]} images with a width of "
            f"{shape[2]} pixels. For one image with {shape[2]} channels, use X[None]. "
            "For images of this width, use X[..., None] and channel_axis=-1."
        )
    if len(shape) == 4 and shape[1] in colors and shape[3] not in colors:
        raise ValueError(
            f"X of shape {shape} would contain images with {shape[3]} channels and a "
            f"height of {shape[1]} pixels. If the channels are on axis 1, set "
            "channel_axis=1. For images of this height, set channel_axis=-1."
        )


def _check_mask(mask, shape):
    """Validated mask of shape (n_samples, height, width)."""
    mask = np.asarray(mask)
    if mask.shape not in (shape, shape[1:]):
        raise ValueError(
            f"mask must have the shape of the images, {shape} or {shape[1:]}, got "
            f"{mask.shape}."
        )
    if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
        raise ValueError("mask must be boolean or contain only 0 and 1.")
    mask = np.broadcast_to(mask.astype(bool), shape)
    small = mask.sum(axis=(1, 2)) < 2
    if small.any():
        raise ValueError(
            f"mask selects fewer than 2 pixels of image {small.argmax()}, so the "
            "covariance is undefined. Remove the image."
        )
    return mask


def _derivative(name):
    """Axis (0 for y, 1 for x) and order of the derivative with a given name."""
    name = str(name)
    return int("x" in name), name.count("x") + name.count("y") if "|" in name else 0


def _pixel_features(images, names):
    """Features (n_samples, d, height, width) of images (..., n_channels)."""
    images = images.astype(np.float64)
    n_samples, height, width, n_channels = images.shape
    features = np.empty((n_samples, len(names), height, width))
    weights = LUMA if n_channels == 3 else np.full(n_channels, 1 / n_channels)
    intensity = images @ weights
    coordinates = dict(zip("yx", np.ogrid[:height, :width], strict=True))
    for number, name in enumerate(names):
        if name in coordinates:
            features[:, number] = coordinates[name]
        elif name in _NAMES:
            axis, order = _derivative(name)
            values = intensity
            for _ in range(order):  # with one-sided differences at the edges
                values = np.gradient(values, axis=axis + 1)
            features[:, number] = np.abs(values) if order else values
        else:
            features[:, number] = images[..., name]
    return features


def _covariances(features, mask):
    """Covariances over the pixels, and which features are constant up to rounding.

    ``features``, of shape (n_samples, d, height, width), is overwritten.

    The features are centered before they are multiplied. The difference of sums of f f'
    and products of sums of f, as in the method of integral images [1], would not be
    precise for small variances.
    """
    features = features.reshape(*features.shape[:2], -1)
    n_pixels, inside = features.shape[2], True
    if mask is not None:
        inside = mask.reshape(len(mask), 1, -1)
        n_pixels = inside.sum(axis=2, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore"):  # _check_finite raises
        means = features.mean(axis=2, where=inside, keepdims=True)
        features -= means
        if mask is not None:
            features *= inside  # zeros after centering do not contribute
        covariances = features @ features.mT / (n_pixels - 1)
        variances = np.diagonal(covariances, axis1=1, axis2=2)
        rounding = np.finfo(np.float64).eps * (n_pixels * means)[..., 0]
        return covariances, variances <= rounding**2


def _check_finite(descriptors):
    infinite = ~np.isfinite(descriptors).all(axis=(1, 2))
    if infinite.any():
        raise ValueError(
            f"The values of image {infinite.argmax()} are so large that their "
            "covariances overflow. Divide X by a common factor."
        )


def _check_definite(descriptors, constant, names):
    """Raise ValueError unless the features of each image are linearly independent.

    The test uses eigenvalues of correlation matrices, because the features have
    different units: the variances of a position and of a derivative can differ by a
    factor of 1e6.
    """
    remedy = "Set regularization to a small positive number, or remove features."
    if constant.any():
        sample, feature = np.argwhere(constant)[0]
        raise ValueError(
            f"The descriptor of image {sample} is not positive definite: its feature "
            f"{names[feature]!r} is the same at all pixels. {remedy}"
        )
    deviations = np.sqrt(np.diagonal(descriptors, axis1=1, axis2=2))
    correlations = descriptors / (deviations[:, :, None] * deviations[:, None, :])
    smallest = np.linalg.eigvalsh(correlations)[:, 0]
    if smallest.min() < _DEPENDENT:
        raise ValueError(
            f"The descriptor of image {smallest.argmin()} is not positive definite: "
            f"its features {names} are linearly dependent, for example because color "
            f"channels are equal. {remedy}"
        )
