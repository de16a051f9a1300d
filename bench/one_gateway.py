"""One gateway process, as `resolute.api` runs on a cluster, with nothing beside it; settings come by environment."""

from __future__ import annotations

from functools import partial

from resolute.api.settings import ApiSettings
from resolute.api.shell import serve
from resolute.service.run import run

if __name__ == "__main__":
    run(partial(serve, settings=ApiSettings.model_validate({})), "api")
