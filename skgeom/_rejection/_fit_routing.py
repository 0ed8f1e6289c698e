"""Arguments of ``fit`` for the classifier and for the split into folds."""

from inspect import Parameter, signature

from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import process_routing


def route(meta_estimator, sample_weight, fit_params):
    """Parameters for the classifier's fit, and for the split into folds."""
    params = dict(fit_params)
    if sample_weight is not None:
        params["sample_weight"] = sample_weight
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(meta_estimator, "fit", **params)
    else:
        groups = {"groups": params["groups"]} if "groups" in params else {}
        accepted = signature(meta_estimator.estimator.fit).parameters.values()
        accepts_groups = any(
            p.name == "groups" or p.kind == Parameter.VAR_KEYWORD for p in accepted
        )
        # The fit of a pipeline accepts only parameters of its steps.
        if isinstance(meta_estimator.estimator, Pipeline) or not accepts_groups:
            params.pop("groups", None)
        routed = Bunch(estimator=Bunch(fit=params), splitter=Bunch(split=groups))
    for name, values in routed.estimator.fit.items():
        if name.split("__")[-1] == "groups":
            routed.splitter.split.setdefault("groups", values)
    return routed


def check_no_domain(params):
    """Raise ValueError for a domain in ``fit``, which predictions could not receive.

    With target data, ``fit`` stores the domain of the predictions.
    """
    names = [name.split("__")[-1] for name in params]
    if "domain" in names and not any("_target_" in name for name in names):
        raise ValueError(
            "domain cannot be passed to RejectionClassifier, whose predictions have no "
            "domain. Place Recentering before it, make_pipeline(Recentering(), "
            "RejectionClassifier(...)), and call "
            "sklearn.set_config(enable_metadata_routing=True). In this pipeline, use "
            "TransferDiscriminantAnalysis().set_fit_request(domain=False)."
        )


def weights_in(params, estimator):
    """The sample weights of the classifier among the arguments of ``fit``, or None.

    The classifier may be the last step of a pipeline, or in a meta-estimator such as a
    grid search or a vote. Metadata routing may give the weights a different name.
    """
    if "sample_weight" in params or isinstance(estimator, FrozenEstimator):
        return params.get("sample_weight")
    parts = getattr(estimator, "steps", [])[-1:] or getattr(estimator, "estimators", [])
    if getattr(estimator, "estimator", None) is not None:
        parts = [("estimator", estimator.estimator)]
    if not params or not parts:
        return None
    routes = get_config()["enable_metadata_routing"]
    routed = process_routing(estimator, "fit", **params) if routes else {}
    for name, part in parts:
        of_part = {key.removeprefix(f"{name}__"): params[key] for key in params}
        of_part = routed.get(name, {}).get("fit", {}) if routes else of_part
        if (weights := weights_in(of_part, part)) is not None:
            return weights
    return None
