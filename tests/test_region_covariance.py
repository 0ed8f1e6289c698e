"""Covariance descriptors of images, against a loop over the images."""

import numpy as np
import pytest

from skgeom import RegionCovariance

COLOR = ["x", "y", "R", "G", "B", "|I_x|", "|I_y|", "|I_xx|", "|I_yy|"]


def pixel_features(image):
    """Features of one image in colours, as a dict of arrays (height, width)."""
    red, green, blue = np.moveaxis(image.astype(float), -1, 0)
    intensity = 0.299 * red + 0.587 * green + 0.114 * blue
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    along_y, along_x = np.gradient(intensity)
    return {
        "x": x,
        "y": y,
        "I": intensity,
        "R": red,
        "G": green,
        "B": blue,
        "|I_x|": abs(along_x),
        "|I_y|": abs(along_y),
        "|I_xx|": abs(np.gradient(along_x, axis=1)),
        "|I_yy|": abs(np.gradient(along_y, axis=0)),
    }


def by_loop(images, names, mask=slice(None)):
    result = []
    for image in images:
        features = pixel_features(image)
        result.append(np.cov([features[name][mask].ravel() for name in names]))
    return np.array(result)


@pytest.fixture
def images(rng):
    return rng.integers(0, 256, size=(7, 9, 12, 3), dtype=np.uint8)


@pytest.mark.parametrize(
    ("features", "names"),
    [
        ("intensity", ["x", "y", "I", "|I_x|", "|I_y|"]),
        ("color", COLOR),
        (["|I_yy|", "I", "x"], ["|I_yy|", "I", "x"]),
        (("channels", "I", "y"), ["R", "G", "B", "I", "y"]),
    ],
)
def test_against_a_loop(images, features, names):
    if "I" in names and "R" in names:  # I depends on R, G and B
        model = RegionCovariance(features, regularization=1.0)
        expected = by_loop(images, names) + np.eye(len(names))
    else:
        model, expected = RegionCovariance(features), by_loop(images, names)
    before = images.copy()
    descriptors = model.fit(images).transform(images)
    np.testing.assert_allclose(descriptors, expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(descriptors, descriptors.mT)
    np.testing.assert_array_equal(images, before)


def test_number_of_channels(rng):
    grey = rng.normal(size=(4, 6, 5)).astype(np.float32)
    descriptors = RegionCovariance().transform(grey)
    assert descriptors.dtype == np.float64
    in_color = np.repeat(grey.astype(float)[..., None], 3, axis=3)
    expected = by_loop(in_color, ["x", "y", "I", "|I_x|", "|I_y|"])
    np.testing.assert_allclose(descriptors, expected, rtol=1e-10, atol=1e-12)
    for n_channels in (1, 2, 4):
        repeated = np.repeat(grey[..., None], n_channels, axis=3)
        same = RegionCovariance().transform(repeated)
        np.testing.assert_allclose(same, expected, rtol=1e-6, atol=1e-6)
    many = rng.normal(size=(4, 6, 5, 4))
    channels = RegionCovariance(["channels"]).transform(many)
    expected = [np.cov(image.reshape(-1, 4).T) for image in many]
    np.testing.assert_allclose(channels, expected, rtol=1e-12)
    assert RegionCovariance("color").transform(many).shape == (4, 10, 10)


def test_mask(images, rng):
    mask = rng.random((9, 12)) < 0.5
    names = ["x", "y", "I", "|I_x|", "|I_y|"]
    expected = by_loop(images, names, mask)
    model = RegionCovariance()
    np.testing.assert_allclose(model.transform(images, mask=mask), expected, rtol=1e-9)
    masks = rng.random((7, 9, 12)) < 0.5
    descriptors = model.transform(images, mask=masks.astype(int))
    for image, own, descriptor in zip(images, masks, descriptors, strict=True):
        expected = by_loop(image[None], names, own)[0]
        np.testing.assert_allclose(descriptor, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("value", [0, 0.1, -1e8 / 3])
def test_constant_feature(rng, value):
    images = rng.normal(size=(3, 8, 8))
    images[1] = value
    with pytest.raises(ValueError, match=r"image 1 .* feature 'I' .*regularization"):
        RegionCovariance().transform(images)
    descriptors = RegionCovariance(regularization=1e-3).transform(images)
    assert np.linalg.eigvalsh(descriptors).min() > 9e-4
    mask = np.zeros((8, 8), bool)
    mask[:, 2] = True
    with pytest.raises(ValueError, match=r"image 0 .* feature 'x'"):
        RegionCovariance().transform(images, mask)


def test_needs_no_fit_and_takes_images_of_any_size(images):
    model = RegionCovariance().fit(images)
    assert vars(model) == vars(RegionCovariance())
    assert model.transform(images[:, :5, :4]).shape == (7, 5, 5)
    found = model.transform(images.tolist())
    np.testing.assert_array_equal(found, model.transform(images))


def test_axis_of_the_channels(rng):
    """Images of 3 x 9 pixels are accepted if the axis of the channels is given."""
    images = rng.normal(size=(2, 3, 9, 5))
    features, last = ["x", "channels"], {"channel_axis": -1}
    found = RegionCovariance(features, **last).fit(images).transform(images)
    pixels = np.dstack([np.broadcast_to(np.arange(9), (3, 9)), images[1]])
    np.testing.assert_allclose(found[1], np.cov(pixels.reshape(27, 6).T), rtol=1e-12)
    first = RegionCovariance(features, channel_axis=1).fit(np.moveaxis(images, 3, 1))
    np.testing.assert_array_equal(first.transform(np.moveaxis(images, 3, 1)), found)
    gray = RegionCovariance(["x", "I"], **last).transform(images[..., :1])
    np.testing.assert_array_equal(gray, found[:, :2, :2])
    with pytest.raises(ValueError, match=r"channel_axis=-1 requires .*X\[..., None\]"):
        RegionCovariance(**last).fit(images[..., 0])


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((9, 12), r"got shape \(9, 12\).*X\[None\]"),
        ((0, 9, 12), "minimum of 1"),
        ((2, 1, 9), r"'\|I_y\|' requires images X of at least 2 pixels .* height 1"),
        ((9, 9, 3), r"For one image with 3 channels, use X\[None\]"),
        ((2, 3, 9, 9), "on axis 1, set channel_axis=1. .*height, set channel_axis=-1"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "transform"])
def test_bad_shape(shape, message, method):
    with pytest.raises(ValueError, match=message):
        getattr(RegionCovariance(), method)(np.ones(shape))


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (["x", "Ix"], "unknown name 'Ix'"),
        ([], "at least one name"),
        (["x", "y", "x"], "no duplicates"),
        ("grey", "'features' parameter"),
        (None, "'features' parameter"),
    ],
)
def test_bad_features(images, features, message):
    for method in ("fit", "transform"):
        with pytest.raises(ValueError, match=message):
            getattr(RegionCovariance(features), method)(images)


