package store

import (
	"context"
	"strings"
	"unicode"

	"snip"
)

// maxWord is how many characters of a word count.
const maxWord = 64

// wordsOf returns the words of texts, each once, in lower case. A word is a run of
// letters, the marks on them, and digits. It is done here, and not by the databases,
// because each of those has its own idea of what a letter is, and which is its lower case.
func wordsOf(texts ...string) []string {
	var words []string
	seen := map[string]bool{}
	for _, text := range texts {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
			return !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Number)
		}) {
			word = strings.Map(unicode.ToLower, cutWord(word))
			if !seen[word] {
				seen[word] = true
				words = append(words, word)
			}
		}
	}
	return words
}

func cutWord(word string) string {
	n := 0
	for i := range word {
		if n == maxWord {
			return word[:i]
		}
		n++
	}
	return word
}

// wordsColumn are words as they are kept: with a space before each, so that a word that
// begins with "ex" is found as " ex".
func wordsColumn(words []string) string {
	var b strings.Builder
	for _, word := range words {
		b.WriteString(" ")
		b.WriteString(word)
	}
	return b.String()
}

func wordsOfLink(l snip.Link) string { return wordsColumn(wordsOf(l.Code, l.Title, l.Note, l.Target)) }

// addWords makes a new link be found by its words. They are not kept in links, so that
// counting need not carry them along.
func addWords(ctx context.Context, tx session, l snip.Link) error {
	words := wordsOfLink(l)
	if _, err := tx.later().ExecContext(ctx, `INSERT INTO link_words (link_id, words) VALUES ($1, $2)`, l.ID, words); err != nil {
		return err
	}
	return indexWordsOf(ctx, tx, l.ID, words)
}

// insertWords inserts rows of link_words.
func insertWords(ctx context.Context, tx session, rows [][]any) error {
	if err := insertChunks(ctx, tx, `INSERT INTO link_words (link_id, words) VALUES %s`, rows); err != nil {
		return err
	}
	return indexWords(ctx, tx, rows)
}

// indexWords puts rows of link_words into the index, in the place of what it has of the
// same links: see grouped. On a server it is an index like others, which needs no help.
func indexWords(ctx context.Context, tx session, rows [][]any) error {
	if tx.kind == onPostgres {
		return nil
	}
	return insertChunks(ctx, tx, `
		INSERT OR REPLACE INTO link_search (rowid, words)
		SELECT link_id, `+grouped+` FROM (SELECT column1 AS link_id, column2 AS words FROM (VALUES %s))`, rows)
}

// indexWordsOf does the same for one link.
func indexWordsOf(ctx context.Context, tx session, link int64, words string) error {
	if tx.kind == onPostgres {
		return nil
	}
	_, err := tx.ExecContext(ctx, `
		INSERT OR REPLACE INTO link_search (rowid, words)
		SELECT link_id, `+grouped+` FROM (SELECT CAST($1 AS BIGINT) AS link_id, CAST($2 AS TEXT) AS words)`, link, words)
	return err
}

// changeWords does the same for a link that was changed.
func changeWords(ctx context.Context, tx session, before, after snip.Link) error {
	words := wordsOfLink(after)
	if words == wordsOfLink(before) {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `UPDATE link_words SET words = $2 WHERE link_id = $1`, after.ID, words); err != nil {
		return err
	}
	return indexWordsOf(ctx, tx, after.ID, words)
}

func removeWords(ctx context.Context, tx session, link int64) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM link_words WHERE link_id = $1`, link); err != nil {
		return err
	}
	if tx.kind == onPostgres {
		return nil
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM link_search WHERE rowid = $1`, link)
	return err
}
