"""One gateway with the directory in its process, as `bench.one_gateway`, and the relay: facts come over the bus, as on
a cluster."""

from __future__ import annotations

from functools import partial

from resolute.api.settings import ApiSettings
from resolute.api.shell import serve
from resolute.directory.shell import serve as serve_directory
from resolute.relay.shell import serve as serve_relay
from resolute.service.run import run_all

if __name__ == "__main__":
    gateway = partial(serve, settings=ApiSettings.model_validate({}))
    run_all({"directory": serve_directory, "relay": serve_relay, "api": gateway}, "gateway")
