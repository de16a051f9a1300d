"""One gateway, as `resolute.api` runs on a cluster, with the directory in the same process, which signing in needs.
Settings come from the environment."""

from __future__ import annotations

from functools import partial

from resolute.api.settings import ApiSettings
from resolute.api.shell import serve
from resolute.directory.shell import serve as serve_directory
from resolute.service.run import run_all

if __name__ == "__main__":
    gateway = partial(serve, settings=ApiSettings.model_validate({}))
    run_all({"directory": serve_directory, "api": gateway}, "gateway")
