-- Task queues: tables and functions that schema version 2 adds. Times are microseconds
-- since 1970, by the server's clock.
--
-- Functions keep their plans, since planning takes longer than pulling a task. Each
-- statement has one index that fits, whatever was in the tables when it was planned: that
-- is why IDs come before queues in theirs. Nor are they compiled, which the server would
-- do for each call where tables are large.
ALTER FUNCTION queue.append SET jit = off;
ALTER FUNCTION queue.read SET jit = off;
ALTER FUNCTION queue.trim SET jit = off;

CREATE TABLE queue.queues (
	queue        int     GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- names the queue in the tables below
	name         text    COLLATE "C" NOT NULL UNIQUE,
	max_tasks    bigint  NOT NULL,
	overflow     text    NOT NULL,        -- queue.Overflow
	remember     bigint  NOT NULL,        -- microseconds, as the next and keep_dead; 0: not
	keep_done    bigint  NOT NULL,
	max_dead     bigint  NOT NULL,
	keep_dead    bigint  NOT NULL,
	paused       boolean NOT NULL DEFAULT false,
	resumed_at   bigint  NOT NULL DEFAULT 0,
	dropped      bigint  NOT NULL DEFAULT 0, -- tasks, ever
	dropped_dead bigint  NOT NULL DEFAULT 0  -- dead letters, ever
) WITH (fillfactor = 50);

