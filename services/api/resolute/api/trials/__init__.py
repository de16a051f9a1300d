"""Trials, their runs, their validations, and which trial of an experiment is the best."""
