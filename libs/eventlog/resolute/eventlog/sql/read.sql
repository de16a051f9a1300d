-- Reading the log. The columns are those that resolute.eventlog.rows unpacks, in its order.

-- name: read_stream
SELECT position, stream, version, type, schema_version, data::text, caused_by, step, correlation_id, actor,
       traceparent, recorded_at, prev_hash
  FROM eventlog.events WHERE stream = $1 AND version > $2 ORDER BY version;

-- name: read_all
SELECT position, stream, version, type, schema_version, data::text, caused_by, step, correlation_id, actor,
       traceparent, recorded_at, prev_hash
  FROM eventlog.events WHERE position > $1 ORDER BY position LIMIT $2;

-- name: read_cause
SELECT position, stream, version, type, schema_version, data::text, caused_by, step, correlation_id, actor,
       traceparent, recorded_at, prev_hash
  FROM eventlog.events WHERE stream = $1 AND caused_by = $2 ORDER BY step;

-- name: head
SELECT position FROM eventlog.log_head;

-- name: stream_heads
SELECT stream, version, head_hash FROM eventlog.streams ORDER BY stream;

-- name: stream_holding
-- The stream whose data say the most recently that `$1`, a field, is `$2`.
SELECT stream FROM eventlog.events
 WHERE stream LIKE $3 AND data -> $1 = to_jsonb($2::bigint) ORDER BY position LIMIT 1;
