"""Distances that the user writes, differentiated by autograd, torch or JAX."""

import inspect
import sys

import numpy as np

from skgeom.objectives._base_distance import Distance, DistanceTraits, stacked

# What rounding makes of a zero: relative to the other values, and after numbers of
# order 1 were added and subtracted.
_RELATIVE, _ABSOLUTE = 1e-12, 100 * np.finfo(float).eps


_INDEPENDENT = "Its result does not depend on its arguments."


class CallableDistance(DistanceTraits):
    """A function of the moments of pairs of classes as a distance.

    Parameters
    ----------
    function : callable
        ``function(means_a, covariances_a, means_b, covariances_b)`` maps stacks of
        shapes (p, m), (p, m, m), (p, m) and (p, m, m), the moments of p pairs, to p
        distances, in terms of ``autograd.numpy``, torch or JAX. It is given what
        autograd can follow first; if it refuses that, tensors of torch, and then arrays
        of JAX, in double precision and on the host, of those that are imported.

    Raises
    ------
    TypeError
        If the function does not take four arguments, or is one of skgeom.geometry.
    """

    # For all that is known.
    affine_invariant = translation_invariant = rotation_invariant = False
    parallel = False  # autograd keeps a global stack

    def __init__(self, function):
        _check_signature(function)
        self.function = function
        self.known_symmetric = False
        self.differentiate = None  # of the library that it is written with, once known

    def __call__(self, means, covariances):
        return _CalledDistance(means, covariances, self)


