"""Tables and figures of the papers, computed again: ``python -m benchmarks.papers``."""

MODULES = [
    "hartoyo",
    "hartoyo_figures",
    "plrsq_bci",
    "plrsq_eth80",
    "sqfa_mnist",
    "sqfa_distances",
]
