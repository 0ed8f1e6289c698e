"""Videos of moving surfaces."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad

from skgeom.datasets import make_speed_videos

SPEEDS = np.array([-6.0, -1.5, 0.0, 1.5, 6.0])


def textures(n_images, height, width):
    """Random textures of intensity about 1, with a spectrum like that of photographs.

    They are positive, and the mean over all is the same everywhere.
    """
    rng = np.random.default_rng(0)
    frequencies = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width))
    frequencies[0, 0] = np.inf
    noise = rng.standard_normal((n_images, height, width))
    smooth = np.fft.ifft2(np.fft.fft2(noise) / frequencies).real
    return np.exp(0.2 * smooth / smooth.std(axis=(1, 2), keepdims=True))


TEXTURES = textures(12, 128, 400)


def grating(frequency, height=72, width=300):
    """Vertical grating, in cycles per degree, of contrast 0.5."""
    x = np.arange(width) / 60
    return np.tile(1 + 0.5 * np.sin(2 * np.pi * frequency * x), (height, 1))


def test_bunch():
    videos = make_speed_videos(TEXTURES, SPEEDS, n_per_speed=7, random_state=0)
    assert videos.data.shape == (35, 450) and videos.data.dtype == np.float64
    assert_array_equal(videos.videos.reshape(35, 450), videos.data)
    assert videos.videos.shape == (35, 15, 30)
    assert_array_equal(np.bincount(videos.target), [7] * 5)
    assert_array_equal(videos.speeds, SPEEDS)
    assert set(videos.image_id) <= set(range(12))
    assert "35 videos" in videos.DESCR and "12 images" in videos.DESCR
    X, y = make_speed_videos(
        TEXTURES, SPEEDS, n_per_speed=7, random_state=0, return_X_y=True
    )
    assert_array_equal(X, videos.data)
    assert_array_equal(y, videos.target)


def photoreceptors(omega):
    """Fourier transform of their response to a flash, which ends after 120 ms."""

    def response(s):
        return s**3 * np.exp(-s / 0.01)

    real = quad(lambda s: response(s) * np.cos(omega * s), 0, 0.12, epsabs=1e-15)[0]
    imaginary = quad(lambda s: response(s) * np.sin(omega * s), 0, 0.12, epsabs=1e-15)
    return real + 1j * imaginary[0]


@pytest.mark.parametrize(("speed", "frequency"), [(-6.0, 1.0), (0.7, 4.0)])
def test_grating_moves_at_the_speed_and_is_filtered(speed, frequency):
    """A grating stays one: amplitude and phase follow from the transfer functions.

    Its temporal frequency is speed times spatial frequency, and the contrast that the
    blur, the pair of pixels and the photoreceptors leave is the product of theirs.
    """
    image = grating(frequency)
    videos = make_speed_videos(
        image[None], [speed], 20, gamma=1.0, border=0, random_state=0
    ).videos
    omega = 2 * np.pi * frequency * speed  # radians per second
    k = 2 * np.pi * frequency / 60  # radians per pixel
    response = abs(photoreceptors(omega) / photoreceptors(0))
    amplitude = 0.5 * np.exp(-((k * 0.8) ** 2) / 2) * np.cos(k / 2) * response

    # Undo the normalisation: c = v sqrt(n c50^2 / (1 - ||v||^2)).
    energy = (videos**2).sum(axis=(1, 2), keepdims=True)
    contrast = videos * np.sqrt(450 * 0.045 / (1 - energy))
    t = np.arange(15) / 60
    x = np.arange(30) * 2 / 60
    phase = 2 * np.pi * frequency * x - omega * t[:, None]
    basis = np.stack([np.cos(phase), np.sin(phase), np.ones_like(phase)])
    basis = basis.reshape(3, -1).T
    flat = contrast.reshape(len(contrast), -1).T
    weights, residual, *_ = np.linalg.lstsq(basis, flat)
    # The contrast is relative to the mean of the video, 1 up to parts of cycles.
    assert np.sqrt(residual / 450).max() < 0.003 * amplitude + 1e-4
    ratio = np.hypot(*weights[:2]) / (1 + weights[2])
    assert_allclose(ratio, amplitude, rtol=0.01)


def test_rgb_images_of_different_sizes_and_black_ones():
    gray = (100 * TEXTURES[0]).astype(np.uint8)
    rgb = np.stack([gray] * 3, axis=-1)[:100, :350]
    black = np.zeros((80, 300), dtype=np.uint8)
    videos = make_speed_videos([gray, rgb, black], [0, 6], 30, random_state=0)
    assert np.all(np.isfinite(videos.data))
    assert np.all(videos.data[videos.image_id == 2] == 0)
    assert np.all(np.ptp(videos.data[videos.image_id == 1], axis=1) > 0)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"images": np.ones((2, 100, 251))}, "72 pixels high and 252 wide.* 100 x 251"),
        ({"images": np.ones((72, 252))}, r"must be a list .* \(252,\). Pass a single"),
        ({"images": np.ones((1, 72, 252, 4))}, r"images\[0\] must have shape"),
        ({"images": np.zeros((2, 72, 252))}, "images must have contrast"),
        ({"images": -np.ones((1, 72, 252))}, r"images\[0\] must not have negative"),
        ({"images": np.full((1, 72, 252), np.nan)}, r"images\[0\] contains NaN"),
        ({"images": []}, "at least one image"),
        ({"speeds": []}, r"vector of distinct numbers, at least one, got \[\]"),
        ({"speeds": [np.inf]}, "speeds contains infinity"),
        ({"n_per_speed": 0}, "'n_per_speed' parameter"),
    ],
)
def test_bad_arguments(arguments, match):
    with pytest.raises(ValueError, match=match):
        make_speed_videos(**arguments)
