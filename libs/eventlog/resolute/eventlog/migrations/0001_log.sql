-- The log and what is kept beside it. Everything but `events` can be worked out again from `events`.

CREATE TABLE eventlog.events (
    position        bigint      NOT NULL,
    stream          text        NOT NULL,
    version         bigint      NOT NULL,
    type            text        NOT NULL,
    schema_version  integer     NOT NULL,
    data            jsonb       NOT NULL,
    caused_by       text        NOT NULL,
    step            integer     NOT NULL,
    correlation_id  text        NOT NULL,
    actor           text        NOT NULL,
    traceparent     text,
    recorded_at     timestamptz NOT NULL,
    prev_hash       bytea       NOT NULL,
    CONSTRAINT events_in_order PRIMARY KEY (position),
    CONSTRAINT events_of_a_stream UNIQUE (stream, version),
    CONSTRAINT events_of_a_cause UNIQUE (stream, caused_by, step)
);

-- Where each stream ends: its version, and the hash its next event will carry.
CREATE TABLE eventlog.streams (
    stream    text   NOT NULL PRIMARY KEY,
    version   bigint NOT NULL,
    head_hash bytea  NOT NULL
) WITH (fillfactor = 70);

-- One row: the last position handed out. Whoever appends holds its lock until the commit is visible
-- (docs/decisions/0002).
CREATE TABLE eventlog.log_head (
    only_row boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (only_row),
    position bigint  NOT NULL
) WITH (fillfactor = 10);
INSERT INTO eventlog.log_head (position) VALUES (0);

CREATE TABLE eventlog.snapshots (
    stream  text   NOT NULL,
    schema  text   NOT NULL,
    version bigint NOT NULL,
    state   bytea  NOT NULL,
    PRIMARY KEY (stream, schema)
);

