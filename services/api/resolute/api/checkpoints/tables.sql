CREATE TABLE read_checkpoints.checkpoints (
    uuid text PRIMARY KEY,
    experiment_id bigint NOT NULL,
    trial_id bigint NOT NULL,
    task_id text NOT NULL,
    allocation_id text NOT NULL,
    run_id int NOT NULL,
    steps_completed int NOT NULL,
    state text NOT NULL,
    storage jsonb NOT NULL,
    resources jsonb NOT NULL,
    size_bytes bigint NOT NULL,
    metadata jsonb NOT NULL,
    reported_at timestamptz NOT NULL
);
CREATE INDEX checkpoints_experiment ON read_checkpoints.checkpoints (experiment_id);
CREATE INDEX checkpoints_trial ON read_checkpoints.checkpoints (trial_id);
