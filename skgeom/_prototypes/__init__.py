"""Prototypes: learning vector quantization of SPD matrices and vectors."""
