"""Classifiers of SPD matrices across people and days."""
