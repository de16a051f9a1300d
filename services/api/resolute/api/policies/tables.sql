CREATE TABLE read_policies.policies (
    workspace_id int NOT NULL,                -- 0: the cluster
    workload text NOT NULL,
    invariant_config jsonb NOT NULL,          -- its secrets are sealed
    constraints jsonb NOT NULL,
    PRIMARY KEY (workspace_id, workload)
);
