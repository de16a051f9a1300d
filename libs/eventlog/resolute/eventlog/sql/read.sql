-- Reading the log. The columns are those that resolute.eventlog.rows unpacks, in its order.

-- name: read_stream
SELECT position, stream, version, type, schema_version, data::text, caused_by, step, correlation_id, actor,
       traceparent, recorded_at, prev_hash
  FROM eventlog.events WHERE stream = $1 AND version > $2 ORDER BY version LIMIT $3;

-- name: read_types
SELECT position, stream, version, type, schema_version, data::text, caused_by, step, correlation_id, actor,
       traceparent, recorded_at, prev_hash
  FROM eventlog.events WHERE stream = $1 AND type = ANY ($2::text[]) ORDER BY version;

-- name: read_all
SELECT position, stream, version, type, schema_version, data::text, caused_by, step, correlation_id, actor,
       traceparent, recorded_at, prev_hash
  FROM eventlog.events WHERE position > $1 ORDER BY position LIMIT $2;

-- name: streams
SELECT stream FROM eventlog.streams WHERE starts_with(stream, $1) ORDER BY stream COLLATE "C";

-- name: read_cause
SELECT position, stream, version, type, schema_version, data::text, caused_by, step, correlation_id, actor,
       traceparent, recorded_at, prev_hash
  FROM eventlog.events WHERE stream = $1 AND caused_by = $2 ORDER BY step;

-- name: version
SELECT version FROM eventlog.streams WHERE stream = $1;

-- name: find
-- A condition whose parameter is NULL is not looked at.
SELECT position, stream, version, type, schema_version, data::text, caused_by, step, correlation_id, actor,
       traceparent, recorded_at, prev_hash
  FROM eventlog.events
 WHERE position > $1 AND ($2::text IS NULL OR stream = $2) AND ($3::text IS NULL OR caused_by = $3)
   AND ($4::text IS NULL OR correlation_id = $4)
   AND ($5::text[] IS NULL OR type = ANY ($5))
   AND ($6::text[] IS NULL OR EXISTS (SELECT FROM unnest($6) AS field WHERE data ->> field = ANY ($7::text[])))
 ORDER BY position LIMIT $8;

-- name: head
SELECT position FROM eventlog.log_head;

-- name: heads
-- Where every stream ends, or only $1, and where the log did at that moment.
SELECT stream, version, head_hash, (SELECT position FROM eventlog.log_head)
  FROM eventlog.streams WHERE stream = $1 OR $1::text IS NULL ORDER BY stream;

-- name: read_mentioning
SELECT position, stream, version, type, schema_version, data::text, caused_by, step, correlation_id, actor,
       traceparent, recorded_at, prev_hash
  FROM eventlog.events
 WHERE EXISTS (SELECT FROM unnest($1::text[]) AS field WHERE data ->> field = ANY ($2::text[])) ORDER BY position;

-- name: asides
-- What was set aside, with the event where the log has it.
SELECT a.consumer, a.position, a.error, a.noted_at, a.again_at, e.stream, e.version, e.type
  FROM eventlog.aside a LEFT JOIN eventlog.events e USING (position) ORDER BY a.noted_at, a.consumer, a.position;