class _CalledDistance(Distance):
    def __init__(self, means, covariances, parent):
        super().__init__(means, covariances)
        self._parent = parent
        self._function = parent.function
        self._name = getattr(parent.function, "__name__", repr(parent.function))

    def pairs(self, i, j):
        moments = self.means[i], self.covariances[i], self.means[j], self.covariances[j]
        values, pull_back = self._differentiate(moments)
        values = self._checked(values, i, j)
        if not self._parent.known_symmetric:
            self._check_symmetric(values, moments)

        def gradient(weights):
            try:
                mean_i, covariance_i, mean_j, covariance_j = pull_back(weights)
            except Exception as error:
                raise ValueError(self._not_differentiable(error)) from error
            parts = (covariance_i, mean_i), (covariance_j, mean_j)
            self._check_gradients(parts, i, j)
            # autograd knows nothing of the symmetry of covariances.
            of_i, of_j = (
                stacked((covariance + covariance.mT) / 2, mean)
                for covariance, mean in parts
            )
            return self.by_class(i, j, of_i, of_j)

        return values, gradient

    def _differentiate(self, moments):
        """The values, and a function from their weights to gradients of the moments."""
        parent = self._parent
        if parent.differentiate is None:
            result, parent.differentiate = self._by_any(moments)
            return result
        return parent.differentiate(self, moments)

    def _by_any(self, moments):
        """The result by the first library that takes the function, and its method."""
        try:
            return self._by_autograd(moments), _CalledDistance._by_autograd
        except np.linalg.LinAlgError:
            raise
        except Exception as error:
            # Who writes a function with a library has imported it.
            for name, method in _OTHERS.items():
                if name in sys.modules:
                    try:
                        return method(self, moments), method
                    except np.linalg.LinAlgError:
                        raise
                    except Exception as other:
                        error.add_note(f"Given arrays of {name}, it fails by: {other}")
            raise

    def _by_torch(self, moments):
        import torch

        tensors = [torch.tensor(array, requires_grad=True) for array in moments]
        try:
            traced = self._function(*tensors)
        except torch.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(str(error)) from error
        values = traced.detach().numpy()
        self._check_shape(values, moments)

        def pull_back(weights):
            weights = torch.as_tensor(weights, dtype=traced.dtype)
            gradients = torch.autograd.grad(
                traced, tensors, weights, retain_graph=True, materialize_grads=True
            )
            return [gradient.numpy() for gradient in gradients]

        if not traced.requires_grad:
            raise ValueError(_INDEPENDENT)
        return values, pull_back

    def _by_jax(self, moments):
        import jax

        # JAX computes in single precision unless it is asked for more.
        enable_x64 = getattr(jax, "enable_x64", None)
        if enable_x64 is None:  # older versions
            from jax.experimental import enable_x64
        traced = None

        def function(*moments):
            nonlocal traced
            traced = self._function(*moments)
            return traced

        with enable_x64(True):
            values, of_moments = jax.vjp(function, *moments)
        self._check_shape(values, moments)
        if not isinstance(traced, jax.core.Tracer):
            raise ValueError(_INDEPENDENT)

        def pull_back(weights):
            with enable_x64(True):
                gradients = of_moments(jax.numpy.asarray(weights, dtype=values.dtype))
            return [np.asarray(gradient) for gradient in gradients]

        return np.asarray(values), pull_back

    def _by_autograd(self, moments):
        from autograd import make_vjp
        from autograd.tracer import getval, isbox

        traced = None

        def function(*moments):
            nonlocal traced
            traced = self._function(*moments)
            return traced

        try:
            pull_back, _ = make_vjp(function, argnum=(0, 1, 2, 3))(*moments)
        except np.linalg.LinAlgError:
            raise
        except Exception as error:
            values = self._function(*moments)  # raises what is not due to autograd
            self._check_shape(values, moments)
            raise ValueError(self._not_differentiable(error)) from error
        if not isbox(traced):
            # Functions of numpy can make arrays of autograd's objects.
            self._check_shape(self._function(*moments), moments)
            raise ValueError(self._not_differentiable())
        values = getval(traced)
        self._check_shape(values, moments)
        return np.asarray(values), pull_back

    def _check_shape(self, values, moments):
        values, n_pairs = np.asarray(values), len(moments[0])
        if values.shape != (n_pairs,) or values.dtype.kind not in "fiu":
            raise ValueError(
                f"The distance {self._name} must return a real number for each of the "
                f"{n_pairs} pairs that it is given, an array of shape ({n_pairs},), "
                f"got shape {values.shape} and dtype {values.dtype}."
            )

    def _checked(self, values, i, j):
        finite = np.abs(values[np.isfinite(values)])
        rounding = _RELATIVE * finite.max(initial=0) + _ABSOLUTE
        wrong = np.isnan(values) | (values < -rounding)
        if wrong.any():
            pair = np.flatnonzero(wrong)[0]
            raise ValueError(
                f"The distance {self._name} must return numbers of at least 0, got "
                f"{values[pair]} for the classes of index {i[pair]} and {j[pair]}."
            )
        if np.isinf(values).any():
            raise np.linalg.LinAlgError("A distance is infinite.")
        return np.maximum(values, 0)

    def _check_symmetric(self, values, moments):
        swapped, _ = self._differentiate((*moments[2:], *moments[:2]))
        atol = 1e-9 * np.abs(values).max() + _ABSOLUTE
        if not np.allclose(swapped, values, rtol=1e-6, atol=atol):
            raise ValueError(
                f"The distance {self._name} must be symmetric, but it changes when the "
                "two classes are exchanged, so that the result would depend on the "
                "order of the labels. Take the sum of both directions."
            )
        self._parent.known_symmetric = True

    def _not_differentiable(self, error=None):
        reason = "" if error is None else f" The first error is: {error}"
        return (
            f"The distance {self._name} cannot be differentiated: autograd cannot "
            "follow its result back to its arguments. Use autograd.numpy in the place "
            "of numpy, scipy or skgeom.geometry, or use torch or JAX, those of its "
            "functions that it can differentiate, and no assignments to parts of "
            f"arrays.{reason}"
        )

    def _check_gradients(self, parts, i, j):
        for of_i, of_j in zip(*parts, strict=True):
            both = (of_i + of_j).reshape(len(i), -1)
            wrong = ~np.isfinite(both).all(axis=1)
            if wrong.any():
                pair = np.flatnonzero(wrong)[0]
                raise ValueError(
                    f"The derivative of the distance {self._name} is not finite for "
                    f"the classes of index {i[pair]} and {j[pair]}. A square root has "
                    "none where two classes coincide: add a small positive number "
                    "under it."
                )


# What is tried if autograd cannot follow a function.
_OTHERS = {"torch": _CalledDistance._by_torch, "jax": _CalledDistance._by_jax}


def _check_signature(function):
    name = getattr(function, "__name__", repr(function))
    if (getattr(function, "__module__", None) or "").startswith("skgeom.geometry"):
        raise TypeError(
            f"The functions of skgeom.geometry, such as {name}, cannot be "
            "differentiated; give the name of a distance, or a function written with "
            "autograd.numpy."
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions of extensions have none
        return
    try:
        signature.bind(*range(4))
    except TypeError as error:
        raise TypeError(
            f"The distance {name} must take four arguments, means_a, covariances_a, "
            f"means_b and covariances_b, but it takes {signature}: {error}."
        ) from None
