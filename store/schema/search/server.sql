-- The words of links, by which they are searched, each once and with a space before it.
-- Apart from links, so that counting does not carry them along.
CREATE TABLE link_words (
	link_id BIGINT PRIMARY KEY,
	words   TEXT NOT NULL
);
-- Lists are sorted by the bytes of codes, as in a file.
ALTER TABLE links ALTER COLUMN domain TYPE TEXT COLLATE "C", ALTER COLUMN code TYPE TEXT COLLATE "C";