-- A task, and what is remembered of one that is done. No index holds what a lease
-- changes, and every page has room for a second version of its rows: so a pull makes no
-- index entry. That is why due, by which tasks are found, stays when they are leased, and
-- only catches up when they are leased again.
CREATE TABLE queue.tasks (
	number     bigint  PRIMARY KEY,
	due        bigint  NOT NULL,          -- pulls come by it in this order
	queue      int     NOT NULL,
	failed     int     NOT NULL DEFAULT 0,
	lost       int     NOT NULL DEFAULT 0,
	released   int     NOT NULL DEFAULT 0,
	token      bigint  NOT NULL DEFAULT 0, -- of its lease, odd if named; 0: there was none
	visible_at bigint  NOT NULL,          -- when it may be pulled: delayed, leased or retried
	pushed     bigint  NOT NULL,
	deadline   bigint,
	ended      bigint,                    -- when it was done; null: it is not
	kept_until bigint,                    -- so long it is shown as done,
	forget_at  bigint,                    -- and so long its ID is taken
	named      boolean NOT NULL,          -- its producer chose the ID
	id         text    COLLATE "C" NOT NULL,
	kind       text    COLLATE "C" NOT NULL, -- its type
	error      text,
	progress   bytea,
	result     bytea,
	frame      bytea   NOT NULL           -- queue.AppendFrames of its message
) WITH (
	fillfactor = 50,
	autovacuum_vacuum_scale_factor = 0.2, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0,
	toast.autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE queue.tasks ALTER COLUMN frame SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX tasks_id ON queue.tasks (id, queue);
CREATE INDEX tasks_due ON queue.tasks (queue, due, number) WHERE ended IS NULL;
CREATE INDEX tasks_forget ON queue.tasks (forget_at) WHERE forget_at IS NOT NULL;
CREATE INDEX tasks_kept ON queue.tasks (queue, kept_until) WHERE kept_until IS NOT NULL;

CREATE TABLE queue.dead (
	queue    int     NOT NULL,
	number   bigint  NOT NULL,            -- grows with each that is buried
	due      bigint  NOT NULL,
	pushed   bigint  NOT NULL,
	buried   bigint  NOT NULL,
	deadline bigint,
	failed   int     NOT NULL,
	lost     int     NOT NULL,
	released int     NOT NULL,
	named    boolean NOT NULL,
	id       text    COLLATE "C" NOT NULL,
	kind     text    COLLATE "C" NOT NULL,
	reason   text    NOT NULL,
	error    text,
	progress bytea,
	frame    bytea   NOT NULL,
	PRIMARY KEY (queue, number)
) WITH (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE queue.dead ALTER COLUMN frame SET STORAGE EXTERNAL;
CREATE INDEX dead_id ON queue.dead (id, queue);

-- A call that makes tasks or dead letters numbers them from the next multiple of 16384,
-- which is more than it makes: in their order, without a turn of the sequence for each.
CREATE SEQUENCE queue.calls;

CREATE FUNCTION queue.number() RETURNS bigint LANGUAGE sql
RETURN nextval('queue.calls') * 16384;

CREATE FUNCTION queue.now() RETURNS bigint LANGUAGE sql
RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

CREATE FUNCTION queue.find(in_name text) RETURNS queue.queues LANGUAGE plpgsql STABLE AS $$
DECLARE
	q queue.queues;
BEGIN
	SELECT * INTO q FROM queue.queues WHERE name = in_name;
	IF NOT FOUND THEN
		RAISE no_data_found USING MESSAGE = 'there is no such queue';
	END IF;
	RETURN q;
END $$;

-- sync makes the transaction durable. Others may trade a power cut for speed.
CREATE FUNCTION queue.sync() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('synchronous_commit') = 'off' THEN
		PERFORM set_config('synchronous_commit', 'on', true);
	END IF;
END $$;

-- push adds tasks to a queue that holds so many by the caller's count, unless it is full.
-- Places number the tasks of a call in their order, from 0. The named ones come first, by
-- ID, so that calls that wait for each other's IDs do so in one order. It tells the places
-- of those that it skipped because their ID was taken, and how many it dropped.
CREATE FUNCTION queue.push(
	in_queue text, in_there bigint, in_named int, in_places int[], in_ids text[], in_kinds text[],
	in_dues bigint[], in_delays bigint[], in_deadlines bigint[], in_frames bytea[],
	OUT is_full boolean, OUT skipped int[], OUT dropped int
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
DECLARE
	q       queue.queues := queue.find(in_queue);
	began   bigint := queue.now();
	room    bigint := q.max_tasks - in_there;
	base    bigint;
	fresh   bigint;
	victims bigint[];
BEGIN
	PERFORM queue.sync();
	is_full := false;
	dropped := 0;
	IF in_named > 0 THEN
		DELETE FROM queue.tasks t
		WHERE t.queue = q.queue AND t.id = ANY (in_ids[:in_named]) AND t.forget_at <= began;
	END IF;

	IF room < 0 AND q.overflow = 'drop oldest' THEN
		-- The bound was lowered, or the caller's count is too high: then it must not drop more.
		SELECT q.max_tasks - c.n INTO room FROM queue.count(in_queue, false) c;
	END IF;
	IF room < cardinality(in_places) THEN
		SELECT count(DISTINCT x.id) INTO fresh FROM unnest(in_ids) AS x (id)
		WHERE NOT EXISTS (SELECT FROM queue.tasks t WHERE t.queue = q.queue AND t.id = x.id);
		IF fresh > 0 AND fresh > room THEN
			IF q.overflow = 'drop oldest' THEN
				SELECT coalesce(array_agg(v.number), '{}') INTO victims FROM (
					SELECT t.number FROM queue.tasks t
					WHERE t.queue = q.queue AND t.ended IS NULL AND t.due <= began AND t.visible_at <= began
					ORDER BY t.due, t.number LIMIT fresh - room FOR UPDATE SKIP LOCKED
				) v;
				dropped := cardinality(victims);
			END IF;
			IF dropped < fresh - room THEN
				-- Others may be at them, or have replaced all of them since this call looked at the clock.
				IF q.overflow = 'drop oldest' AND fresh - room <= (
					SELECT count(*) FROM (
						SELECT FROM queue.tasks t WHERE t.queue = q.queue AND t.ended IS NULL
							AND t.due <= (SELECT queue.now()) AND t.visible_at <= (SELECT queue.now()) LIMIT fresh - room
					) x
				) THEN
					RAISE serialization_failure USING MESSAGE = 'others are at what there is to drop';
				END IF;
				is_full := true;
				dropped := 0;
				RETURN;
			END IF;
			DELETE FROM queue.tasks t WHERE t.number = ANY (victims);
		END IF;
	END IF;

	base := queue.number();
	INSERT INTO queue.tasks (number, queue, due, visible_at, pushed, deadline, named, id, kind, frame)
	SELECT base + x.place, q.queue, greatest(x.due, began + coalesce(x.delay, 0)), greatest(x.due, began + coalesce(x.delay, 0)),
		began, x.deadline, x.n <= in_named, x.id, x.kind, x.frame
	FROM unnest(in_places, in_ids, in_kinds, in_dues, in_delays, in_deadlines, in_frames)
		WITH ORDINALITY AS x (place, id, kind, due, delay, deadline, frame, n)
	ON CONFLICT (id, queue) DO NOTHING;
	GET DIAGNOSTICS fresh = ROW_COUNT;
	IF fresh < cardinality(in_places) THEN
		SELECT array_agg(x.place) INTO skipped FROM unnest(in_places) AS x (place)
		WHERE NOT EXISTS (SELECT FROM queue.tasks t WHERE t.number = base + x.place);
	END IF;
	IF dropped > 0 THEN -- Last, since others wait for this row.
		UPDATE queue.queues u SET dropped = u.dropped + push.dropped WHERE u.queue = q.queue;
	END IF;
END $$;

-- passed is a measure of what this session did in the index by which tasks are found. The
-- entries of dead rows count only until they are marked, the pages in which they stand
-- always.
CREATE FUNCTION queue.passed() RETURNS bigint LANGUAGE sql
RETURN pg_stat_get_xact_tuples_returned('queue.tasks_due'::regclass) + 5 * pg_stat_get_xact_blocks_fetched('queue.tasks_due'::regclass);

-- pull leases tasks, in the order of visible_at. Those that are not leased have it as due,
-- and are looked for from a moment on. Those that were lost may be anywhere, and are only
-- looked for from the start: where in_from is null.
--
-- The last row is none of the tasks, its number is null: it tells in pushed and at when
-- the call began and ended, in lost whether it ended before a task that must come alone,
-- and in released how many entries of the index it passed, each page of it being as much
-- as five.
--
-- A lease need not survive a power cut: its tasks come again. So nothing waits for the disk.
CREATE FUNCTION queue.pull(
	in_queue text, in_kinds text[], in_max int, in_lease bigint, in_token bigint, in_alone_from int, in_alone boolean, in_from bigint
) RETURNS TABLE (
	number bigint, token bigint, at bigint, pushed bigint, deadline bigint,
	failed int, lost int, released int, progress bytea, frame bytea
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
#variable_conflict use_column
DECLARE
	q      queue.queues := queue.find(in_queue);
	began  bigint := queue.now();
	passed bigint := queue.passed();
BEGIN
	IF q.paused THEN
		RETURN;
	END IF;
	PERFORM set_config('synchronous_commit', 'off', true);
	RETURN QUERY
	WITH fresh AS MATERIALIZED (
		SELECT t.ctid AS place, t.number, t.due, t.visible_at, t.lost
		FROM queue.tasks t
		WHERE t.queue = q.queue AND t.ended IS NULL AND t.due >= coalesce(in_from, -9e18::bigint) AND t.due <= began
			AND t.token = 0 AND t.kind = ANY (in_kinds)
		ORDER BY t.due, t.number LIMIT in_max FOR UPDATE SKIP LOCKED
	), lost AS MATERIALIZED (
		SELECT t.ctid AS place, t.number, t.due, t.visible_at, t.lost + 1 AS lost
		FROM queue.tasks t
		WHERE in_from IS NULL AND t.queue = q.queue AND t.ended IS NULL
			AND t.due <= (SELECT CASE WHEN count(*) < in_max THEN began ELSE max(f.due) END FROM fresh f)
			AND t.token <> 0 AND t.visible_at <= began AND t.kind = ANY (in_kinds)
		ORDER BY t.visible_at, t.number LIMIT in_max FOR UPDATE SKIP LOCKED
	), found AS (
		SELECT * FROM (SELECT * FROM fresh UNION ALL SELECT * FROM lost) f ORDER BY f.visible_at, f.number LIMIT in_max
	), chosen AS MATERIALIZED (
		-- Up to the first that must come alone, or that one.
		SELECT f.*, in_alone AND row_number() OVER w = 1 OR NOT bool_or(in_alone_from > 0 AND f.lost >= in_alone_from) OVER w AS mine,
			in_alone AND row_number() OVER w = 1 AND in_alone_from > 0 AND f.lost >= in_alone_from AS alone
		FROM found f WINDOW w AS (ORDER BY f.visible_at, f.number)
	), leased AS (
		UPDATE queue.tasks t SET token = in_token + t.named::int, due = c.visible_at, visible_at = began + in_lease, lost = c.lost
		FROM chosen c WHERE c.mine AND t.ctid = c.place
		RETURNING t.number, t.token, t.due, t.pushed, t.deadline, t.failed, t.lost, t.released, t.progress, t.frame
	)
	SELECT * FROM leased
	UNION ALL
	SELECT NULL, NULL, queue.now(), began, NULL, NULL,
		coalesce(bool_or(NOT c.mine) AND NOT bool_or(c.alone), false)::int,
		(queue.passed() - passed)::int, NULL, NULL
	FROM chosen c;
END $$;

-- settle carries out verdicts and returns the places, from 1, of those whose lease was
-- good. Kinds are those of queue.VerdictKind. Rows are locked by number: where more than
-- one statement comes to them, which the caller calls mixed, before the first. The queue
-- has so many dead letters by the caller's count.
--
-- The queue is compared by a sum, which no index answers: where there are few tasks a plan
-- would else go through all by the index of IDs, and come to rows in its order.
CREATE FUNCTION queue.settle(
	in_queue text, in_mixed boolean, in_numbers bigint[], in_tokens bigint[], in_kinds int[], in_delays bigint[],
	in_reasons text[], in_errors text[], in_results bytea[], in_progress bytea[], in_dead bigint
) RETURNS SETOF int LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
DECLARE
	q       queue.queues := queue.find(in_queue);
	began   bigint := queue.now();
	base    bigint;
	n       bigint;
BEGIN
	PERFORM queue.sync();
	IF in_mixed THEN
		PERFORM FROM unnest(in_numbers, in_tokens) AS v (number, token)
		JOIN queue.tasks t ON t.number = v.number AND t.token = v.token AND t.queue + 0 = q.queue
		ORDER BY t.number FOR UPDATE OF t;
	END IF;

	IF 1 = ANY (in_kinds) THEN -- Done.
		RETURN QUERY
		DELETE FROM queue.tasks t USING (
			SELECT * FROM unnest(in_numbers, in_tokens, in_kinds) WITH ORDINALITY AS v (number, token, kind, place)
			WHERE v.kind = 1 AND q.keep_done = 0 AND (v.token & 1 = 0 OR q.remember = 0) ORDER BY v.number
		) v WHERE t.number = v.number AND t.token = v.token AND t.queue + 0 = q.queue
		RETURNING v.place::int;

		IF q.keep_done > 0 OR q.remember > 0 THEN
			RETURN QUERY
			UPDATE queue.tasks t SET
				token = 0, ended = began,
				forget_at = began + CASE WHEN t.named THEN greatest(q.keep_done, q.remember) ELSE q.keep_done END,
				kept_until = CASE WHEN q.keep_done > 0 THEN began + q.keep_done END,
				result = CASE WHEN q.keep_done > 0 THEN v.result END,
				progress = CASE WHEN q.keep_done > 0 THEN t.progress END,
				error = CASE WHEN q.keep_done > 0 THEN t.error END,
				frame = CASE WHEN q.keep_done > 0 THEN t.frame ELSE '' END
			FROM (
				SELECT * FROM unnest(in_numbers, in_tokens, in_kinds, in_results) WITH ORDINALITY AS v (number, token, kind, result, place)
				WHERE v.kind = 1 AND (q.keep_done > 0 OR v.token & 1 = 1) ORDER BY v.number
			) v WHERE t.number = v.number AND t.token = v.token AND t.queue + 0 = q.queue
			RETURNING v.place::int;
		END IF;
	END IF;

	IF in_kinds && '{2,3,5}' THEN -- Retry, release, extend.
		RETURN QUERY
		UPDATE queue.tasks t SET
			visible_at = began + v.delay,
			due = CASE v.kind WHEN 5 THEN t.due ELSE began + v.delay END,
			token = CASE v.kind WHEN 5 THEN t.token ELSE 0 END,
			failed = t.failed + (v.kind = 2)::int,
			released = t.released + (v.kind = 3)::int,
			error = CASE v.kind WHEN 2 THEN v.error ELSE t.error END,
			progress = CASE v.kind WHEN 5 THEN coalesce(v.progress, t.progress) ELSE t.progress END
		FROM (
			SELECT * FROM unnest(in_numbers, in_tokens, in_kinds, in_delays, in_errors, in_progress)
				WITH ORDINALITY AS v (number, token, kind, delay, error, progress, place)
			WHERE v.kind IN (2, 3, 5) ORDER BY v.number
		) v WHERE t.number = v.number AND t.token = v.token AND t.queue + 0 = q.queue
		RETURNING v.place::int;
	END IF;

	IF 4 = ANY (in_kinds) THEN -- Bury.
		base := queue.number();
		RETURN QUERY
		WITH gone AS (
			DELETE FROM queue.tasks t USING (
				SELECT * FROM unnest(in_numbers, in_tokens, in_kinds, in_reasons, in_errors)
					WITH ORDINALITY AS v (number, token, kind, reason, error, place)
				WHERE v.kind = 4 ORDER BY v.number
			) v WHERE t.number = v.number AND t.token = v.token AND t.queue + 0 = q.queue
			RETURNING t.*, v.place, v.reason, v.error AS last_error
		), buried AS (
			INSERT INTO queue.dead (queue, number, due, pushed, buried, deadline, failed, lost, released, named, id, kind, reason, error, progress, frame)
			SELECT g.queue, base + g.place, g.due, g.pushed, began, g.deadline, g.failed + (g.reason = 'failed')::int, g.lost, g.released,
				g.named, g.id, g.kind, g.reason, g.last_error, g.progress, g.frame
			FROM gone g
		)
		SELECT g.place::int FROM gone g;
		GET DIAGNOSTICS n = ROW_COUNT;

		n := n + in_dead - q.max_dead;
		IF n > 0 THEN
			WITH old AS MATERIALIZED (
				SELECT o.ctid AS place FROM queue.dead o WHERE o.queue = q.queue
				ORDER BY o.number LIMIT n FOR UPDATE SKIP LOCKED
			)
			DELETE FROM queue.dead d USING old WHERE d.ctid = old.place;
			GET DIAGNOSTICS n = ROW_COUNT;
			UPDATE queue.queues u SET dropped_dead = u.dropped_dead + n WHERE u.queue = q.queue;
		END IF;
	END IF;
END $$;

-- count counts tasks, or dead letters, a little further than their bound.
CREATE FUNCTION queue.count(in_queue text, in_dead boolean, OUT bound bigint, OUT n bigint) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
DECLARE
	q queue.queues := queue.find(in_queue);
BEGIN
	IF in_dead THEN
		bound := q.max_dead;
		SELECT count(*) INTO n FROM (SELECT FROM queue.dead d WHERE d.queue = q.queue LIMIT bound + 20000) x;
	ELSE
		bound := q.max_tasks;
		SELECT count(*) INTO n FROM (SELECT FROM queue.tasks t WHERE t.queue = q.queue AND t.ended IS NULL LIMIT bound + 20000) x;
	END IF;
END $$;

-- ready returns the queues in which something was due since a moment, and is.
CREATE FUNCTION queue.ready(in_queues text[], in_since bigint) RETURNS TABLE (name text, is_ready boolean, looked_at bigint) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
#variable_conflict use_column
DECLARE
	began bigint := queue.now();
BEGIN
	RETURN QUERY SELECT q.name, NOT q.paused AND (q.resumed_at > in_since OR EXISTS (
		SELECT FROM queue.tasks t
		WHERE t.queue = q.queue AND t.ended IS NULL AND t.due > in_since AND t.due <= began AND t.visible_at <= began
	)), began FROM queue.queues q WHERE q.name = ANY (in_queues);
END $$;

-- redrive puts dead letters back and returns how many, or -1: there is no room. It takes
-- those of the numbers, or the longest dead; of those with one ID the first, and none
-- whose ID is there again.
CREATE FUNCTION queue.redrive(in_queue text, in_numbers bigint[], in_limit int, in_there bigint) RETURNS int LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
DECLARE
	q      queue.queues := queue.find(in_queue);
	began  bigint := queue.now();
	chosen bigint[];
	n      int;
BEGIN
	PERFORM queue.sync();
	SELECT coalesce(array_agg(c.number ORDER BY c.number), '{}') INTO chosen FROM (
		SELECT d.number FROM queue.dead d
		WHERE d.queue = q.queue AND d.buried > began - q.keep_dead
			AND (cardinality(in_numbers) = 0 OR d.number = ANY (in_numbers))
			AND NOT EXISTS (SELECT FROM queue.tasks t WHERE t.queue = q.queue AND t.id = d.id AND t.ended IS NULL)
			AND NOT EXISTS (
				SELECT FROM queue.dead o WHERE o.queue = q.queue AND o.id = d.id AND o.number < d.number
					AND o.buried > began - q.keep_dead AND (cardinality(in_numbers) = 0 OR o.number = ANY (in_numbers))
			)
		ORDER BY d.number LIMIT in_limit FOR UPDATE OF d
	) c;
	n := cardinality(chosen);
	IF n > 0 AND n > q.max_tasks - in_there THEN
		RETURN -1;
	END IF;
	-- What is remembered of them makes room for them.
	DELETE FROM queue.tasks t USING queue.dead d
	WHERE d.queue = q.queue AND d.number = ANY (chosen) AND t.queue = q.queue AND t.id = d.id AND t.ended IS NOT NULL;
	WITH numbered AS MATERIALIZED (
		SELECT c.number, queue.number() AS next FROM unnest(chosen) AS c (number)
	), put AS (
		INSERT INTO queue.tasks (number, queue, due, visible_at, pushed, deadline, named, id, kind, frame)
		SELECT n.next, d.queue, began, began, d.pushed, d.deadline, d.named, d.id, d.kind, d.frame
		FROM numbered n JOIN queue.dead d ON d.queue = q.queue AND d.number = n.number
		ORDER BY d.id
		ON CONFLICT (id, queue) DO NOTHING
		RETURNING number
	)
	DELETE FROM queue.dead d USING put p JOIN numbered n ON n.next = p.number WHERE d.queue = q.queue AND d.number = n.number;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;

-- forget deletes what is past its time, at most so many rows of each table, and returns
-- how many they were.
CREATE FUNCTION queue.forget(in_limit int) RETURNS bigint LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
DECLARE
	began bigint := queue.now();
	tasks bigint;
	dead  bigint;
BEGIN
	WITH old AS MATERIALIZED (
		SELECT o.ctid AS place FROM queue.tasks o WHERE o.forget_at <= began
		ORDER BY o.forget_at LIMIT in_limit FOR UPDATE SKIP LOCKED
	)
	DELETE FROM queue.tasks t USING old WHERE t.ctid = old.place;
	GET DIAGNOSTICS tasks = ROW_COUNT;

	-- They are numbered as they were buried, so the oldest come first.
	WITH old AS MATERIALIZED (
		SELECT q.queue, o.number FROM queue.queues q CROSS JOIN LATERAL (
			SELECT o.number, o.buried FROM queue.dead o WHERE o.queue = q.queue ORDER BY o.number LIMIT in_limit
		) o WHERE o.buried <= began - q.keep_dead ORDER BY q.queue, o.number
	), gone AS (
		DELETE FROM queue.dead d USING old WHERE d.queue = old.queue AND d.number = old.number
		RETURNING d.queue
	), counted AS (
		SELECT g.queue, count(*) AS n FROM gone g GROUP BY g.queue
	), noted AS (
		UPDATE queue.queues q SET dropped_dead = q.dropped_dead + c.n FROM counted c WHERE q.queue = c.queue
	)
	SELECT coalesce(sum(n), 0) INTO dead FROM counted;
	RETURN tasks + dead;
END $$;
