-- The read model: what people see, grown from the log. Each version has a schema of its own, whose name stands here in
-- place of `read_v1`. A dropped schema grows again.

CREATE SCHEMA read_v1;

CREATE TABLE read_v1.progress (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    position bigint NOT NULL,         -- of the last event that these tables show
    version int NOT NULL              -- of the projections that made these tables, and alone may change them
);

CREATE TABLE read_v1.users (
    id int PRIMARY KEY,
    username text NOT NULL UNIQUE,
    admin boolean NOT NULL,
    active boolean NOT NULL,
    display_name text NOT NULL,
    remote boolean NOT NULL,
    agent_user_group jsonb,
    blank_password boolean NOT NULL DEFAULT true,
    last_auth_at timestamptz,
    modified_at timestamptz NOT NULL
);

CREATE TABLE read_v1.user_settings (         -- of the web app
    user_id int NOT NULL,
    key text NOT NULL,
    storage_path text NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (user_id, key, storage_path)
);

CREATE TABLE read_v1.workspaces (
    id int PRIMARY KEY,
    name text NOT NULL,
    owner_id int NOT NULL,
    immutable boolean NOT NULL,
    archived boolean NOT NULL DEFAULT false,
    agent_user_group jsonb,
    checkpoint_storage jsonb,
    default_compute_pool text NOT NULL DEFAULT '',
    default_aux_pool text NOT NULL DEFAULT ''
);

CREATE TABLE read_v1.projects (
    id int PRIMARY KEY,
    workspace_id int NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    owner_id int NOT NULL,
    immutable boolean NOT NULL,
    archived boolean NOT NULL DEFAULT false
);

CREATE TABLE read_v1.experiments (
    id bigint PRIMARY KEY,
    job_id text NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    notes text NOT NULL DEFAULT '',
    labels text[] NOT NULL,
    owner_id int NOT NULL,
    owner text NOT NULL,
    project_id int NOT NULL,
    searcher_type text NOT NULL,
    searcher_metric text NOT NULL,
    smaller_is_better boolean NOT NULL,
    resource_pool text NOT NULL,
    state text NOT NULL,
    reason text NOT NULL DEFAULT '',
    archived boolean NOT NULL DEFAULT false,
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    parent_id bigint,
    unmanaged boolean NOT NULL,
    external_id text,
    model_definition text,
    log_retention_days int,                   -- of the trials' logs, after their end; null where the cluster decides
    trials int NOT NULL DEFAULT 0,
    search_progress double precision,         -- of a search that says so itself
    best_trial_id bigint,
    best_metric double precision
);
CREATE TABLE read_v1.experiment_configs (   -- apart, so that the rows above stay small
    experiment_id bigint PRIMARY KEY,
    config jsonb NOT NULL,
    original_config text NOT NULL
);
CREATE INDEX experiments_started ON read_v1.experiments (started_at, id);
CREATE INDEX experiments_job ON read_v1.experiments (job_id);
CREATE INDEX experiments_owner ON read_v1.experiments (owner);
CREATE INDEX experiments_project ON read_v1.experiments (project_id);

CREATE TABLE read_v1.trials (
    id bigint PRIMARY KEY,
    experiment_id bigint NOT NULL,
    request_id text NOT NULL,
    task_id text NOT NULL,
    hparams jsonb NOT NULL,
    seed bigint NOT NULL,
    warm_start text,
    state text NOT NULL,
    reason text NOT NULL DEFAULT '',
    restarts int NOT NULL DEFAULT 0,
    log_policy_matched text,          -- the latest
    run_id int NOT NULL DEFAULT 0,
    continued_after_run int NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    best_metric double precision,
    best_steps int,
    latest_metric double precision,
    latest_steps int,
    target bigint,                    -- how far to train in all, in the unit of searcher.max_length
    target_reached boolean NOT NULL DEFAULT false,
    log_retention_days int,           -- its own; null where the experiment decides
    logs_removed_at timestamptz,      -- what was printed before is deleted, for it was kept for
    logs_removed_after_days int,      -- so many days after the trial's end,
    logs_removed_lines bigint,        -- and was so many lines
    metadata jsonb                    -- what its own code keeps with it
);
CREATE INDEX trials_experiment ON read_v1.trials (experiment_id, id);
CREATE UNIQUE INDEX trials_task ON read_v1.trials (task_id);
CREATE INDEX trials_warm_start ON read_v1.trials (warm_start) WHERE warm_start IS NOT NULL;

CREATE TABLE read_v1.runs (
    trial_id bigint NOT NULL,
    run_id int NOT NULL,
    allocation_id text NOT NULL,
    checkpoint text,
    steps_completed int NOT NULL,
    requested_at timestamptz NOT NULL,
    started_at timestamptz,
    ended_at timestamptz,
    stop_asked boolean NOT NULL DEFAULT false,
    outcome text,
    exit_code int,
    reason text,
    PRIMARY KEY (trial_id, run_id)
);
CREATE INDEX runs_allocation ON read_v1.runs (allocation_id);

