"""The Python SDK: scripts that submit experiments, wait for them, and use what came of them."""

from __future__ import annotations

from determined.common.experimental import checkpoint as checkpoint
from determined.common.experimental import metrics as metrics
from determined.common.experimental import model as model
from determined.common.experimental._order import OrderBy as OrderBy
from determined.common.experimental.checkpoint import Checkpoint as Checkpoint
from determined.common.experimental.determined import Determined as Determined
from determined.common.experimental.experiment import Experiment as Experiment
from determined.common.experimental.experiment import ExperimentReference as ExperimentReference
from determined.common.experimental.model import Model as Model
from determined.common.experimental.model import ModelOrderBy as ModelOrderBy
from determined.common.experimental.model import ModelSortBy as ModelSortBy
from determined.common.experimental.model import ModelVersion as ModelVersion
from determined.common.experimental.project import Project as Project
from determined.common.experimental.trial import Trial as Trial
from determined.common.experimental.trial import TrialOrderBy as TrialOrderBy
from determined.common.experimental.trial import TrialReference as TrialReference
from determined.common.experimental.trial import TrialSortBy as TrialSortBy
from determined.experimental import client as client
