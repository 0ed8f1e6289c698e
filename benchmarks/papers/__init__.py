"""Tables and figures of the papers, computed again: ``python -m benchmarks.papers``."""

MODULES = ["hartoyo", "plrsq_bci", "plrsq_eth80"]
