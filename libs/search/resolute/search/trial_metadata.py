"""The metadata of trials: a document of any form that the trial's own code, or a person, keeps with the trial.

Nothing here reads them. The state knows a digest, so that it stays small however large the documents are.
"""

from __future__ import annotations

import json
from hashlib import sha256

from resolute.proto.experiment import ChangeTrialMetadata, TrialMetadataChanged
from resolute.proto.message import Event, Object
from resolute.search.trial import Trial


def change(trial: Trial, command: ChangeTrialMetadata) -> list[Event]:
    """Nothing happens where the trial has these metadata already, or where metadata of an earlier release come after a
    change."""
    late = command.carried_over and bool(trial.metadata) and not trial.metadata_carried_over
    same = trial.metadata == digest(command.metadata) and trial.metadata_carried_over == command.carried_over
    return [] if late or same else [TrialMetadataChanged(trial.trial_id, command.metadata, command.carried_over)]


def keep(trial: Trial, event: TrialMetadataChanged) -> None:
    trial.metadata, trial.metadata_carried_over = digest(event.metadata), event.carried_over


def digest(metadata: Object) -> str:
    """The same for the same document, in whatever order its keys come."""
    return sha256(json.dumps(metadata, sort_keys=True).encode()).hexdigest()
