"""Generator of naturalistic videos of surfaces that move at different speeds."""

from numbers import Integral

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.datasets import load_sample_images
from sklearn.utils import Bunch, check_random_state

from skgeom._region_covariance import LUMA
from skgeom.datasets._generators import balanced_labels
from skgeom.utils._sklearn import Interval, positive, validated_parameters
from skgeom.utils.validation import check_array, real_array

# The stimuli and the model of the eye in the papers. None of the numbers is tuned.
_SIZE = 60  # of the aperture in pixels, which is one degree of the visual field
_STRIDE = 2  # number of pixels that are averaged into one pixel of the video
_N_FRAMES = 15
_DURATION = 0.25  # seconds
# Times of the frames in seconds, relative to the middle of the video.
_TIMES = (np.arange(_N_FRAMES) - (_N_FRAMES - 1) / 2) * (_DURATION / _N_FRAMES)
_SEMISATURATION = 0.045  # c50 squared, of divisive normalization

# Standard deviation of the Gaussian spread of light in the eye and the cones, in
# pixels, which are minutes of arc. The Gaussian also interpolates between pixels.
_BLUR = 0.8
# The response to a flash is a gamma function of this order and time constant (in
# seconds). It is truncated after _TAIL time constants, which omits 0.2 % of it.
_ORDER, _TIME_CONSTANT, _TAIL = 4, 0.01, 12


def _reach(speeds):
    """Number of pixels of a surface that are required on each side of the aperture."""
    seconds = _TIMES.max() + _TAIL * _TIME_CONSTANT
    return int(np.ceil(np.abs(speeds).max() * _SIZE * seconds + 5 * _BLUR))


