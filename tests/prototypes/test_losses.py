"""Losses of prototypes: values and derivatives."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from numpy.testing import assert_allclose

from skgeom._prototypes._losses import LikelihoodLoss, MarginLoss

LABELS = np.array([0, 0, 1, 2, 2])


@pytest.fixture
def priors(rng):
    priors = rng.uniform(1, 2, len(LABELS))
    return np.log(priors / priors.sum())


@pytest.mark.parametrize("gamma", [0.0, 0.2])
def test_likelihood_is_equation_18_and_its_gradient(rng, priors, gamma):
    def cost(squared, y, scale):
        own = anp.array(y[:, None] == LABELS)
        density = anp.exp(priors - squared / (2 * scale))
        drawn = anp.exp(priors - squared / (2 * 0.9))
        return anp.sum(
            -anp.log(anp.sum(own * density, axis=1) / anp.sum(density, axis=1))
            - gamma * anp.log(anp.sum(own * drawn, axis=1))
        )

    squared, y = rng.uniform(0.1, 5, (7, 5)), np.arange(7) % 3
    loss = LikelihoodLoss(LABELS, priors, gamma, reference=0.9)
    values, derivatives, of_log_scale = loss(squared, y, 1.3)
    assert_allclose(values.sum(), cost(squared, y, 1.3), rtol=1e-13)
    assert_allclose(derivatives, grad(cost)(squared, y, 1.3), atol=1e-14)
    of_scale = grad(lambda scale: cost(squared, y, scale))(1.3)
    assert_allclose(of_log_scale.sum(), 1.3 * of_scale, rtol=1e-12)


def test_likelihood_of_far_samples_is_finite(priors):
    squared = np.array([[1e6, 2e6, 3e5, 1e6, 4e6]])
    values, derivatives, _ = LikelihoodLoss(LABELS, priors)(squared, np.array([0]), 0.1)
    assert_allclose(values, (1e6 - 3e5) / 0.2, rtol=1e-4)
    assert np.isfinite(derivatives).all()


@pytest.mark.parametrize("squared", [0.0, 5e-324, 1e-300, 1e-280])
def test_margin_of_a_sample_on_two_prototypes(squared):
    losses, derivatives, _ = MarginLoss(np.array([0, 1]))(
        np.full((1, 2), squared), np.array([0]), 1e6
    )
    assert_allclose(losses, 0.5)
    expected = 1e6 / 8 / squared if squared > 1e-290 else 0.0
    assert_allclose(derivatives, [[expected, -expected]])
