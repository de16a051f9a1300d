"""The names by which modules outside of slices know how configurations are shown."""

from __future__ import annotations

from resolute.api.experiments.configurations import both_without_secrets, for_wire, without_secrets

__all__ = ["for_wire", "shown_both", "shown_config"]

shown_config, shown_both = without_secrets, both_without_secrets
