-- +goose Up

-- The one row about the whole. It is locked last by whoever counts.
CREATE TABLE instance (
	id              BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
	building        BIGINT NOT NULL, -- the generation of rollups that a rebuild may count into
	compacted_until BIGINT NOT NULL, -- seconds since 1970: what began before was looked at for compaction
	clicks          BIGINT NOT NULL, -- the sum of those of all links
	human_clicks    BIGINT NOT NULL
);
INSERT INTO instance (id, building, compacted_until, clicks, human_clicks)
SELECT 1, 0, 0, COALESCE(SUM(clicks), 0), COALESCE(SUM(human_clicks), 0) FROM links;

-- What a link got within a span of time: 15 minutes, or a day where it was compacted.
-- Link 0 stands for all links together. Ordered by time, since what is written at one
-- time is of one time.
CREATE TABLE rollups (
	generation   BIGINT NOT NULL, -- 0 is what is shown; a rebuild counts into one of its own
	slot         BIGINT NOT NULL, -- when it began, in seconds since 1970
	link_id      BIGINT NOT NULL,
	seconds      BIGINT NOT NULL, -- how long it is
	clicks       BIGINT NOT NULL,
	human_clicks BIGINT NOT NULL,
	facts        BLOB   NOT NULL, -- the clicks by dimension, as package rollup writes them. PostgreSQL: BYTEA
	PRIMARY KEY (generation, slot, link_id, seconds)
) WITHOUT ROWID;
CREATE INDEX rollups_link ON rollups (generation, link_id, slot);

-- What the rollups that began on a UTC day refer to, and who came that day.
CREATE TABLE days (
	generation BIGINT NOT NULL,
	day        BIGINT NOT NULL, -- days since 1970
	link_id    BIGINT NOT NULL,
	texts      BLOB   NOT NULL, -- the values that are kept apart
	visitors   BLOB   NOT NULL, -- a sketch of them
	PRIMARY KEY (generation, day, link_id)
) WITHOUT ROWID;

-- What was counted before there were dimensions has none.
INSERT INTO rollups (generation, slot, link_id, seconds, clicks, human_clicks, facts)
SELECT 0, slot, link_id, 900, clicks, human_clicks, '' FROM totals;
INSERT INTO rollups (generation, slot, link_id, seconds, clicks, human_clicks, facts)
SELECT 0, slot, 0, 900, SUM(clicks), SUM(human_clicks), '' FROM totals GROUP BY slot;
DROP TABLE totals;
