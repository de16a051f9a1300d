CREATE TABLE read_trials.trials (
    id bigint PRIMARY KEY,
    experiment_id bigint NOT NULL,
    request_id text NOT NULL,
    task_id text NOT NULL,
    hparams jsonb NOT NULL,
    seed bigint NOT NULL,
    warm_start text,
    state text NOT NULL,
    reason text NOT NULL,
    restarts int NOT NULL,
    log_policy_matched text,          -- the latest
    run_id int NOT NULL,
    continued_after_run int NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    best_metric double precision,
    best_steps int,
    latest_metric double precision,
    latest_steps int,
    target bigint,                    -- how far to train in all, in the unit of searcher.max_length
    target_reached boolean NOT NULL,
    log_retention_days int,           -- its own; null where the experiment decides
    logs_removed_at timestamptz,      -- what was printed before is deleted, for it was kept for
    logs_removed_after_days int,      -- so many days after the trial's end,
    logs_removed_lines bigint,        -- and was so many lines
    metadata jsonb,                   -- what the trial's own code keeps with the trial
    archived boolean NOT NULL         -- by itself; its experiment may be archived as a whole
);
CREATE INDEX trials_experiment ON read_trials.trials (experiment_id, id);
CREATE INDEX trials_task ON read_trials.trials (task_id);
CREATE INDEX trials_warm_start ON read_trials.trials (warm_start) WHERE warm_start IS NOT NULL;

CREATE TABLE read_trials.runs (
    trial_id bigint NOT NULL,
    run_id int NOT NULL,
    experiment_id bigint NOT NULL,
    allocation_id text NOT NULL,
    checkpoint text,
    steps_completed int NOT NULL,
    requested_at timestamptz NOT NULL,
    started_at timestamptz,
    ended_at timestamptz,
    stop_asked boolean NOT NULL,
    outcome text,
    exit_code int,
    reason text,
    PRIMARY KEY (trial_id, run_id)
);
CREATE INDEX runs_experiment ON read_trials.runs (experiment_id);
CREATE INDEX runs_allocation ON read_trials.runs (allocation_id);

CREATE TABLE read_trials.validations (
    trial_id bigint NOT NULL,
    steps_completed int NOT NULL,
    run_id int NOT NULL,
    experiment_id bigint NOT NULL,
    metric double precision,
    reported_at timestamptz NOT NULL,
    PRIMARY KEY (trial_id, steps_completed)
);
CREATE INDEX validations_experiment ON read_trials.validations (experiment_id, reported_at);

CREATE TABLE read_trials.standings (  -- of every experiment, those without trials included
    experiment_id bigint PRIMARY KEY,
    trials int NOT NULL,
    smaller_is_better boolean NOT NULL,
    best_trial_id bigint,
    best_metric double precision
);
