-- What the reports of each trial come to, by group and metric, kept as reports come in: lists of runs are filtered and
-- sorted by it without reading a report. A trigger sees to it, so that the reports of a gateway of the release before
-- are counted too while a cluster is upgraded.

CREATE TABLE measures.summaries (
    trial_id bigint NOT NULL,
    kind text NOT NULL,              -- the group
    name text NOT NULL,
    count bigint NOT NULL,           -- of numbers; NaN and the infinities are not counted
    sum double precision NOT NULL,
    min double precision,
    max double precision,
    -- A sum so near to 0 that a part of it might be too small for a number counts as 0.
    mean double precision GENERATED ALWAYS AS (
        CASE WHEN count > 0 THEN CASE WHEN abs(sum) < 1e-280 THEN 0 ELSE sum / count END END) STORED,
    last double precision,
    last_steps int,
    last_text text,                  -- of values that are no numbers
    last_text_steps int,
    PRIMARY KEY (kind, name, trial_id)
) PARTITION BY LIST (kind);
CREATE INDEX summaries_of_trial ON measures.summaries (trial_id);

-- Training is reported most often: no index has what changes, so that a change is written into the row's own page.
CREATE TABLE measures.summaries_of_training PARTITION OF measures.summaries FOR VALUES IN ('training')
    WITH (fillfactor = 60);
CREATE TABLE measures.summaries_of_others PARTITION OF measures.summaries DEFAULT;
CREATE INDEX summaries_by_min ON measures.summaries_of_others (kind, name, min, trial_id);
CREATE INDEX summaries_by_max ON measures.summaries_of_others (kind, name, max, trial_id);
CREATE INDEX summaries_by_mean ON measures.summaries_of_others (kind, name, mean, trial_id);
CREATE INDEX summaries_by_last ON measures.summaries_of_others (kind, name, last, trial_id);

-- Groups of trials whose summaries have to be made again from the reports: a run repeated a step of the run before it,
-- whose report of that step counts no more.
CREATE TABLE measures.outdated_summaries (
    trial_id bigint NOT NULL,
    kind text NOT NULL,
    not_before timestamptz NOT NULL DEFAULT '-infinity',   -- a gateway makes it until then, or it failed
    PRIMARY KEY (trial_id, kind)
);
CREATE INDEX outdated_summaries_in_turn ON measures.outdated_summaries (not_before);

-- How far the groups that were there before this table are noted as outdated, page by page; no row once all are.
CREATE TABLE measures.summaries_to_note (trial_id bigint NOT NULL, kind text NOT NULL);
INSERT INTO measures.summaries_to_note VALUES (-9223372036854775808, '');

-- One report's metrics as rows. A sum is of values within 1e290, so that no sum of them is larger than a number can be;
-- a name that is too long for the indexes is left out.
CREATE FUNCTION measures.metrics_of(metrics jsonb)
RETURNS TABLE (name text, number double precision, words text) LANGUAGE sql IMMUTABLE AS $$
    SELECT e.key,
        CASE WHEN jsonb_typeof(e.value) = 'number' THEN e.value::double precision END,
        CASE WHEN jsonb_typeof(e.value) IN ('string', 'boolean')
              AND e.value #>> '{}' NOT IN ('NaN', 'Infinity', '-Infinity') THEN left(e.value #>> '{}', 1000) END
    FROM jsonb_each(CASE WHEN jsonb_typeof(metrics) = 'object' THEN metrics ELSE '{}' END) e
    WHERE octet_length(e.key) <= 1000 AND jsonb_typeof(e.value) IN ('number', 'string', 'boolean')
$$;

-- Reports that no summary counts yet: one row for each trial and group of a statement that stored some. Those of
-- validations are counted in the same transaction; those of other groups, which are reported most, by a gateway soon after.
CREATE TABLE measures.uncounted_reports (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    trial_id bigint NOT NULL,
    kind text NOT NULL,
    steps int[] NOT NULL,
    run_ids int[] NOT NULL           -- as many as steps
);
CREATE INDEX uncounted_reports_of_group ON measures.uncounted_reports (trial_id, kind);

