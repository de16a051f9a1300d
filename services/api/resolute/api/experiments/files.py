"""The context directory that comes with a submission: from the files of the wire to an archive."""

from __future__ import annotations

from collections.abc import Sequence

from resolute.api.experiments.submission_messages import File
from resolute.api.kernel.messages import given_in
from resolute.config.context import ContextFile, of_model_definition, to_tgz


def contents_of(files: Sequence[File]) -> list[ContextFile]:
    """Raises InvalidConfig for files that make no context directory."""
    return of_model_definition([given_in(file) for file in files])


def archive_of(files: Sequence[File]) -> tuple[bytes | None, tuple[str, ...]]:
    """The archive, None where there are no files; and the paths in it. Raises InvalidConfig."""
    contents = contents_of(files)
    return (to_tgz(contents) if contents else None), tuple(file.path for file in contents)
