"""Distances defined by functions, differentiated by autograd, torch or JAX."""

import inspect
import sys

import numpy as np

from skgeom.objectives._distance import Distance, DistanceTraits

# Accepted rounding error of a distance of zero, relative to the largest distance if it
# exceeds 1. With 0, equal classes raise an error (page "Constants").
_ROUNDING = 1e-12

_INDEPENDENT = "Its result does not depend on its arguments."


class CallableDistance(DistanceTraits):
    """Distance defined by a function of the moments of two classes.

    Parameters
    ----------
    function : callable
        ``function(means_a, covariances_a, means_b, covariances_b)`` maps the moments of
        p pairs, arrays of shapes (p, m), (p, m, m), (p, m) and (p, m, m), to p
        distances. It is written with ``autograd.numpy``, torch or JAX. The function is
        first called with arrays of autograd. If it raises an error, it is called with
        tensors of torch and then with arrays of JAX, if these libraries are imported.
        All arrays are in double precision and in CPU memory.

    Raises
    ------
    TypeError
        If the function does not accept four arguments, or is one of skgeom.geometry.
    """

    # The invariances of the function are unknown.
    affine_invariant = translation_invariant = rotation_invariant = False
    parallel = False  # autograd keeps a global stack

    def __init__(self, function):
        _check_signature(function)
        self.function = function
        self.name = getattr(function, "__name__", repr(function))
        self.known_symmetric = False
        # The libraries to try. After the first success, only that library.
        self._libraries = {"autograd": _by_autograd, "torch": _by_torch, "jax": _by_jax}

    def __call__(self, means, covariances):
        return _CalledDistance(means, covariances, self)

    def differentiate(self, moments):
        """The distances, and their VJP: a function of weights."""
        failure = None
        for name, library in self._libraries.items():
            # A function that uses a library has imported it.
            if failure is not None and name not in sys.modules:
                continue
            try:
                result = library(self.function, self.name, moments)
            except np.linalg.LinAlgError:
                raise
            except Exception as error:
                if failure is not None:
                    failure.add_note(f"With arrays of {name}, the error is: {error}")
                failure = failure or error
            else:
                self._libraries = {name: library}
                return result
        raise failure


class _CalledDistance(Distance):
    """The distance of a :class:`CallableDistance` for given projected classes."""

    def __init__(self, means, covariances, parent):
        super().__init__(means, covariances)
        self._parent = parent

    def pairs(self, i, j):
        moments = self.means[i], self.covariances[i], self.means[j], self.covariances[j]
        values, pull_back = self._parent.differentiate(moments)
        values = self._checked(values, i, j)
        if not self._parent.known_symmetric:
            self._check_symmetric(values, moments)

        def gradient(weights):
            try:
                mean_i, covariance_i, mean_j, covariance_j = pull_back(weights)
            except Exception as error:
                message = _not_differentiable(self._parent.name, error)
                raise ValueError(message) from error
            # autograd ignores that covariances are symmetric.
            of_i, of_j = (
                np.concatenate([(of + of.mT) / 2, mean[..., None]], axis=-1)
                for of, mean in ((covariance_i, mean_i), (covariance_j, mean_j))
            )
            self._check_gradients(of_i + of_j, i, j)
            return self.of_pairs(of_i, of_j)

        return values, gradient

    def _checked(self, values, i, j):
        finite = np.abs(values[np.isfinite(values)])
        rounding = _ROUNDING * finite.max(initial=1)
        wrong = np.isnan(values) | (values < -rounding)
        if wrong.any():
            pair = np.flatnonzero(wrong)[0]
            raise ValueError(
                f"The distance {self._parent.name} must return nonnegative numbers, "
                f"got {values[pair]} for classes with indices {i[pair]} and {j[pair]}."
            )
        if np.isinf(values).any():
            raise np.linalg.LinAlgError("A distance is infinite.")
        return np.maximum(values, 0)

    def _check_symmetric(self, values, moments):
        swapped, _ = self._parent.differentiate((*moments[2:], *moments[:2]))
        atol = 1e-9 * np.abs(values).max() + _ROUNDING
        if not np.allclose(swapped, values, rtol=1e-6, atol=atol):
            raise ValueError(
                f"The distance {self._parent.name} must be symmetric, but it changes "
                "when the two classes are exchanged, so the result would depend on "
                "the order of the labels. Return the sum of the values for both orders."
            )
        self._parent.known_symmetric = True

    def _check_gradients(self, gradients, i, j):
        wrong = ~np.isfinite(gradients).all(axis=(1, 2))
        if wrong.any():
            pair = np.flatnonzero(wrong)[0]
            raise ValueError(
                f"The derivative of the distance {self._parent.name} is not finite for "
                f"the classes with indices {i[pair]} and {j[pair]}. A square root has "
                "no derivative at 0. Add a small positive number to the argument of "
                "the square root."
            )


