"""The public client asks which pools a workspace may use, and an administrator's binds pools to workspaces."""

from __future__ import annotations

from tests.interop.conftest import PublicClient

SCRIPT = """
from determined.common.api import bindings as b

session = client._determined._session
pools = b.get_ListRPsBoundToWorkspace(session, workspaceId=1).resourcePools
print("pools", pools == sorted(one.name for one in b.get_GetResourcePools(session).resourcePools), len(pools) > 0)
print("workspaces", b.get_ListWorkspacesBoundToRP(session, resourcePoolName=pools[0]).workspaceIds)
body = b.v1OverwriteRPWorkspaceBindingsRequest(resourcePoolName=pools[0], workspaceIds=[])
try:
    b.put_OverwriteRPWorkspaceBindings(session, body=body, resourcePoolName=pools[0])
except Exception as error:
    print("overwrite", type(error).__name__)
"""


def test_its_bindings_decode_which_pools_a_workspace_may_use(public: PublicClient) -> None:
    assert public.python(SCRIPT).splitlines() == [
        "pools True True",
        "workspaces []",
        "overwrite ForbiddenException",
    ]
