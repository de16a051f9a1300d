"""Metrics: what trials report while they train, read back by trial and group, and charted."""
