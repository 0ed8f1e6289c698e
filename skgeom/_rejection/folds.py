"""Confidences of a classifier in samples that it has not seen."""

from skgeom.utils._sklearn import check_method_params, safe_split


def fold_confidences(classifier, X, y, train, test, fit_params):
    """Largest probabilities of the test part, after a fit to the training part."""
    X_train, y_train = safe_split(classifier, X, y, train)
    X_test, _ = safe_split(classifier, X, y, test, train)
    params = check_method_params(X, fit_params, indices=train)
    classifier.fit(X_train, y_train, **params)
    return classifier.predict_proba(X_test).max(axis=1)
