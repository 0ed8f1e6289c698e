"""Networks of torch as logits, of which torch computes the derivatives.

torch and skorch are not imported to recognise their objects: if they were not imported
before, there are none.
"""

import sys
from contextlib import contextmanager

import numpy as np
from sklearn import get_config
from sklearn.base import is_classifier

from skgeom._hessian.logit_models import Expansion, LogitModel
from skgeom.utils.array_api import to_numpy

# What the second derivatives of a block of samples need, over the outputs of its
# layers: torch keeps these, and gradients and intermediate results of their size.
_COPIES = 8


def is_module(estimator):
    """Whether this is a ``torch.nn.Module``."""
    torch = sys.modules.get("torch")
    return hasattr(torch, "nn") and isinstance(estimator, torch.nn.Module)


def is_skorch(estimator):
    """Whether this is a classifier of skorch."""
    skorch = sys.modules.get("skorch")
    is_net = hasattr(skorch, "NeuralNet") and isinstance(estimator, skorch.NeuralNet)
    return is_net and is_classifier(estimator)


def module_model(module, n_classes):
    """Model of a module X -> logits or log-probabilities.

    It computes in its own precision and on its own device.

    Parameters
    ----------
    module : torch.nn.Module
        From X, (n_samples, n_features), the tensor (n_samples, n_classes); with two
        classes, it may have one column, the logit of the second.
    n_classes : int
        The number of classes.
    """
    return _Network(module, n_classes).model()


def skorch_model(net):
    """Model of a fitted classifier of skorch, by its module and its loss.

    Raises
    ------
    ValueError
        If these do not tell what the logits are.
    """
    import torch

    loss, n_classes = net.criterion_, len(net.classes_)
    if net.predict_nonlinearity == "auto":
        if isinstance(loss, torch.nn.NLLLoss):  # of probabilities, in skorch
            return _Network(net.module_, n_classes, logarithm=True).model()
        if isinstance(loss, torch.nn.CrossEntropyLoss | torch.nn.BCEWithLogitsLoss):
            return _Network(net.module_, n_classes).model()
    raise ValueError(
        f"estimator, a {type(net).__name__} with the loss {type(loss).__name__} and "
        f"predict_nonlinearity={net.predict_nonlinearity!r}, does not tell what the "
        "logits of its module are. Give a torch.nn.Module that returns logits."
    )


def module_function(module, n_classes):
    """The module as a function of arrays of numpy, for differences."""
    network = _Network(module, n_classes)

    def logits(X):
        values = to_numpy(network.logits(network.tensor(X)))
        if values.shape[1] == 1:  # of the second class
            values = np.hstack([np.zeros_like(values), values])
        return values

    logits.__name__ = type(module).__name__
    return logits


