CREATE TABLE read_interactive.tasks (
    task_id text PRIMARY KEY,
    kind text NOT NULL,
    allocation_id text NOT NULL,
    name text NOT NULL,
    owner_id int NOT NULL,
    owner text NOT NULL,
    workspace_id int NOT NULL,
    pool text NOT NULL,
    config jsonb NOT NULL,                    -- its secrets are sealed
    context text,
    created_at timestamptz NOT NULL,
    ended_at timestamptz,
    ready boolean NOT NULL,
    killed boolean NOT NULL,
    outcome text NOT NULL,
    exit_code int,
    reason text NOT NULL,
    agent_user text NOT NULL
);
CREATE INDEX tasks_kind ON read_interactive.tasks (kind, ended_at);