-- Adds what these rows of uncounted_reports name to the summaries, and removes the rows.
CREATE FUNCTION measures.count_reports(ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        INSERT INTO measures.summaries AS s
            (trial_id, kind, name, count, sum, min, max, last, last_steps, last_text, last_text_steps)
        SELECT u.trial_id, u.kind, m.name,
            count(m.number), coalesce(sum(least(greatest(m.number, -1e290), 1e290)), 0), min(m.number), max(m.number),
            (max(ARRAY[r.steps::double precision, m.number]) FILTER (WHERE m.number IS NOT NULL))[2],
            max(r.steps) FILTER (WHERE m.number IS NOT NULL),
            (max(ARRAY[lpad((r.steps::bigint + 2147483648)::text, 10, '0'), m.words])
                FILTER (WHERE m.words IS NOT NULL))[2],
            max(r.steps) FILTER (WHERE m.words IS NOT NULL)
        FROM measures.uncounted_reports u, unnest(u.steps, u.run_ids) AS k (steps, run_id),
            LATERAL (SELECT r.steps, r.metrics FROM measures.metrics r
                     WHERE r.trial_id = u.trial_id AND r.kind = u.kind AND r.steps = k.steps AND r.run_id = k.run_id) r,
            LATERAL measures.metrics_of(r.metrics) m
        WHERE u.id = ANY(ids) AND (m.number IS NOT NULL OR m.words IS NOT NULL) AND octet_length(u.kind) <= 1000
        GROUP BY u.kind, m.name, u.trial_id ORDER BY u.kind, m.name, u.trial_id
        ON CONFLICT (kind, name, trial_id) DO UPDATE SET
            count = s.count + EXCLUDED.count,
            sum = least(greatest(s.sum + EXCLUDED.sum, -1e300), 1e300),
            min = least(s.min, EXCLUDED.min),
            max = greatest(s.max, EXCLUDED.max),
            last = CASE WHEN s.last_steps > EXCLUDED.last_steps THEN s.last ELSE coalesce(EXCLUDED.last, s.last) END,
            last_steps = greatest(s.last_steps, EXCLUDED.last_steps),
            last_text = CASE WHEN s.last_text_steps > EXCLUDED.last_text_steps THEN s.last_text
                             ELSE coalesce(EXCLUDED.last_text, s.last_text) END,
            last_text_steps = greatest(s.last_text_steps, EXCLUDED.last_text_steps);
    EXCEPTION WHEN data_exception THEN  -- no report is refused for what it would make of a summary
        INSERT INTO measures.outdated_summaries (trial_id, kind)
        SELECT DISTINCT u.trial_id, u.kind FROM measures.uncounted_reports u WHERE u.id = ANY(ids)
        ORDER BY 1, 2 ON CONFLICT DO NOTHING;
    END;
    DELETE FROM measures.uncounted_reports WHERE id = ANY(ids);
END $$;

CREATE FUNCTION measures.summarise() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    validations bigint[];
BEGIN
    WITH noted AS (
        INSERT INTO measures.uncounted_reports (trial_id, kind, steps, run_ids)
        SELECT r.trial_id, r.kind, array_agg(r.steps), array_agg(r.run_id) FROM reported r GROUP BY 1, 2
        RETURNING id, kind)
    SELECT array_agg(id) INTO validations FROM noted WHERE kind = 'validation';
    IF validations IS NOT NULL THEN
        PERFORM measures.count_reports(validations);
    END IF;

    -- After the summaries, which a gateway that makes them again has locked until it has removed its note.
    INSERT INTO measures.outdated_summaries (trial_id, kind)
    SELECT DISTINCT r.trial_id, r.kind FROM reported r WHERE EXISTS (
        SELECT FROM measures.metrics m WHERE m.trial_id = r.trial_id AND m.kind = r.kind AND m.steps = r.steps
                                         AND m.run_id <> r.run_id)
    ORDER BY 1, 2 ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE TRIGGER summarise AFTER INSERT ON measures.metrics REFERENCING NEW TABLE AS reported
FOR EACH STATEMENT EXECUTE FUNCTION measures.summarise();

-- The instant that a text of JSON says; null where it says none. A date or a month is its first moment in UTC.
CREATE FUNCTION measures.instant_of(document jsonb) RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    words text := CASE WHEN jsonb_typeof(document) = 'string' THEN document #>> '{}' END;
BEGIN
    IF words ~ '^\d{4}-\d\d$' THEN
        words := words || '-01';
    END IF;
    IF words ~ '^\d{4}-\d\d-\d\d$' THEN
        RETURN (words || 'T00:00:00Z')::timestamptz;
    ELSIF words ~ '^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,6})?([Zz]|[+-]\d\d:\d\d)$' THEN
        RETURN words::timestamptz;
    END IF;
    RETURN NULL;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END $$;
