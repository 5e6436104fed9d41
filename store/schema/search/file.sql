-- The words of links, by which they are searched, each once and with a space before it.
-- Apart from links, so that counting does not carry them along.
CREATE TABLE link_words (
	link_id INTEGER PRIMARY KEY,
	words   TEXT NOT NULL
);
-- Its index. What is a word was decided before: nothing is folded here but ASCII.
CREATE VIRTUAL TABLE link_search USING fts5 (words, tokenize = 'ascii', content = '', contentless_delete = 1, detail = 'none');
