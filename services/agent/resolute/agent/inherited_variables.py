"""Which variables of the host's environment a task inherits: those that programs need to run, and those that the
agent's settings name.

An agent is often started from a person's shell, whose environment contains that person's secrets. So a variable is
passed on only when it is in the lists below, or when the agent's setting `task_variables` names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

NAMES = frozenset((
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "TMPDIR", "LANG", "LANGUAGE",
    "LD_LIBRARY_PATH", "LD_PRELOAD", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "XDG_CACHE_HOME",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "CC", "CXX", "HF_HOME", "DS_ACCELERATOR",
))  # fmt: skip
"""Paths of programs and libraries, the time zone and the language, and certificates to trust."""

PREFIXES = (
    "LC_", "PYTHON",
    "CUDA_", "CUDNN_", "CUBLAS_", "NVIDIA_", "NCCL_", "ROCM_", "ROCR_", "HIP_", "HSA_", "MIOPEN_", "RCCL_", "GPU_",
    "GLOO_", "UCX_", "FI_", "IB_", "HOROVOD_",
    "OMP_", "MKL_", "OPENBLAS_", "GOMP_", "KMP_", "NUMEXPR_", "MALLOC_",
    "TORCH_", "TORCHINDUCTOR_", "PYTORCH_", "TF_", "XLA_", "TRITON_",
)  # fmt: skip
"""Prefixes of the settings of accelerators, of networks between workers, and of numerical libraries."""

PROXIES = frozenset(("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"))
"""Names in lower case; upper case is passed on as well. A proxy whose URL has a password is not."""

SECRET = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "API_KEY", "APIKEY")
"""A variable whose name contains one of these is passed on only when `task_variables` names it."""

NEVER = ("RESOLUTE_", "DET_", "NATS_")
"""Prefixes of the agent's own settings and secrets, which are never passed on, even when a pattern matches them."""


def inheritable(environ: Mapping[str, str], named: Sequence[str] = ()) -> dict[str, str]:
    """`named`: further variables, as names or as patterns with `*`."""
    return {name: value for name, value in environ.items() if _is_inherited(name, value, named)}


def _is_inherited(name: str, value: str, named: Sequence[str]) -> bool:
    if name.startswith(NEVER):
        return False
    if any(fnmatchcase(name, pattern) for pattern in named):
        return True
    if any(word in name.upper() for word in SECRET):
        return False
    if name.lower() in PROXIES:
        return not _has_password(value)
    return name in NAMES or name.startswith(PREFIXES)


def _has_password(proxy: str) -> bool:
    return urlsplit(proxy if "//" in proxy else f"//{proxy}").password is not None
