"""Fixtures: random matrices and distributions, data sets, arrays of other libraries."""

import os
from contextlib import ExitStack, contextmanager
from unittest import mock

# pytest runs one process per core (see setup.cfg), so threads would compete for cores.
# Libraries read these variables when they are imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

# scikit-learn requires this variable for arrays of libraries other than NumPy. It must
# be set before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest
from hypothesis import settings
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

# Property tests use a few fixed examples or, with HYPOTHESIS_PROFILE=nightly, many
# random examples. A failure prints how to reproduce its example.
settings.register_profile(
    "ci", max_examples=6, derandomize=True, deadline=None, database=None
)
settings.register_profile(
    "nightly", max_examples=100, deadline=None, database=None, print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Skip the collection of doctests in tests/, which contains none, to save time."""
    collectors = yield
    return [one for one in collectors if type(one).__name__ != "DoctestModule"]


def rare(*values):
    return pytest.param(values, marks=pytest.mark.exhaustive)


# (namespace, device, dtype) of arrays of other libraries: arrays on a device, which
# their library processes, and arrays in CPU memory, which NumPy processes. PyTorch
# tensors are in CPU memory, unless ``is_in_host_memory`` is replaced.
ON_DEVICE = [
    ("array_api_strict", "device1", "float64"),
    rare("array_api_strict", "device1", "float32"),
    rare("torch", "cpu as a device", "float64"),
    ("torch", "cpu as a device", "float32"),
]
IN_HOST_MEMORY = [
    ("array_api_strict", "CPU_DEVICE", "float64"),
    rare("torch", "cpu", "float64"),
    ("torch", "cpu", "float32"),
]


class ArrayLibrary:
    """Converts NumPy arrays to arrays of a library, with one device and one dtype.

    Attributes
    ----------
    xp : module
        The namespace.
    device, dtype
        Device of all arrays, and dtype of floating-point arrays.
    tolerance : float
        Largest difference between results and the results of NumPy in float64.
    """

    def __init__(self, name, device, dtype):
        from array_api_compat import array_namespace

        module = pytest.importorskip(name)
        self.name = name
        self.xp = array_namespace(module.asarray([1.0]))
        strict = name == "array_api_strict"
        self.device = module.Device(device) if strict else device.split()[0]
        self.dtype = dtype
        self.tolerance = 1e-6 if dtype == "float64" else 1e-4

    def array(self, values):
        """Convert values to this library; only floating-point dtypes change."""
        values = np.asarray(values)
        if values.dtype.kind == "f":
            values = values.astype(self.dtype)
        return self.xp.asarray(values, device=self.device)

    def is_mine(self, array):
        """Whether an array belongs to this library and is on this device."""
        from array_api_compat import array_namespace, device

        of_library = hasattr(array, "device") and not isinstance(array, np.ndarray)
        return (
            of_library
            and array_namespace(array) is self.xp
            and str(device(array)) == str(self.device)
        )


@contextmanager
def dispatched(name, device, dtype):
    """Yield an :class:`ArrayLibrary`, with array API dispatch enabled."""
    from sklearn import config_context

    from skgeom.utils._sklearn import ARRAY_API

    if not ARRAY_API:
        pytest.skip("Arrays of other libraries require scikit-learn >= 1.9.")
    made = ArrayLibrary(name, device, dtype)
    with config_context(array_api_dispatch=True), ExitStack() as stack:
        if device == "cpu as a device":
            for module in ("array_api", "validation"):
                name = f"skgeom.utils.{module}.is_in_host_memory"
                stack.enter_context(mock.patch(name, lambda array: False))
        yield made


def id_of(param):
    return "-".join(param).replace(" ", "-")


@pytest.fixture(params=ON_DEVICE + IN_HOST_MEMORY, ids=id_of)
def library(request):
    """Each library, device and dtype, with array API dispatch enabled."""
    with dispatched(*request.param) as made:
        yield made


@pytest.fixture(params=ON_DEVICE, ids=id_of)
def device_library(request):
    """Libraries whose arrays are on a device."""
    with dispatched(*request.param) as made:
        yield made


@pytest.fixture(params=IN_HOST_MEMORY, ids=id_of)
def host_library(request):
    """Libraries whose arrays are in CPU memory."""
    with dispatched(*request.param) as made:
        yield made


@pytest.fixture
def rng():
    return np.random.default_rng(2025)


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture
def wine_32(wine):
    """Values in single precision, which all libraries represent exactly."""
    return wine[0].astype(np.float32).astype(float), wine[1]


@pytest.fixture(scope="session")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture
def make_spd(rng):
    """Make SPD matrices, (*lead, n, n), of at most a given condition number.

    The eigenvalues are log-uniform around 1.
    """

    def make(lead, n, condition=10.0):
        vectors, _ = np.linalg.qr(rng.normal(size=(*lead, n, n)))
        eigenvalues = condition ** rng.uniform(-0.5, 0.5, size=(*lead, 1, n))
        matrices = (vectors * eigenvalues) @ vectors.mT
        return (matrices + matrices.mT) / 2

    return make


@pytest.fixture
def make_symmetric(rng):
    """Make symmetric, mostly indefinite matrices with entries of order 1."""

    def make(lead, n):
        matrices = rng.normal(size=(*lead, n, n))
        return (matrices + matrices.mT) / 2

    return make


@pytest.fixture
def make_gaussians(rng, make_spd):
    """Make means, (*lead, n), and covariances, (*lead, n, n)."""

    def make(lead, n, condition=10.0):
        return rng.normal(size=(*lead, n)), make_spd(lead, n, condition)

    return make


@pytest.fixture(scope="session")
def make_signals():
    """Make covariances of signals; in each class, another channel has more power."""

    def make(seed=0, per_class=20, size=4, n_classes=3):
        rng = np.random.default_rng(seed)
        y = np.repeat(np.arange(n_classes), per_class)
        data = rng.normal(size=(len(y), size, 30))
        data[np.arange(len(y)), y] *= 1.7
        mixing = rng.normal(size=(size, size))
        data = mixing @ data
        return data @ data.mT / 30, y

    return make
