"""AMAGaussCV: the search of the regularisation that SQFACV has, for AMA-Gauss."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skgeom import AMAGauss, AMAGaussCV


@pytest.mark.filterwarnings("ignore:The best regularization:UserWarning")
@pytest.mark.filterwarnings("ignore:The 2 filters span 1 directions only:UserWarning")
def test_as_a_grid_search():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    values = [0.01, 0.1, 1.0, 10.0]
    ama = AMAGaussCV(2, regularizations=values, cv=3, random_state=0).fit(X, y)
    model = make_pipeline(
        AMAGauss(2, random_state=0), QuadraticDiscriminantAnalysis(tol=0)
    )
    search = GridSearchCV(model, {"amagauss__regularization": values}, cv=3).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert_allclose(ama.cv_results_["mean_test_score"], scores, atol=0.02)
    chosen = values.index(ama.regularization_)
    assert scores[chosen] > scores.max() - 0.01
    expected = AMAGauss(2, regularization=ama.regularization_, random_state=0)
    assert_allclose(ama.components_, expected.fit(X, y).components_, atol=1e-12)
    assert ama.objective_ == pytest.approx(expected.objective_, rel=1e-12)
    assert_allclose(ama.priors_, np.full(3, 1 / 3))


# With the few samples of some checks, a fold leaves some classes one sample, of which a
# quadratic discriminant makes nothing. The blobs of others are separated by one
# direction, which the filters repeat: the warning is right.
@pytest.mark.filterwarnings("ignore:The 2 filters span 1 directions only:UserWarning")
@parametrize_with_checks([AMAGaussCV(regularizations=2, cv=2, classifier=GaussianNB())])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
