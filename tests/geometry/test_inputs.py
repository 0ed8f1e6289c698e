"""What every public function of the geometry does with good and with bad arguments."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgeom import geometry

# Each function, with the kind of each array that it takes.
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


def positions(*kinds):
    """(function name, position) of all arguments of some kinds."""
    return [
        (name, position)
        for name, arguments in ARGUMENTS.items()
        for position, kind in enumerate(arguments)
        if kind in kinds
    ]


MATRICES = positions("spd", "symmetric")
SPD = positions("spd")
MEANS = positions("mean")
VECTORS = positions("mean", "variances")
VARIANCES = positions("variances")


def parameter(name, position):
    """The name of an argument."""
    return list(inspect.signature(getattr(geometry, name)).parameters)[position]


@pytest.fixture
def make_arguments(rng, make_spd, make_symmetric):
    def make(name, lead=(2, 3), n=3, condition=10.0):
        makers = {
            "mean": lambda: rng.normal(size=(*lead, n)),
            "spd": lambda: make_spd(lead, n, condition),
            "symmetric": lambda: make_symmetric(lead, n),
            "variances": lambda: rng.uniform(0.5, 2, size=(*lead, n)),
        }
        return [makers[kind]() for kind in ARGUMENTS[name]]

    return make


@pytest.fixture
def error_of(make_arguments):
    """Call a function with one argument changed; return the error as text."""

    def call(name, position, change, error=ValueError):
        arguments = make_arguments(name)
        arguments[position] = change(arguments[position])
        with pytest.raises(error) as info:
            getattr(geometry, name)(*arguments)
        return str(info.value)

    return call


def spoil(matrices, change):
    """Copy of a stack, (2, 3, ...), with the change made to its element [1, 2]."""
    spoiled = matrices.copy()
    spoiled[1, 2] = change(spoiled[1, 2])
    return spoiled


def with_entry(value, *index):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


def with_smallest_eigenvalue(value):
    def change(matrix):
        eigenvalues, vectors = np.linalg.eigh(matrix)
        eigenvalues[0] = value
        return (vectors * eigenvalues) @ vectors.T

    return change


def test_every_public_function_is_tested():
    of_stacks = {"mean_affine_invariant"}  # reduces a stack, and has tests of its own
    assert {*ARGUMENTS, *of_stacks} == set(geometry.__all__)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_stack_equals_loop(name, make_arguments):
    function, arguments = getattr(geometry, name), make_arguments(name)
    result = function(*arguments)
    for index in np.ndindex(2, 3):
        single = function(*(array[index] for array in arguments))
        assert_allclose(result[index], single, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_empty_stack_gives_empty_result(name, make_arguments):
    function, arguments = getattr(geometry, name), make_arguments(name, lead=(2,))
    expected = function(*arguments)
    result = function(*(array[:0] for array in arguments))
    assert result.shape == (0, *expected.shape[1:])


@pytest.mark.parametrize("name", ARGUMENTS)
def test_float32_is_computed_in_float64(name, make_arguments):
    function = getattr(geometry, name)
    # At this condition, a factorisation in float32 is wrong in the third digit.
    arguments = make_arguments(name, condition=1e4)
    single = [array.astype(np.float32) for array in arguments]
    double = [array.astype(np.float64) for array in single]
    result, expected = function(*single), function(*double)
    assert result.dtype == np.float32
    assert_allclose(result, expected, rtol=1e-7, atol=0)
    one = function(*(array[0, 0] for array in single))
    assert one.dtype == np.float32


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


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_inputs_may_be_read_only_and_are_not_modified(name, order, make_arguments):
    arguments = [np.array(array, order=order) for array in make_arguments(name)]
    copies = [array.copy() for array in arguments]
    for array in arguments:
        array.flags.writeable = False
    function = getattr(geometry, name)
    assert_allclose(function(*arguments), function(*copies), rtol=1e-13, atol=1e-14)
    for array, copy in zip(arguments, copies, strict=True):
        assert np.array_equal(array, copy)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("name", "position"), MATRICES)
def test_matrix_with_nan_or_infinity_is_named(name, position, value, error_of):
    message = error_of(name, position, lambda a: spoil(a, with_entry(value, 0, 0)))
    expected = f"{parameter(name, position)}[1, 2] contains NaN or infinity"
    assert message.startswith(expected)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(("name", "position"), VECTORS)
def test_vector_with_nan_or_infinity_is_named(name, position, value, error_of):
    message = error_of(name, position, lambda a: spoil(a, with_entry(value, 1)))
    expected = f"{parameter(name, position)}[1, 2] contains NaN or infinity"
    assert message.startswith(expected)


@pytest.mark.parametrize(("name", "position"), MATRICES)
def test_asymmetric_matrix_is_named(name, position, error_of):
    def skew(matrix):
        return matrix + 0.25 * np.eye(3, k=1)

    message = error_of(name, position, lambda a: spoil(a, skew))
    assert message.startswith(f"{parameter(name, position)}[1, 2] is not symmetric")
    assert "by up to 0.25" in message
    assert "(A + A.T) / 2" in message


@pytest.mark.parametrize("value", [-0.5, -1e-4])
@pytest.mark.parametrize(("name", "position"), SPD)
def test_indefinite_matrix_is_named(name, position, value, error_of):
    change = with_smallest_eigenvalue(value)
    message = error_of(name, position, lambda a: spoil(a, change))
    expected = f"{parameter(name, position)}[1, 2] is not positive definite"
    assert message.startswith(expected)
    assert f"its smallest eigenvalue is {value:.3g}" in message
    assert "Add a small multiple of the identity" in message


@pytest.mark.parametrize("name", ["distance_affine_invariant", "distance_calvo_oller"])
def test_index_is_that_in_the_argument_when_pairs_broadcast(name, make_arguments):
    arguments = make_arguments(name, lead=(4,))
    arguments[-1] = arguments[-1].copy()
    arguments[-1][2] *= -1
    half = len(arguments) // 2
    pairs = [array[:, None] for array in arguments[:half]] + arguments[half:]
    expected = rf"{parameter(name, len(arguments) - 1)}\[2\] is not positive definite"
    with pytest.raises(ValueError, match=expected):
        getattr(geometry, name)(*pairs)


def test_single_bad_matrix_has_no_index():
    with pytest.raises(ValueError, match=r"^matrices is not positive definite"):
        geometry.logm(np.diag([1.0, -1.0]))


@pytest.mark.parametrize("shape", [(), (3,), (3, 2), (2, 3, 1)])
@pytest.mark.parametrize(("name", "position"), MATRICES)
def test_matrices_that_are_not_square_are_named(name, position, shape, error_of):
    message = error_of(name, position, lambda _: np.ones(shape))
    assert message.startswith(f"{parameter(name, position)} must be a stack of square")
    assert str(shape) in message


@pytest.mark.parametrize(("name", "position"), MATRICES)
def test_matrices_of_order_zero_are_refused(name, position, error_of):
    message = error_of(name, position, lambda _: np.ones((2, 0, 0)))
    assert message.startswith(f"{parameter(name, position)} must not be empty")


@pytest.mark.parametrize("shape", [(), (2,), (3, 1)])
@pytest.mark.parametrize(("name", "position"), MEANS)
def test_means_that_do_not_fit_are_named(name, position, shape, error_of):
    message = error_of(name, position, lambda _: np.ones(shape))
    assert message.startswith(f"{parameter(name, position)} must have shape (..., m)")
    assert str(shape) in message


@pytest.mark.parametrize("value", [0.0, -1e-4])
@pytest.mark.parametrize(("name", "position"), VARIANCES)
def test_variance_that_is_not_positive_is_named(name, position, value, error_of):
    message = error_of(name, position, lambda a: spoil(a, with_entry(value, 0)))
    expected = (
        f"{parameter(name, position)}[1, 2, 0] is not positive: it is {value:.3g}"
    )
    assert message.startswith(expected)


@pytest.mark.parametrize("name", ["distance_affine_invariant", "whiten"])
def test_matrices_of_two_sizes_are_refused(name):
    expected = f"{parameter(name, 0)} and {parameter(name, 1)} must hold .* one size"
    with pytest.raises(ValueError, match=expected):
        getattr(geometry, name)(np.eye(2), np.eye(3))


@pytest.mark.parametrize("name", ["distance_calvo_oller", "distance_fisher_rao"])
def test_gaussians_of_two_sizes_are_refused(name):
    with pytest.raises(ValueError, match="must have the same last dimension"):
        getattr(geometry, name)([0, 0], np.eye(2), [0, 0, 0], np.eye(3))


@pytest.mark.parametrize("name", [n for n, kinds in ARGUMENTS.items() if kinds[1:]])
def test_stacks_that_do_not_broadcast_are_refused(name, make_arguments):
    first, *others = make_arguments(name, lead=(3,))
    with pytest.raises(ValueError, match="broadcast"):
        getattr(geometry, name)(first[:2], *others)


# The functions of Gaussian distributions, which are real.
OF_GAUSSIANS = [name for name, kinds in ARGUMENTS.items() if "mean" in kinds]


@pytest.mark.parametrize(
    "array",
    [np.eye(3) * 1j, np.eye(3, dtype=object), np.full((3, 3), "a"), None],
    ids=["complex", "object", "text", "None"],
)
@pytest.mark.parametrize(("name", "position"), MATRICES + VECTORS)
def test_other_than_numbers_are_refused(name, position, array, error_of):
    if name not in OF_GAUSSIANS and np.iscomplexobj(array):
        message = error_of(name, position, lambda _: array, ValueError)
        assert message.startswith(f"{parameter(name, position)} is not Hermitian")
        return
    message = error_of(name, position, lambda _: array, TypeError)
    kinds = "real" if name in OF_GAUSSIANS else "real or complex"
    expected = f"{parameter(name, position)} must hold {kinds} numbers, got dtype "
    assert message == f"{expected}{np.asarray(array).dtype}."
