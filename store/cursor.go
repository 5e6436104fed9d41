package store

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"

	"snip"
)

// cursor is where a page ends. It is handed out as text that says nothing to people.
type cursor struct {
	Question string `json:"q"` // Hash of what was asked for.
	Last     []any  `json:"l"` // The order's key of the last link.
}

// questionHash tells questions apart. How many links a page has may change on the way.
func questionHash(q snip.LinkQuery) string {
	q.Cursor, q.Limit = "", 0
	q.Tags = snip.CleanTags(q.Tags)
	if q.Sort == "" {
		q.Sort = snip.SortNewest
	}
	if q.Archived == "" {
		q.Archived = snip.ArchivedNo
	}
	b, _ := json.Marshal(q) // Texts and numbers can always be encoded.
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// cursorAfter returns the cursor of a page that ends with a link.
func (l *listing) cursorAfter(last snip.Link) string {
	c := cursor{Question: questionHash(l.asked)}
	switch l.asked.Sort {
	case snip.SortUpdated:
		c.Last = []any{last.UpdatedAt.UnixMicro(), last.ID}
	case snip.SortCode:
		c.Last = []any{last.Domain, last.Code}
	case snip.SortExpiry:
		c.Last = []any{last.ExpiresAt.UnixMicro(), last.ID}
	default:
		c.Last = []any{last.ID}
	}
	b, _ := json.Marshal(c) // As in questionHash.
	return base64.RawURLEncoding.EncodeToString(b)
}

// readCursor returns the cursor of a question, or nil if it has none.
func readCursor(q snip.LinkQuery) (*cursor, error) {
	if q.Cursor == "" {
		return nil, nil
	}
	wrong := &snip.Error{Code: snip.Invalid, Field: "cursor",
		Message: "This cursor is of another list, or damaged. Leave it out for the first page."}
	b, err := base64.RawURLEncoding.DecodeString(q.Cursor)
	if err != nil {
		return nil, wrong
	}
	var raw struct {
		Question string            `json:"q"`
		Last     []json.RawMessage `json:"l"`
	}
	if json.Unmarshal(b, &raw) != nil || raw.Question != questionHash(q) {
		return nil, wrong
	}
	c := &cursor{Question: raw.Question}
	for _, value := range raw.Last {
		var text string
		var number int64
		switch {
		case json.Unmarshal(value, &number) == nil && q.Sort != snip.SortCode:
			c.Last = append(c.Last, number)
		case json.Unmarshal(value, &text) == nil && q.Sort == snip.SortCode:
			c.Last = append(c.Last, text)
		default:
			return nil, wrong
		}
	}
	if want := map[bool]int{true: 2, false: 1}[slices.Contains([]snip.Sort{snip.SortUpdated, snip.SortCode, snip.SortExpiry}, q.Sort)]; len(c.Last) != want {
		return nil, wrong
	}
	return c, nil
}
