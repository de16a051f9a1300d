CREATE TABLE read_identity.users (
    id int PRIMARY KEY,
    username text NOT NULL,
    admin boolean NOT NULL,
    active boolean NOT NULL,
    display_name text NOT NULL,
    remote boolean NOT NULL,
    agent_user_group jsonb,
    blank_password boolean NOT NULL,
    last_auth_at timestamptz,
    modified_at timestamptz NOT NULL
);
CREATE INDEX users_username ON read_identity.users (username);

CREATE TABLE read_identity.user_settings (   -- of the web app
    user_id int NOT NULL,
    key text NOT NULL,
    storage_path text NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (user_id, key, storage_path)
);
