"""The tests of pyRiemann and scikit-learn, run with estimators of skgeom.

Nothing is copied: the tests of scikit-learn are installed with it, and the tests of
pyRiemann are in its source distribution, which pip downloads. Both are pinned by hash.
Tests that cannot agree are listed with the reason.
"""

import hashlib
import importlib.util
import inspect
import itertools
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import sklearn

from skgeom import PLRSQ, GaussianClassifier

pytestmark = [pytest.mark.exhaustive, pytest.mark.filterwarnings("ignore")]

SKLEARN_TESTS = "fb0c594ac38695f9aba7adb43cc86731940c81d257b165c7d71b3335a1d313c3"
PYRIEMANN = "pyriemann==0.12"
PYRIEMANN_SDIST = "a1450307bf3360fafe4e2e11a5db81889245f34b0042094bf8b59b7fe2bdeb9f"

TRANSFORMS = "GaussianClassifier is no transformer"
COEFFICIENTS = "GaussianClassifier has no coef_"
SHRINKAGE = "shrinkage is selected differently, and has no parameter"
MESSAGE = "the message is a different one"
ATTRIBUTES = "the covariances are in statistics_"
DESELECTED = {
    "test_covariance": "it tests a private function",
    "test_get_feature_names_out": TRANSFORMS,
    "test_lda_coefs": COEFFICIENTS,
    "test_lda_dimension_warning": TRANSFORMS,
    "test_lda_dtype_match": COEFFICIENTS,
    "test_lda_explained_variance_ratio": TRANSFORMS,
    "test_lda_ledoitwolf": SHRINKAGE,
    "test_lda_numeric_consistency_float32_float64": COEFFICIENTS,
    "test_lda_orthogonality": TRANSFORMS,
    "test_lda_predict": "there is no parameter solver that could be wrong",
    "test_lda_priors": MESSAGE,
    "test_lda_shrinkage": SHRINKAGE,
    "test_lda_solver_agreement": TRANSFORMS,
    "test_lda_store_covariance": ATTRIBUTES,
    "test_lda_transform": TRANSFORMS,
    "test_qda_coefs": ATTRIBUTES,
    "test_qda_covariance_estimator": SHRINKAGE,
    "test_qda_ledoitwolf": SHRINKAGE,
    "test_qda_regularization": "regularization is an absolute variance",
    "test_qda_shrinkage_performance": SHRINKAGE,
    "test_qda_store_covariance": ATTRIBUTES,
    "test_raises_value_error_on_one_sample_per_class": MESSAGE,
    "test_raises_value_error_on_same_number_of_classes_and_samples": MESSAGE,
}
SELECTED = {
    "test_lda_predict_proba",
    "test_lda_scaling",
    "test_qda",
    "test_qda_prior_copy",
    "test_qda_prior_type",
    "test_qda_priors",
    "test_qda_solver_agreement",
}


def checked(path, sha256):
    """Skip unless the file is the one that the lists of tests were made for."""
    if hashlib.sha256(Path(path).read_bytes()).hexdigest() != sha256:
        pytest.skip(f"{path} is of a different version")
    return path


def load(path):
    spec = importlib.util.spec_from_file_location(f"peer_{Path(path).stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Discriminant(GaussianClassifier):
    """GaussianClassifier with the attributes of scikit-learn's classifiers."""

    @property
    def means_(self):
        return self.statistics_.means

    @property
    def covariance_(self):
        return self.statistics_.pooled_covariances()[0]


def lda(solver="svd", shrinkage=None, priors=None, **unused):
    return Discriminant("shared", regularization=0, priors=priors)


def qda(*, solver="svd", priors=None, **unused):
    return Discriminant("full", regularization=0, priors=priors)


@pytest.fixture(scope="module")
def discriminants():
    """Scikit-learn's tests of discriminant analysis, of our classifiers."""
    folder = Path(sklearn.__file__).parent
    path = folder / "tests" / "test_discriminant_analysis.py"
    module = load(checked(path, SKLEARN_TESTS))
    module.LinearDiscriminantAnalysis = lda
    module.QuadraticDiscriminantAnalysis = qda
    return module


def calls(test):
    """The arguments of each parametrised case of a test."""
    choices = []
    for mark in getattr(test, "pytestmark", []):
        names, values = mark.args
        names = [name.strip() for name in names.split(",")]
        choices.append(
            [
                dict(zip(names, [v] if len(names) == 1 else v, strict=True))
                for v in values
            ]
        )
    for parts in itertools.product(*choices):
        arguments = {name: value for part in parts for name, value in part.items()}
        if "global_random_seed" in inspect.signature(test).parameters:
            arguments["global_random_seed"] = 0
        yield arguments


@pytest.mark.parametrize("name", sorted(SELECTED))
def test_discriminant_analysis(discriminants, name):
    test = getattr(discriminants, name)
    for arguments in calls(test):
        test(**arguments)


def test_every_test_of_discriminant_analysis_is_listed(discriminants):
    names = {name for name in vars(discriminants) if name.startswith("test_")}
    assert names == SELECTED | set(DESELECTED)


@pytest.fixture(scope="module")
def classification(tmp_path_factory, pytestconfig):
    """Pyriemann's tests of classifiers."""
    pytestconfig.addinivalue_line("markers", "numpy_only: a marker of pyRiemann's")
    folder = tmp_path_factory.mktemp("pyriemann")
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--no-binary=:all:",
    ]
    command += ["--no-build-isolation", "-q", "-d", str(folder), PYRIEMANN]
    if subprocess.run(command, capture_output=True, timeout=300).returncode:
        pytest.skip("the source distribution of pyRiemann cannot be downloaded")
    path = checked(next(folder.glob("*.tar.gz")), PYRIEMANN_SDIST)
    with tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")
    return load(next(folder.glob("*/tests/test_classification.py")))


# Complex matrices, which pyRiemann's tests have as well, are refused: real_embedding
# makes real ones of them. GLRSQ has no probabilities, which the test requires. Other
# tests are of options of pyRiemann's classifiers.
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers_of_matrices(classification, n_classes):
    from pyriemann.datasets import make_matrices

    rng = np.random.RandomState(17)
    classification.test_classifier(
        "spd",
        n_classes,
        PLRSQ,
        lambda n, size, kind: make_matrices(n, size, kind, rng),
        lambda n, n_labels: np.arange(n_labels).repeat(n // n_labels),
        lambda n: rng.uniform(size=n),
    )
