"""Reproduction of tables and figures of the papers: ``python -m benchmarks.papers``."""

MODULES = [
    "sqfa_digits",
    "sqfa_videos",
    "sqfa_distances",
    "sqfa_toys",
    "hartoyo",
    "hartoyo_figures",
    "plrsq_synthetic",
    "plrsq_soft_labels",
    "plrsq_bci",
    "plrsq_eth80",
    "plrsq_methods",
    "plrsq_cifar10",
]
