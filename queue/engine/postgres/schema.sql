-- The log's tables and functions, of schema version 1. Another schema than queue
-- is put in its place where Config names one.

CREATE TABLE queue.topics (
	name       text   PRIMARY KEY,
	id         bytea  NOT NULL,           -- queue.TopicID
	partitions int    NOT NULL
);

-- An append locks the row of its partition and leaves it as it is: what grows is
-- read from the last entry. A row that changed with each append would be as slow to
-- find as the oldest transaction of the database is old.
CREATE TABLE queue.partitions (
	part      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- names the partition in the tables below
	topic     text   NOT NULL REFERENCES queue.topics (name),
	partition int    NOT NULL,
	max_bytes bigint NOT NULL,            -- of its topic: here an append finds all in one row
	oldest    bigint NOT NULL DEFAULT 0,  -- base of the first entry kept
	trimmed   bigint NOT NULL DEFAULT 0,  -- bytes before it
	UNIQUE (topic, partition)
);

-- A batch is a row. base is the number of messages of the partition before it. The
-- last entry of a partition is never deleted.
CREATE TABLE queue.entries (
	part     bigint NOT NULL,
	base     bigint NOT NULL,
	count    int    NOT NULL,
	mark     bigint NOT NULL,             -- the check of its positions
	total    bigint NOT NULL,             -- bytes of frames in the partition up to its end, ever
	segment  bytea,                       -- queue.SegmentID; null: none
	first    bigint NOT NULL,
	earliest bigint,                      -- nanoseconds since 1970; null: no message has a time
	frames   bytea  NOT NULL,             -- queue.AppendFrames
	PRIMARY KEY (part, base)
) WITH (
	-- What was trimmed is used again once it was vacuumed: after a fiftieth of what is
	-- kept, not after a fifth.
	autovacuum_vacuum_scale_factor = 0.02,
	toast.autovacuum_vacuum_scale_factor = 0.02
);
-- Compression would cost more than the rest of an append.
ALTER TABLE queue.entries ALTER COLUMN frames SET STORAGE EXTERNAL;
CREATE INDEX entries_segment ON queue.entries (segment, part, first) WHERE segment IS NOT NULL;

-- The next number of a segment stands in its last entry, and here once an entry of it
-- was trimmed.
CREATE TABLE queue.segments (
	part    bigint NOT NULL,
	segment bytea  NOT NULL,
	next    bigint NOT NULL,
	seen_on int    NOT NULL,              -- days since 1970
	PRIMARY KEY (part, segment)
);
CREATE INDEX segments_seen ON queue.segments (seen_on);

-- Rows that are updated again and again have room for their next version beside them.
CREATE TABLE queue.rosters (
	consumer   text        NOT NULL,
	topic      text        NOT NULL,
	version    bigint      NOT NULL,
	roster     bytea       NOT NULL,
	swapped_at timestamptz NOT NULL,
	shift      interval    NOT NULL DEFAULT '0', -- how far the clock was set back, in all
	PRIMARY KEY (consumer, topic)
) WITH (fillfactor = 50);

CREATE TABLE queue.positions (
	consumer  text  NOT NULL,
	topic     bytea NOT NULL,             -- queue.TopicID
	partition int   NOT NULL,
	position  text  NOT NULL,
	PRIMARY KEY (consumer, topic, partition)
) WITH (fillfactor = 50);

-- append adds a batch, or says why not: 'not found', 'full', or the number that the
-- segment expects. It takes one round trip and holds the lock of the partition for no
-- longer than it runs: a client that stalls stalls nobody else.
--
-- It must run as read committed, so that what follows the lock sees what was committed
-- before it. Anything stricter runs into the primary key.
CREATE FUNCTION queue.append(
	in_topic text, in_partition int, in_count int, in_mark bigint,
	in_segment bytea, in_first bigint, in_earliest bigint, in_frames bytea
) RETURNS text LANGUAGE plpgsql
-- Plans are kept: one that was made while a table was small would read all of it.
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
	this_part bigint;
	bound     bigint;
	kept      bigint; -- bytes in the topic
	last      record;
	expected  bigint; -- the next number of the segment
