-- Long curves in stretches, so that a chart of a million reports reads some thousands of rows. A gateway makes stretches of the
-- reports of a group a while after they came (measures/curves.py).

CREATE TABLE measures.curves (
    trial_id bigint NOT NULL,
    kind text NOT NULL,
    upto int NOT NULL DEFAULT -2147483648,          -- the last step that is in a stretch
    behind boolean NOT NULL DEFAULT true,           -- whether there may be reports to make stretches of
    since timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (trial_id, kind)
);
CREATE INDEX curves_behind ON measures.curves (since) WHERE behind;

-- The lowest and the highest value that one metric had over so many steps that were reported one after the other.
CREATE TABLE measures.stretches (
    trial_id bigint NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    first int NOT NULL,              -- steps
    last int NOT NULL,
    reports int NOT NULL,            -- those that have a number for the metric
    low double precision NOT NULL,
    low_steps int NOT NULL,
    high double precision NOT NULL,
    high_steps int NOT NULL,
    PRIMARY KEY (trial_id, kind, name, first)
);

-- A report of a step that is in a stretch already, as of a restarted trial, removes the stretches from there on. They are made
-- again. The lock lets no gateway make stretches of this group until the report is visible.
CREATE FUNCTION measures.cut_curves() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    cut record;
    beginning int;
BEGIN
    FOR cut IN
        SELECT c.trial_id, c.kind, c.upto, r.steps FROM measures.curves c
        JOIN (SELECT trial_id, kind, min(steps) AS steps FROM reported GROUP BY 1, 2) r
            ON r.trial_id = c.trial_id AND r.kind = c.kind
        ORDER BY 1, 2 FOR NO KEY UPDATE OF c
    LOOP
        IF cut.steps <= cut.upto THEN
            WITH gone AS (
                DELETE FROM measures.stretches s
                WHERE s.trial_id = cut.trial_id AND s.kind = cut.kind AND s.last >= cut.steps RETURNING s.first)
            SELECT min(first) INTO beginning FROM gone;
            UPDATE measures.curves c SET upto = least(coalesce(beginning, cut.steps), cut.steps) - 1, behind = true
            WHERE c.trial_id = cut.trial_id AND c.kind = cut.kind;
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- Its name lets it run after the summaries are counted: everyone takes the locks of curves last.
CREATE TRIGGER summarise_curves AFTER INSERT ON measures.metrics REFERENCING NEW TABLE AS reported
FOR EACH STATEMENT EXECUTE FUNCTION measures.cut_curves();
