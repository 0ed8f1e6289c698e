"""PLRSQ-AN: stochastic epochs with the decreasing variances of Seo and Obermayer."""

from sklearn.utils import check_random_state

from skgeom import PLRSQ


def annealed(sigma2, n_epochs, power=1.1):
    """Variances that decrease from epoch to epoch, faster and faster, to a floor.

    The constants are those of section 6 of the paper. With ``power=1``, the variances
    decrease by a fixed factor, as in figure 4.
    """
    scales, factor, floor = [sigma2], 0.99, 0.01
    last = max(sigma2 - 0.4, floor)
    while len(scales) < n_epochs:
        factor **= power
        falls = scales[-1] >= last
        scales.append(max(scales[-1] * factor, floor) if falls else scales[-1])
    return scales


class AnnealedPLRSQ(PLRSQ):
    """PLRSQ whose epochs have the variances of ``annealed``."""

    def fit(self, X, y):
        first, seed = self.sigma2, self.random_state
        self.set_params(random_state=check_random_state(seed))
        for sigma2 in annealed(first, self.max_iter):
            self.set_params(sigma2=sigma2).partial_fit(X, y)
        return self.set_params(sigma2=first, random_state=seed)