CREATE TABLE read_v1.validations (
    trial_id bigint NOT NULL,
    steps_completed int NOT NULL,
    run_id int NOT NULL,
    experiment_id bigint NOT NULL,
    metric double precision,
    reported_at timestamptz NOT NULL,
    PRIMARY KEY (trial_id, steps_completed)
);
CREATE INDEX validations_experiment ON read_v1.validations (experiment_id, reported_at);

CREATE TABLE read_v1.allocations (
    allocation_id text PRIMARY KEY,
    pool text NOT NULL,
    task_id text NOT NULL,
    task_type text NOT NULL,
    job_id text NOT NULL,
    name text NOT NULL,
    owner text NOT NULL,
    slots int NOT NULL,
    priority int NOT NULL,
    weight double precision NOT NULL,
    max_slots int,
    experiment_id bigint,
    trial_id bigint,
    state text NOT NULL,
    why text NOT NULL DEFAULT '',
    waits jsonb,              -- the recorded reasons, each with its time and whose wish it was: while it waits,
    placed jsonb,             -- for where it is,
    preempted jsonb,          -- for being asked to go,
    killed jsonb,             -- for being stopped
    preemption_deadline_at timestamptz,
    requested_at timestamptz NOT NULL,
    assigned_at timestamptz,
    started_at timestamptz,
    ended_at timestamptz,
    outcome text,
    exit_code int
);
CREATE INDEX allocations_task ON read_v1.allocations (task_id);
CREATE INDEX allocations_live ON read_v1.allocations (experiment_id) WHERE ended_at IS NULL;
CREATE INDEX allocations_job ON read_v1.allocations (job_id) WHERE ended_at IS NULL;
CREATE INDEX allocations_waiting ON read_v1.allocations (pool) WHERE state = 'QUEUED';
CREATE INDEX allocations_trial ON read_v1.allocations (trial_id);

CREATE TABLE read_v1.jobs (
    job_id text NOT NULL,
    pool text NOT NULL,
    place numeric NOT NULL,   -- in the queue, among equals: that of its arrival, unless a person moved it
    PRIMARY KEY (job_id, pool)
);
CREATE TABLE read_v1.arrivals (
    pool text PRIMARY KEY,
    count bigint NOT NULL
);

CREATE TABLE read_v1.placements (
    resources_id text PRIMARY KEY,
    allocation_id text NOT NULL,
    share int NOT NULL,
    agent_id text NOT NULL,
    slot_ids int[] NOT NULL,
    address text NOT NULL DEFAULT '',
    state text NOT NULL,
    exit_code int,
    reason text NOT NULL DEFAULT ''
);
CREATE INDEX placements_allocation ON read_v1.placements (allocation_id, share);
CREATE INDEX placements_live ON read_v1.placements (agent_id) WHERE state <> 'EXITED';

CREATE TABLE read_v1.agents (
    agent_id text NOT NULL,
    pool text NOT NULL,       -- each pool it was ever in knows it: alive in one of them at most
    host text NOT NULL,
    version text NOT NULL,
    enabled boolean NOT NULL DEFAULT true,
    draining boolean NOT NULL DEFAULT false,
    alive boolean NOT NULL,
    joined_at timestamptz NOT NULL,
    PRIMARY KEY (agent_id, pool)
);

CREATE TABLE read_v1.slots (
    agent_id text NOT NULL,
    pool text NOT NULL,
    slot_id int NOT NULL,
    kind text NOT NULL,
    brand text NOT NULL,
    uuid text NOT NULL,
    enabled boolean NOT NULL DEFAULT true,
    draining boolean NOT NULL DEFAULT false,
    PRIMARY KEY (agent_id, pool, slot_id)
);

CREATE TABLE read_v1.checkpoints (
    uuid text PRIMARY KEY,
    experiment_id bigint NOT NULL,
    trial_id bigint NOT NULL,
    task_id text NOT NULL,
    allocation_id text NOT NULL,
    run_id int NOT NULL DEFAULT 0,
    steps_completed int NOT NULL DEFAULT 0,
    state text NOT NULL,
    storage jsonb NOT NULL,
    resources jsonb NOT NULL DEFAULT '{}',
    size_bytes bigint NOT NULL DEFAULT 0,
    metadata jsonb NOT NULL DEFAULT '{}',
    reported_at timestamptz NOT NULL
);
CREATE INDEX checkpoints_experiment ON read_v1.checkpoints (experiment_id);
CREATE INDEX checkpoints_trial ON read_v1.checkpoints (trial_id);
