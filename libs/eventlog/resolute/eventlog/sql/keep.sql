-- What is kept beside the log: numbers, snapshots, positions of consumers, events set aside.

-- name: append
SELECT outcome, stood_at, first_position, prev_hashes, stored, recorded_at
  FROM eventlog.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12);

-- name: reserve
SELECT eventlog.reserve($1, $2);

-- name: load_snapshot
SELECT stream, version, schema, state FROM eventlog.snapshots WHERE stream = $1 AND schema = $2;

-- name: save_snapshot
INSERT INTO eventlog.snapshots AS kept (stream, version, schema, state) VALUES ($1, $2, $3, $4)
    ON CONFLICT (stream, schema) DO UPDATE SET version = excluded.version, state = excluded.state
 WHERE kept.version < excluded.version;

-- name: load_position
SELECT position FROM eventlog.consumers WHERE consumer = $1;

-- name: save_position
INSERT INTO eventlog.consumers AS kept (consumer, position) VALUES ($1, $2)
    ON CONFLICT (consumer) DO UPDATE SET position = excluded.position WHERE kept.position < excluded.position;

-- name: set_aside
INSERT INTO eventlog.aside (consumer, position, error) VALUES ($1, $2, $3)
    ON CONFLICT (consumer, position) DO UPDATE SET error = excluded.error, noted_at = clock_timestamp(), again_at = NULL;

-- name: ask_again
UPDATE eventlog.aside SET again_at = clock_timestamp() WHERE consumer = $1 AND position = $2 RETURNING position;

-- name: asked_again
SELECT consumer, position FROM eventlog.aside WHERE again_at IS NOT NULL ORDER BY position;

-- name: settle
DELETE FROM eventlog.aside WHERE consumer = $1 AND position = $2;

-- name: begin_attempt
-- Events are handled in order: when one begins, all before it have been handled, and their notes are not needed.
WITH passed AS (DELETE FROM eventlog.attempts WHERE consumer = $1 AND position < $2),
     noted AS (INSERT INTO eventlog.attempts (consumer, position, run) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING)
SELECT count(*) FROM eventlog.attempts WHERE consumer = $1 AND position = $2 AND run <> $3;

-- name: forget_attempts
DELETE FROM eventlog.attempts WHERE consumer = $1 AND position <= $2 AND (run = $3 OR $3::text IS NULL);

-- name: forget_attempts_of
DELETE FROM eventlog.attempts WHERE starts_with(consumer, $1) AND consumer <> $2;
