"""Prototypes: learning vector quantisation of SPD matrices and vectors."""
