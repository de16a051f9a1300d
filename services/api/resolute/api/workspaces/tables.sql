CREATE TABLE read_workspaces.workspaces (
    id int PRIMARY KEY,
    name text NOT NULL,
    owner_id int NOT NULL,
    immutable boolean NOT NULL,
    archived boolean NOT NULL,
    agent_user_group jsonb,
    checkpoint_storage jsonb,
    default_compute_pool text NOT NULL,
    default_aux_pool text NOT NULL,
    state text NOT NULL,
    error text NOT NULL
);

CREATE TABLE read_workspaces.projects (
    id int PRIMARY KEY,
    workspace_id int NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    owner_id int NOT NULL,
    immutable boolean NOT NULL,
    archived boolean NOT NULL,
    key text NOT NULL,
    notes jsonb,
    state text NOT NULL,
    error text NOT NULL
);

CREATE INDEX ON read_workspaces.projects (key);

CREATE TABLE read_workspaces.pins (
    workspace_id int,
    user_id int,
    pinned_at timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, user_id)
);
