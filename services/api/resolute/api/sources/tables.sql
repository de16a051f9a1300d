CREATE TABLE read_sources.uses (
    checkpoint text NOT NULL,
    trial_id bigint NOT NULL,
    experiment_id bigint NOT NULL,            -- whose checkpoint it is
    by bigint NOT NULL,                       -- the experiment of the trial
    use text NOT NULL,                        -- INFERENCE or FINE_TUNING
    model_id int NOT NULL,                    -- 0 where it was not used as a version of a model
    model_version int NOT NULL,
    PRIMARY KEY (checkpoint, trial_id)
);
CREATE INDEX uses_of_version ON read_sources.uses (model_id, model_version);
CREATE INDEX uses_of_experiment ON read_sources.uses (experiment_id);
CREATE INDEX uses_by ON read_sources.uses (by);
