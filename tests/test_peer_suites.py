"""The tests of pyRiemann and scikit-learn, run with estimators of skgeom.

Nothing is copied: the tests of scikit-learn are installed with it, and the tests of
pyRiemann are in its source distribution, which pip downloads. Both are pinned by hash.
Tests that cannot agree are listed with the reason.
"""

import hashlib
import importlib.util
import inspect
import subprocess
import sys
import tarfile
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import sklearn

from skgeom import GLRSQ, PLRSQ, GaussianClassifier
from skgeom.baselines import mdrm

pytestmark = [pytest.mark.exhaustive, pytest.mark.filterwarnings("ignore")]

SKLEARN_TESTS = "fb0c594ac38695f9aba7adb43cc86731940c81d257b165c7d71b3335a1d313c3"
PYRIEMANN = "pyriemann==0.12"
PYRIEMANN_SDIST = "a1450307bf3360fafe4e2e11a5db81889245f34b0042094bf8b59b7fe2bdeb9f"

# Names without "test_", by the reason why they are deselected.
DESELECTED = {
    "GaussianClassifier is no transformer": """
        get_feature_names_out lda_dimension_warning lda_explained_variance_ratio
        lda_orthogonality lda_solver_agreement lda_transform""",
    "GaussianClassifier has no coef_": """
        lda_coefs lda_dtype_match lda_numeric_consistency_float32_float64""",
    "shrinkage is selected differently, and has no parameter": """
        lda_ledoitwolf lda_shrinkage qda_covariance_estimator qda_ledoitwolf
        qda_shrinkage_performance""",
    "priors that do not add up to one are an error": "lda_priors",
    "the message is a different one": """
        raises_value_error_on_one_sample_per_class
        raises_value_error_on_same_number_of_classes_and_samples""",
    "the covariances are in statistics_": """
        lda_store_covariance qda_coefs qda_store_covariance""",
    "regularization is an absolute variance": "qda_regularization",
    "there is no parameter solver, and no parameter shrinkage": """
        lda_predict qda_solver_agreement""",
    "it tests a private function": "covariance",
}
SELECTED = {
    "test_lda_predict_proba",
    "test_lda_scaling",
    "test_qda",
    "test_qda_prior_copy",
    "test_qda_prior_type",
    "test_qda_priors",
}
DESELECTED_OF_PYRIEMANN = {
    "it tests parameters of one classifier of pyRiemann": """
        fgmdm knn mdm meanfield meanfield_transformer nch svc_cref_callable
        svc_cref_error svc_cref_metric svc_kernel_callable svc_kernel_error
        svc_kernel_precomputed svc_params svc_params_error tsclassifier_clf_error
        tsclassifier_fit tsclassifier_metrics""",
    "skgeom has no such function": "class_distinctiveness",
    "it tests a private function": "mode",
}
SELECTED_OF_PYRIEMANN = {
    "test_classifier": [PLRSQ, GLRSQ],
    "test_mdm_hpd": [PLRSQ, GLRSQ, mdrm],
    "test_metric_dict_error": [PLRSQ, GLRSQ],
    "test_metric_errors": [PLRSQ, GLRSQ],
    "test_metric_str": [PLRSQ, GLRSQ],
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


def lda(priors=None, **unused):
    return Discriminant("shared", regularization=0, priors=priors)


def qda(*, priors=None, **unused):
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


def calls(test, **given):
    """The arguments of each case of a parametrised test; given ones are fixed."""
    choices = []
    for mark in getattr(test, "pytestmark", []):
        names, values = mark.args
        names = [name.strip() for name in names.split(",")]
        values = values if len(names) > 1 else [[value] for value in values]
        if not set(names) & set(given):
            choices.append([dict(zip(names, value, strict=True)) for value in values])
    parameters = inspect.signature(test).parameters
    fixed = {name: given[name] for name in given if name in parameters}
    for parts in product(*choices):
        yield {k: v for part in parts for k, v in part.items()} | fixed


def unlisted(module, selected, deselected):
    """Names of tests that are in the module or in the lists only."""
    names = {name for name in vars(module) if name.startswith("test_")}
    listed = {f"test_{x}" for names in deselected.values() for x in names.split()}
    return names ^ (listed | set(selected))


@pytest.mark.parametrize("name", sorted(SELECTED))
def test_discriminant_analysis(discriminants, name):
    test = getattr(discriminants, name)
    for arguments in calls(test, global_random_seed=0):
        test(**arguments)


def test_every_test_is_listed(discriminants, classification):
    assert not unlisted(discriminants, SELECTED, DESELECTED)
    listed = SELECTED_OF_PYRIEMANN, DESELECTED_OF_PYRIEMANN
    assert not unlisted(classification, *listed)


@pytest.fixture(scope="module")
def classification(tmp_path_factory, pytestconfig):
    """Pyriemann's tests of classifiers."""
    pytestconfig.addinivalue_line("markers", "numpy_only: a marker of pyRiemann's")
    folder = tmp_path_factory.mktemp("pyriemann")
    command = [
        sys.executable,
        *"-m pip download -q --no-deps --no-binary=:all:".split(),
    ]
    command += ["--no-build-isolation", "-d", str(folder), PYRIEMANN]
    if subprocess.run(command, capture_output=True, timeout=300).returncode:
        pytest.skip("the source distribution of pyRiemann cannot be downloaded")
    path = checked(next(folder.glob("*.tar.gz")), PYRIEMANN_SDIST)
    with tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")
    return load(next(folder.glob("*/tests/test_classification.py")))


@pytest.mark.parametrize(
    ("name", "classifier"),
    [(name, c) for name, classes in SELECTED_OF_PYRIEMANN.items() for c in classes],
)
def test_classifiers_of_matrices(classification, name, classifier, monkeypatch):
    from pyriemann.datasets import make_matrices

    rng = np.random.RandomState(17)
    test = getattr(classification, name)
    monkeypatch.setattr(classification, "MDM", classifier)
    cases = calls(
        test,
        classif=classifier,
        get_mats=lambda n, size, kind: make_matrices(n, size, kind, rng),
        get_labels=lambda n, n_labels: np.arange(n_labels).repeat(n // n_labels),
        get_weights=lambda n: rng.uniform(size=n),
    )
    for arguments in cases:
        test(**arguments)