def test_bad_parameters(images):
    with pytest.raises(ValueError, match=r"'\|I_xx\|' requires images X of at least 3"):
        RegionCovariance("color").transform(images[:, :, :2])
    with pytest.raises(ValueError, match="'regularization' parameter"):
        RegionCovariance(regularization=-1).transform(images)
    model = RegionCovariance()
    with pytest.raises(ValueError, match=r"mask must have .* images, \(7, 9, 12\)"):
        model.transform(images, np.ones((12, 9)))
    with pytest.raises(ValueError, match="mask must be boolean"):
        model.transform(images, np.full((9, 12), 0.5))
    masks = np.ones((7, 9, 12), bool)
    masks[5] = False
    masks[5, 0, 0] = True
    with pytest.raises(ValueError, match="fewer than 2 pixels of image 5"):
        model.transform(images, masks)


def test_images_of_several_sizes(rng):
    images = [rng.normal(size=shape) for shape in [(8, 9), (5, 7), (8, 9)]]
    masks = [rng.random(image.shape) > 0.3 for image in images]
    estimator = RegionCovariance().fit(images)
    for given in (None, masks):
        alone = [
            estimator.transform(image[None], None if given is None else mask)[0]
            for image, mask in zip(images, masks, strict=True)
        ]
        together = estimator.transform(images, given)
        np.testing.assert_array_equal(together, alone)
    images[1][2, 2] = np.nan
    with pytest.raises(ValueError, match=r"X\[1\]: X\[0\] contains NaN"):
        estimator.transform(images)
    with pytest.raises(ValueError, match="list of 3 masks"):
        estimator.transform(images, masks[:2])
    colors = [rng.normal(size=(6, 7, n)) for n in (1, 2)]
    with pytest.raises(ValueError, match="same number of channels"):
        RegionCovariance(["x", "y", "channels"]).transform(colors)
