"""The base class of estimators."""

import warnings
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata

from sklearn.base import BaseEstimator as _BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from skgeom._version import __version__
from skgeom.utils._sklearn import ARRAY_API, validate_parameter_constraints
from skgeom.utils.errors import naming


class BaseEstimator(_BaseEstimator):
    """scikit-learn's base class, with the version and the address of skgeom.

    Loading the state of a different version of skgeom raises a warning, as scikit-learn
    does for its own versions. The HTML of an estimator links to its page.
    """

    _doc_link_module = "skgeom"
    _doc_link_template = property(lambda self: _page_of_estimators())

    # Kinds of samples, and whether they may be sparse or arrays of other libraries.
    _accepts_vectors, _accepts_matrices = True, False
    _accepts_sparse = _accepts_libraries = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self._accepts_vectors
        tags.input_tags.three_d_array = self._accepts_matrices
        tags.input_tags.sparse = self._accepts_sparse
        tags.array_api_support = ARRAY_API and self._accepts_libraries
        return tags

    def _validate_params(self):
        for name, value in self.get_params(deep=False).items():
            with naming(name):  # a Fraction, for example, has no np.isnan
                validate_parameter_constraints(
                    self._parameter_constraints, {name: value}, type(self).__name__
                )

    def __getstate__(self):
        return super().__getstate__() | {"_skgeom_version": __version__}

    def __setstate__(self, state):
        state = dict(state)
        stored_by = state.pop("_skgeom_version", "unknown")
        if stored_by != __version__:
            warnings.warn(
                InconsistentVersionWarning(
                    estimator_name=type(self).__name__,
                    current_sklearn_version=__version__,
                    original_sklearn_version=stored_by,
                ),
                stacklevel=2,
            )
        super().__setstate__(state)


@cache
def _page_of_estimators():
    """Address of the pages of estimators, from the metadata of the distribution."""
    try:
        addresses = metadata("skgeom").get_all("Project-URL", [])
    except PackageNotFoundError:  # the package is imported without an installation
        return ""
    site = dict(address.split(", ") for address in addresses).get("Documentation")
    page = "generated/{estimator_module}.{estimator_name}.html"
    return f"{site}/{page}" if site else ""
