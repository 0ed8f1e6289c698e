"""Filters that tell classes apart: SQFA, its relatives, and AMA-Gauss."""
