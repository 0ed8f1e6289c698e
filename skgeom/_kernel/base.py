"""What kernel discriminant analyses share: validation, kernels and prediction."""

from numbers import Integral, Real

import numpy as np
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    validate_data,
)

from skgeom._kernel.functions import symmetric_kernel_matrix
from skgeom._kernel.parameters import KERNEL_CONSTRAINTS, KernelMixin
from skgeom._kernel.problem import ALL_MEANS_EQUAL
from skgeom.utils.array_api import (
    ARRAY_API,
    check_library,
    float_dtypes,
    in_double,
    like,
    namespace,
    on_host,
    take_labels,
    to_numpy,
)
from skgeom.utils.estimator import estimator_method
from skgeom.utils.validation import check_priors, check_two_classes, class_factors

_EPS = np.finfo(np.float64).eps
# Kernels that are positive semidefinite whatever their parameters.
_DEFINITE = {"chi2", "cosine", "laplacian", "linear", "rbf"}
# More samples than one weight may stand for, so that sums of weights are finite.
_MAX_COPIES = 1e12
# Kernels that are products of samples, which may be sparse.
_OF_PRODUCTS = {"cosine", "linear", "poly", "polynomial", "rbf", "sigmoid"}

PARAMETERS = r"""
kernel : str or callable, default="rbf"
    A name that :func:`sklearn.metrics.pairwise.pairwise_kernels` knows, or a
    symmetric function of two samples (1-D arrays) that returns a number, or
    ``"precomputed"``: then X is the kernel matrix of the training samples,
    (n_samples, n_samples), and later that of samples and training samples.
gamma : float, "scale" or None, default="scale"
    Coefficient of the kernels "rbf", "poly", "sigmoid", "laplacian" and "chi2".
    ``"scale"`` is ``1 / (n_features * X.var())``. None is the kernel's own default,
    ``1 / n_features`` or, for "chi2", 1.
degree : float, default=3
    Degree of the polynomial kernel.
coef0 : float, default=1
    Constant of the polynomial and the sigmoid kernel.
kernel_params : dict or None, default=None
    Arguments of a callable kernel, besides the two samples.
"""

CLASS_PARAMETERS = r"""
temperature : float or "auto", default="auto"
    What distances to the class means are divided by, see :meth:`decision_function`.
    With ``"auto"``, samples that are left out of training choose it, shrink the class
    means, and raise small classes. A number is taken as it is, with the class means of
    training: 1 gives the probabilities of LDA in the feature space, which are far too
    confident where the penalty is light.
priors : None, "empirical", "uniform" or array-like of shape (n_classes,), default=None
    Class probabilities, which weight the classes in training and prediction.
    ``"empirical"`` takes them from the samples and ``sample_weight``, and None from
    these and ``class_weight``. Use ``"uniform"`` if rare classes count as much as
    others.
class_weight : None, "balanced" or dict, default=None
    Factors of the weights of the samples in training, by class label; 1 for labels
    that a dict lacks. With ``"balanced"``, all classes weigh the same. Predictions see
    it as they see sample weights, unless ``priors`` are given.
"""

ATTRIBUTES = r"""
classes_ : ndarray of shape (n_classes,)
    The class labels.
priors_ : ndarray of shape (n_classes,)
    The class probabilities.
eigenvalues_ : ndarray of shape (n_components,)
    The ratios of the components, in falling order.
dual_coef_ : ndarray of shape (n_samples or n_landmarks, n_components)
    Coefficients of the kernels with the samples in ``X_fit_``: the transpose of
    C_n A^T in equation 14.
offset_ : ndarray of shape (n_components,)
    What is subtracted from the components to centre them.
means_ : ndarray of shape (n_classes, n_components)
    The class means of the components.
decision_means_ : ndarray of shape (n_classes, n_components)
    The class means that samples are compared with: ``means_``, moved towards their
    centre as far as samples that are left out of training are.
temperature_ : float
    What the scores are divided by, T in :meth:`decision_function`.
offsets_ : ndarray of shape (n_classes,)
    What is added to the logarithms of the priors: a multiple of the logarithms of the
    class sizes, since left-out samples of small classes are further from their class.
X_fit_ : ndarray of shape (n_samples or n_landmarks, n_features) or None
    The samples, or landmarks, that the kernels are taken with; None for a
    precomputed kernel.
lambda_ : float
    The factor :math:`\lambda` as it stands in equation 13, where the scatter
    matrices are sums over the samples.
gamma_ : float or None
    The value of ``gamma`` that was used; None if the kernel has none, or uses its own
    default.
n_features_in_ : int
    Number of features seen during fit.
feature_names_in_ : ndarray of shape (n_features,)
    Names of the features, if X had names that are all strings.
"""


