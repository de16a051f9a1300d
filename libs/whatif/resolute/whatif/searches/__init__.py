"""Searches that are only played: previews (`preview`), and comparisons (`compare`) on made-up curves (`surrogate`)."""
