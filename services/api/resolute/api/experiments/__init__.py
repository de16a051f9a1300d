"""Experiments and their configurations."""
