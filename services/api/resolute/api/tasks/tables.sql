CREATE TABLE read_tasks.allocations (
    allocation_id text PRIMARY KEY,
    pool text NOT NULL,
    task_id text NOT NULL,
    task_type text NOT NULL,
    job_id text NOT NULL,
    live_job_id text NOT NULL,   -- as job_id; empty once the allocation has ended
    name text NOT NULL,
    owner text NOT NULL,
    slots int NOT NULL,
    priority int NOT NULL,
    weight double precision NOT NULL,
    max_slots int,
    experiment_id bigint,
    trial_id bigint,
    state text NOT NULL,
    why text NOT NULL,
    waits jsonb,              -- the recorded reasons, each with its time and actor: why it waits,
    placed jsonb,             -- why it was placed where it is,
    preempted jsonb,          -- why it was asked to give its slots back,
    killed jsonb,             -- why it was stopped
    preemption_deadline_at timestamptz,
    requested_at timestamptz NOT NULL,
    assigned_at timestamptz,
    started_at timestamptz,
    ended_at timestamptz,
    outcome text,
    exit_code int
);
CREATE INDEX allocations_task ON read_tasks.allocations (task_id);
CREATE INDEX allocations_live ON read_tasks.allocations (experiment_id) WHERE ended_at IS NULL;
CREATE INDEX allocations_job ON read_tasks.allocations (job_id) WHERE ended_at IS NULL;
CREATE INDEX allocations_live_job ON read_tasks.allocations (live_job_id);
CREATE INDEX allocations_waiting ON read_tasks.allocations (pool) WHERE state = 'QUEUED';
CREATE INDEX allocations_trial ON read_tasks.allocations (trial_id);

CREATE TABLE read_tasks.placements (
    resources_id text PRIMARY KEY,
    allocation_id text NOT NULL,
    share int NOT NULL,
    agent_id text NOT NULL,
    slot_ids int[] NOT NULL,
    address text NOT NULL,
    state text NOT NULL,
    exit_code int,
    reason text NOT NULL
);
CREATE INDEX placements_allocation ON read_tasks.placements (allocation_id, share);
CREATE INDEX placements_live ON read_tasks.placements (agent_id) WHERE state <> 'EXITED';
