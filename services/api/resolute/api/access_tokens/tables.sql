CREATE TABLE read_access_tokens.tokens (
    id int PRIMARY KEY,
    user_id int NOT NULL,
    description text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked boolean NOT NULL
);
CREATE INDEX tokens_user ON read_access_tokens.tokens (user_id);
