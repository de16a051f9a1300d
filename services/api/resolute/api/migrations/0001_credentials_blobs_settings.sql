-- What the gateway keeps beside the log: secrets, which the log could never forget, large files, and settings.

CREATE SCHEMA IF NOT EXISTS api;

CREATE TABLE api.credentials (
    user_id int PRIMARY KEY,
    password_hash text,                       -- argon2id over the form that clients send; null for a blank password
    changed_at timestamptz NOT NULL
);

CREATE TABLE api.sessions (
    session_id bigint PRIMARY KEY,
    user_id int NOT NULL,
    token_hash bytea NOT NULL UNIQUE,         -- SHA-256; the token itself is known to its bearer alone
    expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_user ON api.sessions (user_id);

CREATE TABLE api.blobs (
    sha256 text PRIMARY KEY,
    size_bytes bigint NOT NULL,
    content bytea NOT NULL
);
ALTER TABLE api.blobs ALTER COLUMN content SET STORAGE EXTERNAL;  -- archives are compressed already

CREATE TABLE api.user_settings (
    user_id int NOT NULL,
    key text NOT NULL,
    storage_path text NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (user_id, key, storage_path)
);