def _videos_of_profiles(speed, reach):
    """Matrix that maps a row of a surface to the video of its motion.

    Its shape is (15 * 30, 60 + 2 * reach), and each of its rows sums to 1. The
    contribution of pixel j of a surface with velocity v to the response at the position
    x and the time t is

        K(x - j - v t) = sum over s of  h(s) G(x - j - v (t - s)),

    where G is the Gaussian spread of light, and h(s) the response to a flash at the
    time s before.
    """
    velocity = speed * _SIZE
    # Time steps in which the surface moves by less than half of the blur.
    step = min(_TIME_CONSTANT / 5, 0.5 * _BLUR / max(abs(velocity), 1e-9))
    n_steps = int(np.ceil(_TAIL * _TIME_CONSTANT / step))
    past = (np.arange(n_steps) + 0.5) * (_TAIL * _TIME_CONSTANT / n_steps)
    weights = past ** (_ORDER - 1) * np.exp(-past / _TIME_CONSTANT)

    offsets = np.arange(-_SIZE - reach + 1, _SIZE + reach)
    shifts = velocity * (_TIMES[:, None] - past)
    distances = offsets[:, None] - shifts[:, None, :]
    kernels = np.exp(-((distances / _BLUR) ** 2) / 2) @ weights
    # Row x contains the kernel at x - j for the pixels j = -reach, ..., 59 + reach.
    rows = sliding_window_view(kernels, _SIZE + 2 * reach, axis=1)[:, :_SIZE, ::-1]
    rows = rows.reshape(_N_FRAMES, _SIZE // _STRIDE, _STRIDE, -1).mean(axis=2)
    rows /= rows.sum(axis=-1, keepdims=True)
    return rows.reshape(-1, _SIZE + 2 * reach)


def _luminances(images, gamma, border, width):
    """List of luminances (height, width) of the images without their borders.

    ``width`` is the smallest accepted width without the borders.
    """
    if images is None:
        images = load_sample_images().images
    least = (_SIZE + 2 * border, width + 2 * border)
    luminances = []
    for k, image in enumerate(images):
        intensities = _checked_intensities(image, f"images[{k}]", least)
        rows, columns = (slice(border, size - border) for size in intensities.shape)
        # The scale has no effect on contrast. Powers of numbers up to 1 are finite.
        scaled = intensities / (intensities.max() or 1)
        luminances.append(scaled[rows, columns] ** gamma)
    if not luminances:
        raise ValueError("images must contain at least one image, got none.")
    if not any(np.ptp(luminance) for luminance in luminances):
        raise ValueError(
            "images must have contrast, but the intensity of each image is constant "
            "inside its borders. Use photographs, or decrease border."
        )
    return luminances


def _checked_intensities(image, name, least):
    """Validated intensities (height, width) of one image, in float64.

    ``least`` is the smallest accepted (height, width).
    """
    image = np.asarray(image)
    if image.ndim < 2 or (image.ndim == 2 and image.shape[1] == 3):
        raise ValueError(
            f"images must be a list or an array of images, but {name} has shape "
            f"{image.shape}. Pass a single image as a list, [image]."
        )
    if image.ndim == 3 and image.shape[-1] == 3:
        image = image @ LUMA
    if image.ndim != 2:
        raise ValueError(
            f"{name} must have shape (height, width) or (height, width, 3), got "
            f"{image.shape}."
        )
    if image.shape[0] < least[0] or image.shape[1] < least[1]:
        raise ValueError(
            f"{name} must be at least {least[0]} pixels high and {least[1]} wide for "
            f"these speeds and border, got {image.shape[0]} x {image.shape[1]}. "
            "Use larger images or lower speeds, or decrease border."
        )
    image = check_array(image, dtype=np.float64, input_name=name)
    if image.min() < 0:
        raise ValueError(
            f"{name} must not have negative intensities, got {image.min():.4g}."
        )
    return image


def _random_profiles(luminances, image_id, width, rng):
    """Vertical means of random patches of the height of the aperture, one per row."""
    profiles = np.empty((len(image_id), width))
    tops = rng.uniform(size=len(image_id))
    lefts = rng.uniform(size=len(image_id))
    for k, luminance in enumerate(luminances):
        sums = np.cumsum(np.pad(luminance, ((1, 0), (0, 0))), axis=0)
        means = (sums[_SIZE:] - sums[:-_SIZE]) / _SIZE
        windows = sliding_window_view(means, width, axis=1)
        of_image = np.flatnonzero(image_id == k)
        top = (tops[of_image] * windows.shape[0]).astype(int)
        left = (lefts[of_image] * windows.shape[1]).astype(int)
        profiles[of_image] = windows[top, left]
    return profiles


def _normalized_contrast(videos):
    """Contrasts of videos, divided by sqrt(norm^2 + constant). In place."""
    means = videos.mean(axis=1, keepdims=True)
    videos -= means
    np.divide(videos, means, out=videos, where=means > 0)
    energy = np.einsum("ij,ij->i", videos, videos)
    videos /= np.sqrt(energy + videos.shape[1] * _SEMISATURATION)[:, None]
    return videos


@validated_parameters(
    images=["array-like", None],
    speeds=["array-like", None],
    n_per_speed=[Interval(Integral, 1, None, closed="left")],
    gamma=[positive],
    border=[Interval(Integral, 0, None, closed="left")],
    shuffle=["boolean"],
    random_state=["random_state"],
    return_X_y=["boolean"],
)
def make_speed_videos(
    images=None,
    speeds=None,
    n_per_speed=100,
    *,
    gamma=2.2,
    border=6,
    shuffle=True,
    random_state=None,
    return_X_y=False,
):
    r"""Make naturalistic videos of surfaces that move at different speeds.

    Each video shows a random patch of a photograph that moves horizontally behind an
    aperture of 60 x 60 pixels, which is one degree of the visual field. The video has
    15 frames in 250 ms and is filtered by a model of the receptors of the eye (appendix
    E.1 of [1]_, following [2]_). The classes are the speeds. The class means are nearly
    zero, and the class covariances differ.

    Parameters
    ----------
    images : array-like of shape (n_images, height, width), list or None, default=None
        Photographs with nonnegative intensities in any unit: an array, or a list of
        arrays of shape (height, width) or (height, width, 3). RGB images are converted
        to luma. None uses the two photographs of
        :func:`sklearn.datasets.load_sample_images`, which requires Pillow. Use more
        photographs for experiments.
    speeds : array-like of shape (n_speeds,) or None, default=None
        Speeds in degrees per second. Positive speeds are to the right. None uses the 41
        speeds from -6 to 6 in steps of 0.3.
    n_per_speed : int, default=100
        Number of videos of each speed. Each video shows a new random patch. In [1]_,
        there are 500 videos for training and 300 for testing.
    gamma : float, default=2.2
        Exponent that converts intensities to luminances. Use 2.2 for photographs in the
        usual encoding (sRGB), and 1 for intensities that are proportional to luminance.
    border : int, default=6
        Number of pixels to remove on each side of the photographs, which often have a
        dark border.
    shuffle : bool, default=True
        Whether to shuffle the videos. If False, they are sorted by speed.
    random_state : int, RandomState instance or None, default=None
        Seed of the patches and the order.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    videos : Bunch
        The attributes are

        - ``data``, ndarray of shape (n_speeds * n_per_speed, 450), float64: the videos,
          frame by frame;
        - ``videos``, ndarray of shape (n_speeds * n_per_speed, 15, 30): the same
          values, with the axes time and space;
        - ``target``, ndarray of int: the class k of each video, whose speed is
          ``speeds[k]``;
        - ``speeds``, ndarray of shape (n_speeds,): the speeds in degrees per second;
        - ``image_id``, ndarray of int: the index of the image of each video;
        - ``DESCR``, a description.

    (data, target) : tuple of ndarray
        If ``return_X_y=True``.

    Raises
    ------
    TypeError
        If ``speeds`` does not contain real numbers.
    ValueError
        If an image is too small for the speeds (a speed of 6 degrees per second
        requires 60 x 240 pixels without the borders), if an image has a negative
        intensity, if no image has contrast, or if ``speeds`` is not a finite vector of
        distinct numbers.

    Notes
    -----
    Patches of the same photograph are similar and can overlap. To test generalization,
    make the videos for training and testing from different images, or split them with
    ``image_id`` as groups.

    In the model of the eye, light spreads by a Gaussian G with a standard deviation of
    0.8 minutes of arc. The response of photoreceptors at the time s after a flash is
    :math:`h(s) \propto s^3 e^{-s / 10\,\mathrm{ms}}`. The response at the position x
    and the time t to a surface with the velocity v is therefore

    .. math::

       r(x, t) = \sum_j \bar L(j) \int h(s)\, G(x - j - v (t - s))\, ds ,

    where :math:`\bar L(j)` is the luminance of column j of the surface, averaged over
    the height of the aperture. The surface already moves before the video begins. [1]_
    names the filters of this model but not their parameters; the values above are
    specific to this function. Pairs of adjacent pixels are averaged, so a video has 15
    x 30 numbers. The numbers are converted to contrasts :math:`c = (r - \bar r) / \bar
    r`, where :math:`\bar r` is the mean of the video, and divided by
    :math:`\sqrt{\|c\|^2 + 450 \cdot 0.045}`.

    Videos without noise are easy to classify: the accuracy of quadratic discriminant
    analysis on eight principal components is 99 %. To compare methods, add Gaussian
    noise of variance 0.001 to the outputs of filters of unit norm, the model of
    neuronal noise in [1]_.

    References
    ----------
    .. [1] D. Herrera-Esposito and J. Burge, "Supervised Quadratic Feature Analysis:
       Information Geometry for Dimensionality Reduction", 2025.
    .. [2] J. Burge and W. S. Geisler, "Optimal speed estimation in natural image movies
       predicts human performance", Nature Communications 6:7900, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from skgeom.datasets import make_speed_videos
    >>> videos = make_speed_videos(speeds=[-3, 0, 3], n_per_speed=20, random_state=0)
    >>> videos.videos.shape
    (60, 15, 30)

    Videos of a surface at rest do not change:

    >>> still = videos.videos[videos.target == 1]
    >>> bool(np.allclose(still, still[:, :1]))
    True
    """
    rng = check_random_state(random_state)
    speeds = _checked_speeds(speeds)
    reach = _reach(speeds)
    width = _SIZE + 2 * reach
    luminances = _luminances(images, gamma, border, width)

    target = balanced_labels(len(speeds), n_per_speed, shuffle, rng)
    image_id = rng.randint(len(luminances), size=len(target))
    profiles = _random_profiles(luminances, image_id, width, rng)
    data = np.empty((len(target), _N_FRAMES * _SIZE // _STRIDE))
    for k, speed in enumerate(speeds):
        data[target == k] = profiles[target == k] @ _videos_of_profiles(speed, reach).T
    data = _normalized_contrast(data)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        videos=data.reshape(len(data), _N_FRAMES, -1),
        target=target,
        speeds=speeds,
        image_id=image_id,
        DESCR=_description(len(speeds), len(target), len(luminances)),
    )


def _checked_speeds(speeds):
    if speeds is None:
        return np.linspace(-6, 6, 41)
    speeds = real_array(speeds, "speeds")
    speeds = check_array(
        speeds,
        dtype=np.float64,
        ensure_2d=False,
        ensure_min_samples=0,
        input_name="speeds",
    ).copy()
    distinct = speeds.ndim == 1 and len(np.unique(speeds)) == speeds.size
    if not distinct or speeds.size == 0:
        raise ValueError(
            "speeds must be a vector of distinct numbers, at least one, got "
            f"{np.array2string(speeds, threshold=20)}."
        )
    return speeds


def _description(n_speeds, n_videos, n_images):
    return (
        f"{n_videos} videos of natural textures that move at {n_speeds} speeds, made "
        f"from {n_images} images: 15 frames of 30 pixels in 250 ms and one degree of "
        "the visual field, after Burge and Geisler, Nature Communications 6:7900, 2015."
    )
