-- The hashes of access tokens. Whose they are, and until when they count, is in the log.

CREATE TABLE api.access_tokens (
    token_id int PRIMARY KEY,
    token_hash bytea NOT NULL UNIQUE          -- SHA-256; the token itself is known to its bearer alone
);