def candidate_regularizations(penalty, n_values):
    """Values to choose from, evenly spaced in the logarithm.

    With the identity, the squares of the kernel's eigenvalues count, of a wider range.
    """
    return np.logspace(-12 if penalty == "identity" else -8, 0, n_values)


def rescaled_to(regularizations, penalty, ratio):
    """Values with the same lambda of equation 13, for a ratio of numbers of samples.

    In a Gaussian process, lambda stands for the variance of the noise, which does not
    grow with that number. But the trace of K does, and the squared norm of K with its
    square.
    """
    return regularizations * (ratio**2 if penalty == "identity" else ratio)


def heaviest_of_the_best(values, errors):
    """The largest value whose error is the least one, up to a fiftieth.

    Errors of left-out samples are no more precise, and a light penalty that hardly
    lowers them enlarges rounding.
    """
    errors = np.asarray(errors)
    return float(values[errors <= 1.02 * errors.min()].max())


def spread_over_classes(codes, kept, n_samples):
    """About so many of the samples ``kept``, evenly over each class.

    So nothing is left to chance. They are a share of each class, but more of the small
    classes, and two at least.
    """
    counts = np.bincount(codes[kept])
    shares = np.ceil(counts * min(n_samples / len(kept), 1))
    sizes = np.maximum(shares, max(n_samples // (2 * len(counts)), 2))
    parts = []
    for code, (count, size) in enumerate(zip(counts, sizes, strict=True)):
        members = kept[codes[kept] == code]
        spread = np.linspace(0, count, int(min(size, count)), endpoint=False)
        parts.append(members[spread.astype(int)])
    return np.sort(np.concatenate(parts))


def relative_weights(sample_weight, n_samples):
    """Valid weights of samples, relative to the largest one, so that sums are finite.

    Returns them, the number of samples that each one stands for, and the largest one.
    """
    if sample_weight is None:
        return np.ones(n_samples), np.ones(n_samples), 1.0
    weights = _check_sample_weight(
        on_host(sample_weight),
        np.empty(n_samples),
        dtype=np.float64,
        ensure_non_negative=True,
    )
    largest = float(weights.max()) or 1.0
    return weights / largest, np.clip(weights, 1, _MAX_COPIES), largest


class BaseKernelDiscriminant(
    KernelMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """Transformer and classifier with discriminant functions; a subclass finds them.

    A subclass has the parameters ``n_components``, ``priors`` and those of the kernel.
    """

    _fitted_array = "dual_coef_"
    _parameter_constraints = {
        "n_components": [None, Interval(Integral, 1, None, closed="left")],
        "kernel": [
            StrOptions({*PAIRWISE_KERNEL_FUNCTIONS, "precomputed"}),
            callable,
        ],
        **KERNEL_CONSTRAINTS,
        "penalty": [StrOptions({"identity", "kernel"})],
        "criterion": [StrOptions({"total", "between"})],
        "center": ["boolean"],
        "temperature": [
            StrOptions({"auto"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "priors": [None, StrOptions({"empirical", "uniform"}), "array-like"],
        "class_weight": [None, StrOptions({"balanced"}), dict],
    }

    @estimator_method
    def transform(self, X):
        """Discriminant components of samples, equation 14.

        Kernels are computed in blocks of rows, so that memory beyond X and the result
        does not grow with the number of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples; for a precomputed kernel, their kernel matrix with the training
            samples.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            The components.
        """
        return self._components(X)

    def _components(self, X):
        """The components as an array, also if ``transform`` returns a data frame."""
        self = self._with_kernel_of_fit()
        if self.kernel == "precomputed" and np.ndim(X) == 2:
            n_columns, n_samples = np.shape(X)[1], self.n_features_in_
            if n_columns != n_samples:
                raise ValueError(
                    f"X has {n_columns} columns, but for kernel='precomputed' it must "
                    f"be the kernel matrix of samples and the {n_samples} training "
                    f"samples, of shape (n_samples, {n_samples})."
                )
        return self._project(validate_data(self, X, **self._accepted(X), reset=False))

    def _project(self, X):
        """The components of valid samples."""
        row_bytes = self.dual_coef_.shape[0] * np.dtype(np.float64).itemsize
        rows = max(int(get_config()["working_memory"] * 2**20 / row_bytes), 1)
        xp, dtype = namespace(X), self.dual_coef_.dtype
        if xp is np:
            Z = np.empty((X.shape[0], self.dual_coef_.shape[1]), X.dtype)
            for batch in gen_batches(X.shape[0], rows):
                kernel = self._kernel(X[batch], self.X_fit_)
                Z[batch] = kernel @ self.dual_coef_ - self.offset_
            return Z
        parts = []
        for batch in gen_batches(X.shape[0], rows):
            kernel = xp.astype(self._kernel(X[batch, ...], self.X_fit_), dtype)
            components = kernel @ self.dual_coef_ - self.offset_
            parts.append(xp.astype(components, X.dtype))
        return xp.concat(parts)

    @estimator_method
    def decision_function(self, X):
        r"""Logarithms of the class posteriors, up to a common term.

        With the components z of a sample, the means :math:`m_k` in
        ``decision_means_``, the temperature T, the priors :math:`\pi_k` and the
        ``offsets_`` :math:`b_k`, they are

        .. math:: (z^\top m_k - \|m_k\|^2 / 2) / T + \log \pi_k + b_k .

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples, as for :meth:`transform`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            One column for each class. With two classes, the score of the second minus
            that of the first; it is positive where the second is predicted.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _scores(self, X):
        """As :meth:`decision_function`, with a column for each of two classes, too."""
        # As in LDA, with a within-class covariance of T times the identity: by the
        # scaling of the components, it is the identity in training, with the penalty.
        # |z|^2 is common to all classes.
        Z, means = self._components(X), self.decision_means_
        xp = namespace(Z)
        Z = Z if xp is np else xp.astype(Z, means.dtype, copy=False)
        scores = Z @ means.T - xp.sum(means**2, axis=1) / 2
        return scores / self.temperature_ + xp.log(self.priors_) + self.offsets_

    @estimator_method
    def predict(self, X):
        """Most probable classes of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples, as for :meth:`transform`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Class labels.
        """
        scores = self._scores(X)
        return take_labels(self.classes_, namespace(scores).argmax(scores, axis=1))

    @estimator_method
    def predict_log_proba(self, X):
        """Logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples, as for :meth:`transform`.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._log_probabilities(X)

    def _log_probabilities(self, X):
        scores = self._scores(X)
        xp = namespace(scores)
        scores = scores - xp.max(scores, axis=1, keepdims=True)
        return scores - xp.log(xp.sum(xp.exp(scores), axis=1, keepdims=True))

    @estimator_method
    def predict_proba(self, X):
        """Class probabilities, calibrated by samples that are left out of training.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples, as for :meth:`transform`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        log_probabilities = self._log_probabilities(X)
        return namespace(log_probabilities).exp(log_probabilities)

    @estimator_method
    def score(self, X, y, sample_weight=None):
        """Accuracy of the predicted classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples, as for :meth:`transform`.
        y : array-like of shape (n_samples,)
            Their true labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the samples; None is one for each.

        Returns
        -------
        accuracy : float
            The weighted fraction of samples that are classified correctly.
        """
        return super().score(X, y, sample_weight)

    def _validate(self, X, y):
        """Valid X and class numbers; sets the classes."""
        check_library(X, self)
        X, y = validate_data(self, X, y, **self._accepted(X))
        return X, self._encode(y)

    def _accepted(self, X):
        """What the validation accepts."""
        sparse = "csr" if self._takes_sparse else False
        return {"dtype": float_dtypes(X), "accept_sparse": sparse}

    @property
    def _takes_sparse(self):
        return isinstance(self.kernel, str) and self.kernel in _OF_PRODUCTS

    def _encode(self, y):
        """Class numbers of valid labels; sets the classes."""
        check_classification_targets(y)
        self.classes_, codes = np.unique(to_numpy(y), return_inverse=True)
        n_classes = len(self.classes_)
        check_two_classes(self.classes_, type(self).__name__)
        if self.n_components is not None and self.n_components > n_classes - 1:
            raise ValueError(
                f"n_components={self.n_components} exceeds n_classes - 1 = "
                f"{n_classes - 1}, which is the number of discriminants that "
                f"{n_classes} classes have."
            )
        return codes

    def _label_repr(self, code):
        """A class label as Python writes it, for messages."""
        return repr(self.classes_.tolist()[code])

    def _weigh(self, codes, sample_weight=None):
        """Training weights of sum one, of samples and classes; and the priors.

        The weights of the classes are the priors, times ``class_weight``, and those of
        their samples follow.
        """
        weights = np.ones(len(codes)) if sample_weight is None else sample_weight
        sums = np.bincount(codes, weights, minlength=len(self.classes_))
        if not sums.all():
            label = self._label_repr(sums.argmin())
            raise ValueError(
                f"The class {label} has no sample of positive weight; remove it."
            )
        priors = check_priors(self.priors, sums)
        class_weights = self._class_weights(priors)
        # Without priors, a class of twice the weight is one of twice the samples.
        priors = class_weights if self.priors is None else priors
        return weights * (class_weights / sums)[codes], class_weights, priors

    def _class_weights(self, priors):
        """Weights of the classes in training, of sum one."""
        if self.class_weight == "balanced":
            return np.full(len(priors), 1 / len(priors))
        factors = class_factors(self.class_weight, self.classes_)
        weights = priors * (factors / factors.max())
        return weights / weights.sum()

    def _kernel_matrix(self, X):
        """Kernel matrix of the training samples, in memory that may be overwritten."""
        if isinstance(self.kernel, str) and self.kernel != "precomputed":
            return symmetric_kernel_matrix(self._kernel, X)
        kernel = self._kernel(X)
        if namespace(kernel) is np:
            kernel = np.asarray(kernel, dtype=np.float64, order="C")
        else:
            kernel = in_double(kernel)
        if self.kernel == "precomputed":
            # Rounding may leave two entries that are not equal. LAPACK reads one of
            # them, and which one depends on the solver.
            kernel = kernel + kernel.T
            kernel /= 2
        return kernel

    @property
    def _n_wanted(self):
        """Number of components to look for."""
        return self.n_components or len(self.classes_) - 1

    @property
    def _definite(self):
        """Whether the kernel is known to be positive semidefinite."""
        if self.kernel in ("poly", "polynomial"):
            return self.coef0 >= 0 and float(self.degree).is_integer()
        return isinstance(self.kernel, str) and self.kernel in _DEFINITE

    def _set_discriminants(self, discriminants, n_samples):
        """Set the fitted attributes that follow from discriminant functions."""
        n_found = len(discriminants.eigenvalues)
        n_components = self.n_components or min(n_found, len(self.classes_) - 1)
        if not n_found:
            raise ValueError(ALL_MEANS_EQUAL)
        if n_found < n_components:
            raise ValueError(
                f"n_components={n_components} exceeds the number {n_found} of "
                "components with a ratio above zero in the feature space of this "
                "kernel; ask for fewer, or leave n_components=None."
            )
        self.eigenvalues_ = discriminants.eigenvalues
        self.dual_coef_ = discriminants.coefficients
        self.offset_ = discriminants.offset
        self.means_, self._center = discriminants.means, discriminants.center
        # Weights of samples sum to one in the solvers and are one each in equation 13,
        # so that its scatter matrices are n_samples times as large. For R = I, another
        # n_samples is due to the coefficients, which are divided by the root of it.
        self.lambda_ = float(discriminants.penalty) * n_samples
        if self.penalty == "identity":
            self.lambda_ *= n_samples
        self.decision_means_, self.offsets_ = self.means_, np.zeros(len(self.classes_))
        self.temperature_ = 1.0 if self.temperature == "auto" else self.temperature

    def _set_calibration(self, shrinkage, temperature, offsets):
        """Set what :func:`calibrate` has found."""
        self.decision_means_ = self._center + shrinkage * (self.means_ - self._center)
        self.temperature_, self.offsets_ = temperature, like(offsets, self.means_)

    def _with_discriminants(self, discriminants, classes, priors, n_samples):
        """This object as if fitted to a precomputed kernel, with what was found."""
        self.classes_, self.priors_ = classes, priors
        self.n_features_in_ = len(discriminants.coefficients)
        self.X_fit_, self.gamma_, self._kernel_of_fit = None, None, {}
        self._set_discriminants(discriminants, n_samples)
        return self

    @property
    def _n_features_out(self):
        return self.dual_coef_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel in ("chi2", "additive_chi2")
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = ARRAY_API
        return tags
