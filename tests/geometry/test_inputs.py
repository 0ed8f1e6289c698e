"""What every public function of the geometry does with good and with bad arguments."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgeom import geometry
from skgeom.utils.array_api import to_numpy

# Each function, with the kind of each array that it accepts.
ARGUMENTS = {
    "calvo_oller_embedding": ("mean", "symmetric"),
    "distance_affine_invariant": ("spd", "spd"),
    "distance_calvo_oller": ("mean", "spd", "mean", "spd"),
    "distance_fisher_rao": ("mean", "spd", "mean", "spd"),
    "distance_fisher_rao_diagonal": ("mean", "variances", "mean", "variances"),
    "distance_fisher_rao_equal_covariance": ("mean", "mean", "spd"),
    "expm": ("symmetric",),
    "generalized_eigenvalues": ("symmetric", "spd"),
    "invsqrtm": ("spd",),
    "logm": ("spd",),
    "real_embedding": ("symmetric",),
    "sqrtm": ("spd",),
    "whiten": ("symmetric", "spd"),
}
# Functions of Gaussian distributions accept real numbers only.
OF_GAUSSIANS = [name for name, kinds in ARGUMENTS.items() if "mean" in kinds]
MATRICES = "spd", "symmetric"
VECTORS = "mean", "variances"


@pytest.fixture
def make_arguments(rng, make_spd, make_symmetric):
    def make(kinds, lead=(2, 3), n=3, condition=10.0):
        makers = {
            "mean": lambda: rng.normal(size=(*lead, n)),
            "spd": lambda: make_spd(lead, n, condition),
            "symmetric": lambda: make_symmetric(lead, n),
            "variances": lambda: rng.uniform(0.5, 2, size=(*lead, n)),
        }
        return [makers[kind]() for kind in kinds]

    return make


def test_every_public_function_is_tested():
    # A mean reduces a stack, and maps of Gaussians return two arrays; these have tests
    # of their own.
    others = {"mean_affine_invariant", "geodesic_fisher_rao"}
    others |= {"exp_map_fisher_rao", "log_map_fisher_rao"}
    assert {*ARGUMENTS, *others} == set(geometry.__all__)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_stacks_equal_loops_and_stay_as_they_are(name, make_arguments):
    function, arguments = getattr(geometry, name), make_arguments(ARGUMENTS[name])
    arguments = [np.asfortranarray(array) for array in arguments]
    copies = [array.copy() for array in arguments]
    for array in arguments:
        array.flags.writeable = False
    result = function(*arguments)
    for index in np.ndindex(2, 3):
        single = function(*(array[index] for array in copies))
        assert_allclose(result[index], single, rtol=1e-12, atol=1e-14)
    for array, copy in zip(arguments, copies, strict=True):
        assert np.array_equal(array, copy)
    empty = function(*(array[:0] for array in arguments))
    assert empty.shape == (0, *result.shape[1:])
    if len(arguments) > 1:
        with pytest.raises(ValueError, match="broadcast"):
            function(np.repeat(arguments[0], 2, axis=0), *arguments[1:])
        for position, array in enumerate(copies):  # a table of all pairs
            columns = [copy[0] for copy in copies]
            columns[position] = array[:, :1]
            pairs = zip(columns, copies, strict=True)
            expected = function(*(np.broadcast_to(one, a.shape) for one, a in pairs))
            assert_allclose(function(*columns), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_float32_is_computed_in_float64(name, make_arguments):
    function = getattr(geometry, name)
    # At this condition, a factorisation in float32 is wrong in the third digit.
    arguments = make_arguments(ARGUMENTS[name], condition=1e4)
    single = [array.astype(np.float32) for array in arguments]
    double = [array.astype(np.float64) for array in single]
    result, expected = function(*single), function(*double)
    assert result.dtype == np.float32
    assert_allclose(result, expected, rtol=1e-7, atol=0)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_lists_of_integers_are_accepted(name):
    examples = {
        "mean": [1, -2],
        "spd": [[2, 1], [1, 3]],
        "symmetric": [[1, 2], [2, 0]],
        "variances": [1, 2],
    }
    arguments = [examples[kind] for kind in ARGUMENTS[name]]
    function = getattr(geometry, name)
    result = function(*arguments)
    assert result.dtype == np.float64
    expected = function(*(np.array(argument, dtype=float) for argument in arguments))
    assert np.array_equal(result, expected)


def spoilt(change):
    """A change of the element [1, 2] of a stack."""

    def spoil(stack):
        stack = stack.copy()
        stack[1, 2] = change(stack[1, 2])
        return stack

    return spoil


def with_smallest_eigenvalue(matrix):
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return (vectors * [-1e-4, *eigenvalues[1:]]) @ vectors.T


# The kinds of arguments, what is done to them, and the message after their name.
BAD = [
    (MATRICES + VECTORS, spoilt(lambda a: a * np.nan), "[1, 2] contains NaN"),
    (MATRICES + VECTORS, spoilt(lambda a: a * np.inf), "[1, 2] contains NaN or inf"),
    (MATRICES, spoilt(lambda a: a + 0.25 * np.eye(3, k=1)), "[1, 2] is not symmetric"),
    (("spd",), spoilt(with_smallest_eigenvalue), "[1, 2] is not positive definite"),
    (MATRICES, lambda _: np.ones((3, 2)), " must be a stack of square"),
    (MATRICES, lambda _: np.float64(1), " must be a stack of square"),
    (MATRICES, lambda _: np.ones((2, 0, 0)), " must not be empty"),
    (("mean",), lambda _: np.float64(1), " must have shape (..., m)"),
    (("mean",), lambda _: np.ones((3, 1)), " must have shape (..., m)"),
    (("variances",), lambda a: 0 * a, "[0, 0, 0] is not positive: it is 0"),
]


@pytest.mark.parametrize(("kinds", "change", "message"), BAD)
def test_bad_argument_is_named(kinds, change, message, make_arguments):
    for name, arguments_kinds in ARGUMENTS.items():
        function = getattr(geometry, name)
        parameters = list(inspect.signature(function).parameters)
        for position, kind in enumerate(arguments_kinds):
            if kind not in kinds:
                continue
            arguments = make_arguments(ARGUMENTS[name])
            arguments[position] = change(arguments[position])
            with pytest.raises(ValueError) as info:
                function(*arguments)
            assert str(info.value).startswith(parameters[position] + message)


# The arguments that must be positive definite, of all functions.
DEFINITE = ARGUMENTS | {
    "exp_map_fisher_rao": ("mean", "spd", "mean", "symmetric"),
    "log_map_fisher_rao": ("mean", "spd", "mean", "spd"),
    "mean_affine_invariant": ("spd",),
}


def test_singular_matrices_that_rounding_makes_definite(rng, make_arguments):
    """Average-referenced signals in units far apart, whatever the order of channels."""
    signals = rng.normal(size=(40, 3, 200)) * np.array([[1], [1e-2], [1e2]])
    signals = signals - signals.mean(axis=1, keepdims=True)
    units = np.array([1, 1e-6, 1e3])
    singular = units[:, None] * (signals @ signals.mT / 200) * units
    accepted = []
    for matrix in singular:
        for order in ([0, 1, 2], [2, 0, 1]):
            try:
                np.linalg.cholesky(matrix[order][:, order])
            except np.linalg.LinAlgError:
                continue
            accepted.append(matrix[order][:, order])
    assert len(accepted) > 20  # by NumPy
    for name, kinds in DEFINITE.items():
        for position in np.flatnonzero(np.array(kinds) == "spd"):
            arguments = make_arguments(kinds, lead=())
            for matrix in accepted[::4]:
                one = matrix[None] if name == "mean_affine_invariant" else matrix
                arguments[position] = one
                with pytest.raises(ValueError, match="is not positive definite"):
                    getattr(geometry, name)(*arguments)
    regular = singular + 1e-3 * np.eye(3) * np.diagonal(singular, 0, 1, 2)[:, None]
    assert np.isfinite(geometry.distance_affine_invariant(regular, regular[0])).all()


@pytest.mark.parametrize(
    "array", [np.eye(3) * 1j, np.eye(3, dtype=object), np.full((3, 3), "a"), None]
)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_other_than_numbers_are_refused(name, array, make_arguments):
    function, (_, *others) = getattr(geometry, name), make_arguments(ARGUMENTS[name])
    if name not in OF_GAUSSIANS and np.iscomplexobj(array):
        with pytest.raises(ValueError, match="is not Hermitian"):
            function(array, *others)
        return
    kinds = "real" if name in OF_GAUSSIANS else "real or complex"
    with pytest.raises(TypeError, match=f"must hold {kinds} numbers, got dtype "):
        function(array, *others)


def test_index_is_that_in_the_argument_when_pairs_broadcast(make_spd):
    a, b = make_spd((4,), 3), make_spd((4,), 3)
    b[2] *= -1
    with pytest.raises(ValueError, match=r"\[2\] is not positive .* Check how"):
        geometry.distance_affine_invariant(a[:, None], b)
    with pytest.raises(ValueError, match=r"^matrices is not positive definite"):
        geometry.logm(np.diag([1.0, -1.0]))
    for function in (geometry.distance_affine_invariant, geometry.whiten):
        with pytest.raises(ValueError, match=r"must have .* same last"):
            function(np.eye(2), np.eye(3))
    for function in (geometry.distance_calvo_oller, geometry.distance_fisher_rao):
        with pytest.raises(ValueError, match="must have the same last dimension"):
            function([0, 0], np.eye(2), [0, 0, 0], np.eye(3))
    with pytest.raises(ValueError, match="must have the same last dimension"):
        geometry.distance_fisher_rao_diagonal([0, 0], [1, 1], [0, 0, 0], [1, 1, 1])


@pytest.mark.parametrize("name", [k for k, v in ARGUMENTS.items() if "spd" in v])
def test_singular_float32_matrices_are_refused(name, make_arguments):
    """Rounding to float32 makes half of them positive definite in float64."""
    kinds, centering = ARGUMENTS[name], np.eye(3) - 1 / 3
    arguments = [array.astype(np.float32) for array in make_arguments(kinds)]
    for position in np.flatnonzero(np.equal(kinds, "spd")):
        for matrix in arguments[position].reshape(-1, 3, 3):
            singular = (centering @ matrix @ centering).astype(np.float32)
            changed = [array[0, 0] for array in arguments]
            changed[position] = singular
            with pytest.raises(ValueError, match=r"definite.* float64, not in float"):
                getattr(geometry, name)(*changed)


@pytest.mark.parametrize("name", ["sqrtm", "invsqrtm", "logm"])
def test_channels_of_very_different_amplitudes(name, make_spd):
    """Positive definite matrices, for which shrinkage would be the wrong remedy."""
    matrices, scales = make_spd((2,), 4), np.array([1, 1, 1, 1e9])
    matrices[1] *= np.outer(scales, scales)
    function, remedy = getattr(geometry, name), r"\[1\] differ too much .* Divide each"
    with pytest.raises(ValueError, match=f"amplitudes of the channels of .*{remedy}"):
        function(matrices)


# Arrays of other libraries: the same results, of the same library.

# Those that return distances, which have a gradient but for the one found by a search.
DISTANCES = [n for n in ARGUMENTS if n[:8] == "distance" and n[-3:] != "rao"]


@pytest.mark.parametrize("name", [*ARGUMENTS, "mean_affine_invariant"])
def test_results_are_those_of_numpy_where_the_arrays_are(name, library, make_arguments):
    arguments = make_arguments(ARGUMENTS.get(name, ("spd",)), lead=(5,))
    function = getattr(geometry, name)
    # What the library rounds to single precision is rounded for numpy as well.
    rounded = [array.astype(library.dtype) for array in arguments]
    expected = function(*rounded)
    found = function(*map(library.array, rounded))
    assert library.is_mine(found)
    assert found.dtype == getattr(library.xp, library.dtype)
    assert_allclose(to_numpy(found), expected, rtol=library.tolerance, atol=1e-7)


@pytest.mark.parametrize("name", DISTANCES)
def test_distances_have_the_gradients_of_torch(name, make_arguments):
    torch = pytest.importorskip("torch")
    arguments = make_arguments(ARGUMENTS[name], lead=())
    tensors = [torch.tensor(array, requires_grad=True) for array in arguments]
    distance = getattr(geometry, name)
    distance(*tensors).backward()
    rng = np.random.default_rng(0)
    for i, array in enumerate(arguments):
        step = rng.normal(size=array.shape)
        if step.ndim == 2:
            step = step + step.T
        there, back = ([*arguments] for _ in range(2))
        there[i], back[i] = array + 1e-6 * step, array - 1e-6 * step
        slope = (distance(*there) - distance(*back)) / 2e-6
        found = (tensors[i].grad.numpy() * step).sum()
        assert_allclose(found, slope, rtol=1e-6, atol=1e-8)