BEGIN
	-- Others may trade a power cut for speed, a log must not.
	IF current_setting('synchronous_commit') = 'off' THEN
		PERFORM set_config('synchronous_commit', 'on', true);
	END IF;

	SELECT p.part, p.max_bytes, -p.trimmed INTO this_part, bound, kept
	FROM queue.partitions p WHERE p.topic = in_topic AND p.partition = in_partition FOR UPDATE;
	IF NOT FOUND THEN
		RETURN 'not found';
	END IF;
	SELECT e.base + e.count AS next_base, e.total, e.segment, e.first + e.count AS next INTO last
	FROM queue.entries e WHERE e.part = this_part ORDER BY e.base DESC LIMIT 1;

	IF in_segment = last.segment THEN
		expected := last.next;
	ELSIF in_segment IS NOT NULL THEN
		SELECT e.first + e.count INTO expected FROM queue.entries e
		WHERE e.segment = in_segment AND e.part = this_part ORDER BY e.first DESC LIMIT 1;
		IF NOT FOUND THEN
			-- In this order: trim takes an entry away only with its number noted here.
			SELECT s.next INTO expected FROM queue.segments s
			WHERE s.part = this_part AND s.segment = in_segment;
		END IF;
		expected := coalesce(expected, 0);
	END IF;
	IF expected <> in_first THEN
		RETURN expected;
	END IF;

	-- Of other partitions what is committed: the overshoot that Caps state.
	kept := kept + coalesce(last.total, 0);
	IF kept + length(in_frames) <= bound THEN
		SELECT kept + coalesce(sum(coalesce((
			SELECT e.total FROM queue.entries e WHERE e.part = p.part ORDER BY e.base DESC LIMIT 1
		), 0) - p.trimmed), 0) INTO kept FROM queue.partitions p WHERE p.topic = in_topic AND p.part <> this_part;
	END IF;
	IF kept + length(in_frames) > bound THEN
		RETURN 'full';
	END IF;

	INSERT INTO queue.entries (part, base, count, mark, total, segment, first, earliest, frames)
	VALUES (this_part, coalesce(last.next_base, 0), in_count, in_mark, coalesce(last.total, 0) + length(in_frames),
		in_segment, in_first, in_earliest, in_frames);
	RETURN 'appended';
END $$;

-- read returns the entry of a base, if it is there, and those that hold the messages from
-- one offset up to another. Entries stand without a gap, so offsets tell where enough
-- messages end. Frames that lie before the offset are null.
CREATE FUNCTION queue.read(in_topic text, in_partition int, from_base bigint, from_offset bigint, end_offset bigint)
RETURNS TABLE (base bigint, mark bigint, count int, segment bytea, first bigint, frames bytea) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
	this_part bigint;
BEGIN
	SELECT p.part INTO this_part FROM queue.partitions p WHERE p.topic = in_topic AND p.partition = in_partition;
	RETURN QUERY
	SELECT e.base, e.mark, e.count, e.segment, e.first,
		CASE WHEN e.base + e.count > from_offset AND from_offset < end_offset THEN e.frames END
	FROM queue.entries e
	WHERE e.part = this_part AND e.base >= from_base AND e.base < greatest(from_base + 1, end_offset) ORDER BY e.base;
END $$;

-- trim deletes the oldest entries before a base, at most so many entries and so many
-- bytes and the entry that passes them, and says whether there may be more. It locks
-- the partition late, when nearly all is done. Of the segments that it noted it forgets
-- a few whose time is over.
CREATE FUNCTION queue.trim(
	in_topic text, in_partition int, before_base bigint, max_entries int, max_bytes bigint,
	today int, forget_before int,
	OUT more boolean
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
	this_part bigint;
	first_old bigint;
	gone      record;
BEGIN
	SELECT p.part, p.oldest INTO this_part, first_old
	FROM queue.partitions p WHERE p.topic = in_topic AND p.partition = in_partition;

	-- The last entry to go. total grows with base, so it tells the bytes before it.
	SELECT x.base, x.base + x.count AS next, x.total INTO gone FROM (
		SELECT e.base, e.count, e.total, lag(e.total) OVER (ORDER BY e.base) - p.trimmed AS bytes
		FROM queue.partitions p JOIN queue.entries e ON e.part = p.part AND e.base >= p.oldest
		WHERE p.part = this_part AND e.base < before_base
		ORDER BY e.base LIMIT max_entries
	) x WHERE coalesce(x.bytes, 0) < max_bytes ORDER BY x.base DESC LIMIT 1;
	more := FOUND;
	IF NOT more THEN
		RETURN;
	END IF;

	WITH old AS (
		DELETE FROM queue.entries e
		WHERE e.part = this_part AND e.base >= first_old AND e.base <= gone.base
		RETURNING e.segment, e.first + e.count AS next
	)
	INSERT INTO queue.segments AS s (part, segment, next, seen_on)
	SELECT this_part, old.segment, max(old.next), today FROM old
	WHERE old.segment IS NOT NULL GROUP BY old.segment ORDER BY old.segment
	ON CONFLICT (part, segment) DO UPDATE
	SET next = greatest(s.next, excluded.next), seen_on = greatest(s.seen_on, excluded.seen_on);

	-- Somebody else may have trimmed further meanwhile.
	UPDATE queue.partitions p SET oldest = gone.next, trimmed = gone.total
	WHERE p.part = this_part AND p.oldest < gone.next;

	DELETE FROM queue.segments s WHERE (s.part, s.segment) IN (
		SELECT f.part, f.segment FROM queue.segments f WHERE f.seen_on < forget_before
		LIMIT 100 FOR UPDATE SKIP LOCKED
	);
END $$;