CREATE TABLE eventlog.consumers (
    consumer text   NOT NULL PRIMARY KEY,
    position bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE eventlog.aside (
    consumer text        NOT NULL,
    position bigint      NOT NULL,
    error    text        NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (consumer, position)
);

-- ------------------------------------------------------------------ history is not edited

CREATE FUNCTION eventlog.refuse_to_change_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the event log is insert-only: % of eventlog.% is refused', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'insufficient_privilege', HINT = 'append a new event that corrects the old one';
END
$$;

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON eventlog.events
    FOR EACH STATEMENT EXECUTE FUNCTION eventlog.refuse_to_change_history();
REVOKE UPDATE, DELETE, TRUNCATE ON eventlog.events FROM PUBLIC;

-- ------------------------------------------------------------------ appending

-- Appends for many callers in one transaction, and answers each by itself: a row per caller, in their order.
--
-- Arguments come as columns, one line per element, since arrays are costly to send; names are free of newlines, and so
-- is JSON on one line. `streams` are the distinct streams of the batch; `which` says by index which of them a caller
-- appends to, and `counts` how many of `types`, `schema_versions` and `data` are his, taken in turn.
-- An outcome is 'appended', 'repeated' (his cause was written before) or 'wrong version'; only the first wrote.
-- `stored` answers the data as they are stored, to callers who asked by `echo`.
CREATE FUNCTION eventlog.append(
    streams_column text,
    which_column text, expected_column text,
    causes_column text, correlations_column text, actors_column text, traceparents_column text,
    counts_column text, echo_column text,
    types_column text, schema_versions_column text, data_column text
) RETURNS TABLE (
    outcome text, stood_at bigint, first_position bigint, prev_hashes bytea[], stored text[], recorded_at timestamptz
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    streams      text[] := string_to_array(streams_column, E'\n');
    which        integer[] := string_to_array(which_column, E'\n')::integer[];
    expected     bigint[] := string_to_array(expected_column, E'\n')::bigint[];
    causes       text[] := string_to_array(causes_column, E'\n');
    correlations text[] := string_to_array(correlations_column, E'\n');
    actors       text[] := string_to_array(actors_column, E'\n');
    traceparents text[] := string_to_array(traceparents_column, E'\n');
    counts       integer[] := string_to_array(counts_column, E'\n')::integer[];
    echo         boolean[] := string_to_array(echo_column, E'\n')::boolean[];
    types        text[] := string_to_array(types_column, E'\n');
    schema_versions integer[] := string_to_array(schema_versions_column, E'\n')::integer[];
    data         jsonb[] := string_to_array(data_column, E'\n')::jsonb[];
    head       bigint;
    began      bigint;
    at_time    timestamptz;
    at_us      bigint;
    versions   bigint[];
    hashes     bytea[];
    known      boolean[];
    touched    boolean[] := array_fill(false, ARRAY[cardinality(streams)]);
    -- What is accepted, an element per event: where in `types` and `data`, whose, and its place.
    accepted     integer[] := '{}';
    callers      integer[] := '{}';
    steps        integer[] := '{}';
    new_versions bigint[] := '{}';
    prevs        bytea[] := '{}';
    n integer := 0;
    s integer;
    v bigint;
    h bytea;
BEGIN
    SELECT position INTO STRICT head FROM eventlog.log_head FOR UPDATE;
    -- From here on this transaction is the only one that appends, and sees all that was appended before.
    began := head;
    at_time := clock_timestamp();
    at_us := (extract(epoch FROM at_time) * 1000000)::bigint;
    recorded_at := at_time;

    SELECT array_agg(coalesce(k.version, 0) ORDER BY u.i), array_agg(coalesce(k.head_hash, '') ORDER BY u.i)
      INTO versions, hashes
      FROM unnest(streams) WITH ORDINALITY AS u(stream, i) LEFT JOIN eventlog.streams k ON k.stream = u.stream;
    SELECT array_agg(EXISTS (
               SELECT FROM eventlog.events e WHERE e.stream = streams[u.which] AND e.caused_by = u.cause AND e.step = 0
           ) ORDER BY u.i)
      INTO known
      FROM unnest(which, causes) WITH ORDINALITY AS u(which, cause, i);

    FOR i IN 1 .. cardinality(which) LOOP
        s := which[i];
        stood_at := versions[s];
        first_position := head + 1;
        prev_hashes := NULL;
        stored := NULL;
        IF known[i] THEN
            outcome := 'repeated';
            n := n + counts[i];
        ELSIF counts[i] > 0 AND stood_at <> expected[i] THEN
            outcome := 'wrong version';
            n := n + counts[i];
        ELSE
            outcome := 'appended';
            v := stood_at;
            h := hashes[s];
            FOR step IN 0 .. counts[i] - 1 LOOP
                n := n + 1;
                head := head + 1;
                v := v + 1;
                accepted := array_append(accepted, n);
                callers := array_append(callers, i);
                steps := array_append(steps, step);
                new_versions := array_append(new_versions, v);
                prevs := array_append(prevs, h);
                prev_hashes := array_append(prev_hashes, h);
                IF echo[i] THEN
                    stored := array_append(stored, data[n]::text);
                END IF;
                -- The same bytes as resolute.eventlog.chain.link: what came before, and every column of this event.
                h := sha256(h || convert_to(concat_ws(E'\n',
                    head, streams[s], v, types[n], schema_versions[n], causes[i], step, coalesce(correlations[i], ''),
                    coalesce(actors[i], ''), coalesce(traceparents[i], ''), at_us, data[n]), 'UTF8'));
            END LOOP;
            IF counts[i] > 0 THEN
                versions[s] := v;
                hashes[s] := h;
                touched[s] := true;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;

    IF head > began THEN
        INSERT INTO eventlog.events
        SELECT began + e.i, streams[which[e.caller]], e.version, types[e.n], schema_versions[e.n], data[e.n],
               causes[e.caller], e.step, coalesce(correlations[e.caller], ''), coalesce(actors[e.caller], ''),
               nullif(traceparents[e.caller], ''), at_time, e.prev_hash
          FROM unnest(accepted, callers, steps, new_versions, prevs) WITH ORDINALITY
               AS e(n, caller, step, version, prev_hash, i);
        INSERT INTO eventlog.streams AS k
        SELECT u.stream, u.version, u.head_hash
          FROM unnest(streams, versions, hashes, touched) AS u(stream, version, head_hash, touched)
         WHERE u.touched
            ON CONFLICT (stream) DO UPDATE SET version = excluded.version, head_hash = excluded.head_hash;
        UPDATE eventlog.log_head SET position = head;
        PERFORM pg_notify('resolute_log', head::text);
    END IF;
END
$$;

-- ------------------------------------------------------------------ fresh numbers

-- Not Postgres sequences: one that is made and drawn from in the same transaction may forget, under
-- wal_level = minimal and in a crash, what it has handed out (its first record is never logged, and it draws 32 numbers
-- ahead of its log). A number here is as durable as the commit it comes from, and none is skipped.
CREATE TABLE eventlog.numbers (
    sequence text PRIMARY KEY,
    last bigint NOT NULL
);

-- The first of `how_many` consecutive numbers that nobody was or will be given.
CREATE FUNCTION eventlog.reserve(sequence_name text, how_many bigint) RETURNS bigint LANGUAGE sql AS $$
    INSERT INTO eventlog.numbers AS kept (sequence, last) VALUES (sequence_name, how_many)
    ON CONFLICT (sequence) DO UPDATE SET last = kept.last + excluded.last
    RETURNING last - how_many + 1;
$$;
