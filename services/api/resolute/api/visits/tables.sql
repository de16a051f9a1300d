CREATE TABLE read_visits.visits (
    user_id int,
    project_id int,
    visited_at timestamptz NOT NULL,
    position bigint NOT NULL,                 -- of the visit in the log: the order of the visits
    PRIMARY KEY (user_id, project_id)
);

CREATE INDEX ON read_visits.visits (project_id);