class _Network:
    """A module as a function of the samples, of which it leaves no trace.

    It is in its evaluation mode while it computes, so that no sample depends on others
    or on chance. Its parameters are constants, so that derivatives with respect to them
    are neither computed nor added to those that they hold.

    Parameters
    ----------
    module : torch.nn.Module
        The module.
    n_classes : int
        The number of classes.
    logarithm : bool
        Whether it returns probabilities, of which the logarithm is taken.
    """

    def __init__(self, module, n_classes, logarithm=False):
        self._module, self._n_classes = module, n_classes
        self._logarithm = logarithm
        self._name = type(module).__name__
        named = [*module.named_parameters(), *module.named_buffers()]
        self._state = {name: tensor.detach() for name, tensor in named}

    def tensor(self, array):
        """A tensor of the precision of the module, on its device."""
        import torch

        floats = [t for t in self._state.values() if t.is_floating_point()]
        model = floats[0] if floats else torch.empty(0)
        if not isinstance(array, torch.Tensor):
            array = torch.tensor(to_numpy(array))
        # A copy, which the module may change.
        return array.detach().to(model.device, model.dtype, copy=True)

    def logits(self, X):
        """Logits of samples, (n_samples, n_logits)."""
        values = self._output(X)
        return values.log() if self._logarithm else values

    def _output(self, X):
        from torch.func import functional_call

        with self._errors_explained(), self._evaluation_mode():
            values = functional_call(self._module, self._state, (X,))
            values = values[0] if isinstance(values, tuple) else values
            return values[:, None] if values.ndim == 1 else values

    def model(self):
        """The model."""
        return LogitModel(self._expand, self.tensor, rows=self._rows)

    def _rows(self, X):
        """Samples of a block: as many as there is working memory for."""
        # A GPU is fast with many samples at once.
        sizes = [X.numel()]

        def count(module, arguments, result):
            sizes.append(getattr(result, "nbytes", 0))

        hooks = [part.register_forward_hook(count) for part in self._module.modules()]
        try:
            self._output(X[:1])
        finally:
            for hook in hooks:
                hook.remove()
        memory = get_config()["working_memory"] * 2**20
        return max(int(memory / (_COPIES * sum(sizes))), 1)

    def _expand(self, X):
        import torch
        from torch.func import vjp

        self._check(X)
        values, pull = vjp(self.logits, X)

        def pull_back(V):
            V = self.tensor(V)
            with self._errors_explained():
                rows = [pull(V[:, row])[0] for row in range(V.shape[1])]
            return torch.stack(rows, dim=1)

        def weighted_hessian(G):
            G = self.tensor(G)
            total = X.new_zeros((X.shape[1], X.shape[1]))
            with self._errors_explained():
                # The logits of a sample depend on that sample only. So one product
                # with ones in a feature gives that row of the Hessians of all samples.
                _, product = vjp(lambda X: vjp(self.logits, X)[1](G)[0], X)
                for feature, row in enumerate(total):
                    direction = torch.zeros_like(X)
                    direction[:, feature] = 1
                    row += product(direction)[0].sum(dim=0)
            return total

        logits = to_numpy(values).astype(np.float64)
        return Expansion(logits, pull_back, weighted_hessian)

    @contextmanager
    def _evaluation_mode(self):
        modes = [(part, part.training) for part in self._module.modules()]
        self._module.eval()
        try:
            yield
        finally:
            for part, training in modes:
                part.training = training

    @contextmanager
    def _errors_explained(self):
        """Turn errors of the module into a ValueError that tells what it must do."""
        try:
            yield
        except Exception as error:
            raise ValueError(
                f"estimator, the module {self._name}, raised {type(error).__name__}: "
                f"{error}. It must take a tensor of shape (n_samples, n_features), and "
                "return logits or log-probabilities, (n_samples, n_classes), which can "
                "be differentiated twice; for images, put torch.nn.Unflatten in front."
            ) from error

    def _check(self, X):
        """Raise ValueError unless the module returns logits of samples."""
        values = to_numpy(self._output(X))
        n_samples, n_classes = X.shape[0], self._n_classes
        one_column = n_classes == 2 and values.shape == (n_samples, 1)
        if not one_column and values.shape != (n_samples, n_classes):
            raise ValueError(
                f"estimator, the module {self._name}, must return one row a sample and "
                f"one column a class, {(n_samples, n_classes)}, or one column for two "
                f"classes, got shape {values.shape}. Each class must occur in y."
            )
        if not np.isfinite(values).all():
            raise ValueError(
                f"estimator, the module {self._name}, returned NaN or infinity; scale "
                "the features, or train it with a smaller step."
            )
        *_, last = self._module.modules()
        if one_column:
            probabilities = type(last).__name__ == "Sigmoid"
        else:
            probabilities = (values >= 0).all() and np.allclose(values.sum(axis=1), 1)
        if probabilities and not self._logarithm:
            raise ValueError(
                f"estimator, the module {self._name}, returns probabilities; return "
                "logits or log-probabilities, without the Softmax or Sigmoid at its "
                "end."
            )
        tolerance = np.finfo(values.dtype).eps ** 0.4
        for row in {0, n_samples // 2, n_samples - 1}:
            alone = to_numpy(self._output(X[row : row + 1]))
            if not np.allclose(alone[0], values[row], rtol=tolerance, atol=tolerance):
                raise ValueError(
                    f"estimator, the module {self._name}, gives sample {row} other "
                    "values alone than among others; each row of its result may depend "
                    "on that row of X only."
                )