def _by_autograd(function, name, moments):
    from autograd import make_vjp
    from autograd.tracer import getval, isbox

    traced = None

    def recorded(*moments):
        nonlocal traced
        traced = function(*moments)
        return traced

    try:
        pull_back, _ = make_vjp(recorded, argnum=(0, 1, 2, 3))(*moments)
    except np.linalg.LinAlgError:
        raise
    except Exception as error:
        values = function(*moments)  # raises the errors that autograd did not cause
        _check_shape(values, name, moments)
        raise ValueError(_not_differentiable(name, error)) from error
    if not isbox(traced):
        # NumPy functions can convert the objects of autograd to arrays.
        _check_shape(function(*moments), name, moments)
        raise ValueError(_not_differentiable(name))
    values = np.asarray(getval(traced))
    _check_shape(values, name, moments)
    return values, pull_back


def _by_torch(function, name, moments):
    import torch

    tensors = [torch.tensor(array, requires_grad=True) for array in moments]
    try:
        traced = function(*tensors)
    except torch.linalg.LinAlgError as error:
        raise np.linalg.LinAlgError(str(error)) from error
    values = traced.detach().numpy()
    _check_shape(values, name, moments)

    def pull_back(weights):
        weights = torch.as_tensor(weights, dtype=traced.dtype)
        gradients = torch.autograd.grad(
            traced, tensors, weights, retain_graph=True, materialize_grads=True
        )
        return [gradient.numpy() for gradient in gradients]

    if not traced.requires_grad:
        raise ValueError(_INDEPENDENT)
    return values, pull_back


def _by_jax(function, name, moments):
    import jax

    # JAX computes in single precision by default.
    enable_x64 = getattr(jax, "enable_x64", None)
    if enable_x64 is None:  # older versions
        from jax.experimental import enable_x64
    traced = None

    def recorded(*moments):
        nonlocal traced
        traced = function(*moments)
        return traced

    with enable_x64(True):
        values, of_moments = jax.vjp(recorded, *moments)
    _check_shape(values, name, moments)
    if not isinstance(traced, jax.core.Tracer):
        raise ValueError(_INDEPENDENT)

    def pull_back(weights):
        with enable_x64(True):
            gradients = of_moments(jax.numpy.asarray(weights, dtype=values.dtype))
        return [np.asarray(gradient) for gradient in gradients]

    return np.asarray(values), pull_back


def _check_shape(values, name, moments):
    values, n_pairs = np.asarray(values), len(moments[0])
    if values.shape != (n_pairs,) or values.dtype.kind not in "fiu":
        raise ValueError(
            f"The distance {name} must return a real number for each of the "
            f"{n_pairs} pairs, an array of shape ({n_pairs},), got shape "
            f"{values.shape} and dtype {values.dtype}."
        )


def _not_differentiable(name, error=None):
    reason = "" if error is None else f" The first error is: {error}"
    return (
        f"The distance {name} cannot be differentiated: autograd cannot trace its "
        "result back to its arguments. Use autograd.numpy, torch or JAX instead of "
        "numpy, scipy or skgeom.geometry. Use only functions that the library can "
        f"differentiate, and do not assign to parts of arrays.{reason}"
    )


def _check_signature(function):
    name = getattr(function, "__name__", repr(function))
    if (getattr(function, "__module__", None) or "").startswith("skgeom.geometry"):
        raise TypeError(
            f"The functions of skgeom.geometry, such as {name}, cannot be "
            "differentiated. Set distance to the name of a distance, or to a function "
            "written with autograd.numpy."
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions of extensions have none
        return
    try:
        signature.bind(*range(4))
    except TypeError as error:
        raise TypeError(
            f"The distance {name} must accept four arguments, means_a, covariances_a, "
            f"means_b and covariances_b, but it accepts {signature}: {error}."
        ) from None
