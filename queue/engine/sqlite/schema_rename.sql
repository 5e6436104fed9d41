-- Makes version 1 of the tables of logs version 2. They were all that a file had, and
-- its user_version was theirs: a program of that time shall refuse the file now.

ALTER TABLE topics     RENAME TO queue_topics;
ALTER TABLE partitions RENAME TO queue_partitions;
ALTER TABLE entries    RENAME TO queue_entries;
ALTER TABLE segments   RENAME TO queue_segments;
ALTER TABLE rosters    RENAME TO queue_rosters;
ALTER TABLE positions  RENAME TO queue_positions;
DROP INDEX segments_seen;
CREATE INDEX queue_segments_seen ON queue_segments (seen_at);
PRAGMA user_version = 2;
