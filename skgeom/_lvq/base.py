"""What the estimators of learning vector quantisation have in common."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from skgeom._lvq.starts import (
    check_counts,
    given_prototypes,
    prototype_counts,
    start_prototypes,
)
from skgeom.objectives import PrototypeCost
from skgeom.optim import minimize, prototype_manifold
from skgeom.utils._threads import map_threads
from skgeom.utils._validation import check_symmetric, cholesky
from skgeom.utils._warnings import warn_user

# Numbers of a block of whitened matrices, at prediction: 16 MB.
_BLOCK = 2_000_000

# Sums of fourth powers of larger numbers may be infinite.
_LARGEST = 1e75


@dataclass
class Training:
    """Samples, encoded by the space of the prototypes, and what belongs to them."""

    space: object
    Z: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    X: np.ndarray


class BaseLVQ(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator
):
    """Classifies by distances from labelled prototypes.

    A subclass says where prototypes live (``_find_space``), what is minimised
    (``_make_loss``), with which scale, and how the learning rate begins.
    """

    _accepts_vectors = False
    _cure = ""  # what else may help a search that does not end

    _parameter_constraints = {
        "n_prototypes": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "init": [StrOptions({"auto", "mean", "kmeans"}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def _check_X(self, X, reset):
        """X as an array; matrices are checked to be SPD, and made symmetric."""
        name = type(self).__name__
        ndim = X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim
        options = {"dtype": [np.float64, np.float32], "reset": reset}
        if ndim == 3:
            options |= {"ensure_2d": False, "allow_nd": True}
            options["ensure_all_finite"] = False  # check_symmetric names the matrix
        elif not self._accepts_vectors:
            raise ValueError(
                f"{name} takes SPD matrices, X of shape (n_samples, n, n), but got an "
                f"array of {ndim} dimensions. Reshape your data, for one matrix to "
                "X[None], or make covariance matrices of it first."
            )
        X = validate_data(self, X, **options)
        if not reset and X.ndim != self.prototypes_.ndim:
            raise ValueError(
                f"{name} was fitted on samples of {self.prototypes_.ndim - 1} "
                f"dimensions, but X has shape {X.shape}. One sample is X[None]."
            )
        if X.ndim == 3:
            if X.shape[1] != X.shape[2]:
                raise ValueError(
                    f"{name} takes square matrices, X of shape (n_samples, n, n), but "
                    f"X has shape {X.shape}. If these are signals, put "
                    'pyriemann.estimation.Covariances("oas") in front.'
                )
            check_symmetric(X, "X")
            X = (X + X.mT) / 2
            cholesky(X.astype(np.float64, copy=False), "X")
            self._check_size(X, reset)
        return X

    def _check_size(self, X, reset):
        """Set or compare the number of features, which scikit-learn does in 2D only."""
        if reset:
            self.n_features_in_ = X.shape[1]
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input: matrices of that size."
            )

    def _check_y(self, y, n_samples):
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        if len(y) != n_samples:
            raise ValueError(f"X has {n_samples} samples, but y has {len(y)} labels.")
        check_classification_targets(y)
        return y

    def _check_weights(self, sample_weight, X, y, all_classes):
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        if not weights.any():  # which only newer versions of scikit-learn refuse
            raise ValueError("sample_weight must be positive for some sample.")
        present = np.bincount(y, weights > 0, minlength=len(self.classes_))
        if all_classes and (present == 0).any():
            missing = self.classes_[present == 0][0]
            raise ValueError(
                f"The class {missing} has no sample, or none of positive weight. "
                "Remove it; for partial_fit, give the first call some samples of each "
                "class, or init."
            )
        return weights

    def _counts(self):
        """Number of prototypes of each class."""
        return prototype_counts(self.n_prototypes, self.classes_)

    def _begin(self, X, y, sample_weight, classes=None):
        """Validate the first data; set classes_, and return what training needs."""
        again = self._goes_on()
        X = self._check_X(X, reset=not again)
        y = self._check_y(y, len(X))
        classes = np.unique(y if classes is None else classes)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes, but there "
                f"is one class only: {classes[0]}."
            )
        if again:
            self._check_same(classes)
        self.classes_ = classes
        return self._encode(X, y, sample_weight, first=True)

    def _goes_on(self):
        """Whether this fit is a warm start."""
        return self.warm_start and hasattr(self, "prototypes_")

    def _check_same(self, classes):
        """Raise, before anything is set, if a warm start is not possible."""
        if not np.array_equal(classes, self.classes_):
            raise ValueError(
                "warm_start=True needs the same classes as before: "
                f"{self.classes_.tolist()}, but y has {classes.tolist()}."
            )
        if not np.array_equal(self._counts(), np.bincount(self._prototype_indices())):
            raise ValueError(
                "warm_start=True needs the same number of prototypes as before, but "
                f"n_prototypes={self.n_prototypes!r}."
            )

    def _encode(self, X, y, sample_weight, first=False):
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, which is not among the "
                f"classes {self.classes_.tolist()}."
            )
        indices = np.searchsorted(self.classes_, y)
        needs_all = first and isinstance(self.init, str)
        weights = self._check_weights(sample_weight, X, indices, needs_all)
        X = X.astype(np.float64, copy=False)
        if (weights == 0).any():  # samples of weight zero are not there
            X, indices, weights = (part[weights > 0] for part in (X, indices, weights))
        if first:
            self._find_components(X, indices, weights)
        space = self._find_space(X.ndim)
        space.heed(X)
        return Training(space, self._encoded(space, X), indices, weights, X)

    def _encoded(self, space, X):
        Z = space.encode(self._reduced(X))
        if Z.ndim == 2 and np.abs(Z).max() > _LARGEST:
            raise ValueError(
                f"X has values up to {np.abs(Z).max():.3g}, too large for squared "
                "distances. Divide X by a number, or scale its features."
            )
        return Z

    def _find_components(self, X, y, weights):
        """Find what ``_reduced`` does to new samples, if anything."""

    def _prototype_indices(self):
        """Index of the class of each prototype."""
        return np.searchsorted(self.classes_, self.prototype_labels_)

    def _start(self, training, random_state):
        """Where the prototypes start, encoded; sets prototype_labels_."""
        if self._goes_on():
            return training.space.encode(self.prototypes_)
        counts = self._counts()
        self.prototype_labels_ = np.repeat(self.classes_, counts)
        if not isinstance(self.init, str):
            shape = training.space.decode(training.Z[:1]).shape[1:]
            init = given_prototypes(self.init, (int(counts.sum()), *shape))
            return training.space.encode(init)
        check_counts(counts, training.y, self.classes_)
        init = self.init
        if init == "auto":
            init = "kmeans" if counts.max() > 1 else "mean"
        return start_prototypes(
            training.space,
            training.Z,
            training.y,
            training.weights,
            counts,
            init,
            random_state,
        )

    def _keep(self, training, prototypes):
        """Set prototypes_, unless they have left what numbers can hold."""
        decoded = training.space.decode(prototypes)
        if decoded.ndim == 3:
            lowest = np.linalg.eigvalsh(decoded)
            if not (lowest[:, 0] > 0).all():
                raise ValueError(
                    "The prototypes have become so far from the samples that rounding "
                    "makes them singular. The classes can be separated: stop earlier, "
                    f"by a lower max_iter or a higher tol{self._cure}."
                )
        self.prototypes_ = decoded

    def _run_lbfgs(self, training, loss, point, scale, reduction=None, **manifold):
        """Minimise the cost of all samples together."""
        cost = PrototypeCost(
            training.space,
            training.Z,
            training.y,
            training.weights,
            loss,
            scale,
            reduction,
        )
        enough = self.tol * training.weights.sum()
        losses = [cost(point)[0]]

        def note(point, value):
            losses.append(value)
            if self.verbose:
                name, number = type(self).__name__, len(losses) - 1
                print(f"[{name}] iteration {number}: loss {value:.6g}")
            return value <= enough  # the classes are separated; go no farther

        result = minimize(
            cost,
            prototype_manifold(point[0].shape, flat=point[0].ndim == 2, **manifold),
            point,
            max_iter=self.max_iter,
            tol=self.tol,
            callback=note,
            preconditioner=cost.solve if cost.has_curvature(point[0]) else None,
        )
        self.loss_curve_ = np.array(losses)
        self.n_iter_ = max(result.n_iter, 1)  # even if the start is the end
        if not result.converged and result.n_iter:
            more = "max_iter or tol" if result.n_iter >= self.max_iter else "tol"
            warn_user(
                f"{type(self).__name__} did not converge: {result.reason} The "
                f"prototypes found so far can be used. Increase {more}{self._cure}.",
                ConvergenceWarning,
            )
        return result.point

    def _squared_distances(self, X):
        """Squared distances from the prototypes, and the dtype of X."""
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        space = self._find_space(X.ndim)
        Z = self._encoded(space, X.astype(np.float64, copy=False))
        Z, prototypes = self._mapped(Z), self._mapped(space.encode(self.prototypes_))
        rows = max(_BLOCK // prototypes.size, 1)
        parts = map_threads(
            lambda block: space.squared_distances(Z[block], prototypes),
            list(gen_batches(len(Z), rows)),
        )
        return np.concatenate(parts), X.dtype

    def _reduced(self, X):
        """The matrices that the prototypes are compared with."""
        return X

    def _mapped(self, Z):
        """The vectors between which distances are Euclidean."""
        return Z

    def transform(self, X):
        """Distances from the prototypes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            Samples, as in ``fit``.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_prototypes)
            The distances, not squared.
        """
        squared, dtype = self._squared_distances(X)
        return np.sqrt(squared).astype(dtype)

    def decision_function(self, X):
        """Scores of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            Samples, as in ``fit``.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            One column a class, the largest of which decides; with two classes, the
            difference of the second and the first, whose sign decides.
        """
        scores = self._class_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _class_scores(self, X):
        squared, _ = self._squared_distances(X)
        scale = getattr(self, "sigma2_", None)
        return self._make_loss().class_scores(squared, scale, len(self.classes_))

    def predict(self, X):
        """Predict the classes of samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            Samples, as in ``fit``.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The classes of the largest score.
        """
        scores = self._class_scores(X)
        return self.classes_[scores.argmax(axis=1)]

    def score(self, X, y, sample_weight=None):
        """Accuracy of the predicted classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n, n) or (n_samples, n_features)
            Samples, as in ``fit``.
        y : array-like of shape (n_samples,)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        accuracy : float
            The weighted share of samples whose class is predicted.
        """
        return super().score(X, y, sample_weight)

    @property
    def _n_features_out(self):
        return len(self.prototypes_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self._accepts_vectors
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
