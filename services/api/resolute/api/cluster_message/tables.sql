CREATE TABLE read_cluster_message.messages (
    id int PRIMARY KEY,                       -- 1: there is one at a time
    message text NOT NULL,
    start_at timestamptz NOT NULL,
    end_at timestamptz,
    created_at timestamptz NOT NULL
);
