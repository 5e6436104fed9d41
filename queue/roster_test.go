package queue

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// crew is a group as its members live it: one roster, and what each works on.
type crew struct {
	stored     []byte // As a GroupStore keeps the roster.
	now        time.Duration
	partitions int
	members    map[string]*hand
}

type hand struct {
	held  map[int]bool // Runs that have not ended.
	until time.Duration
}

const session = 8 * time.Second

func (c *crew) swap(t *rapid.T, change func(r *roster)) {
	r, err := parseRoster(c.stored)
	if err != nil {
		t.Fatal(err)
	}
	change(&r)
	c.stored = r.bytes()
}

// beat does for a member what work.beat does: it starts what it got. What it shall
// not own is returned; it holds that until its batch is done.
func (c *crew) beat(t *rapid.T, id string) (surplus []int) {
	m := c.members[id]
	var mine []int
	c.swap(t, func(r *roster) { mine = r.beat(id, m.held, c.partitions, c.now, session) })
	m.until = c.now + session
	for _, p := range mine {
		m.held[p] = true
	}
	for p := range m.held {
		if !slices.Contains(mine, p) {
			surplus = append(surplus, p)
		}
	}
	return surplus
}

// pass lets time go by. A member that was silent for a session knows that its
// partitions may be others' by now, and has stopped its runs.
func (c *crew) pass(d time.Duration) {
	c.now += d
	for _, m := range c.members {
		if c.now >= m.until {
			clear(m.held)
		}
	}
}

func (c *crew) ids() []string { return slices.Sorted(maps.Keys(c.members)) }

func (c *crew) checkOneOwner(t *rapid.T) {
	owner := map[int]string{}
	for _, id := range c.ids() {
		for p := range c.members[id].held {
			if other, ok := owner[p]; ok {
				t.Fatalf("partition %d is worked on by %s and by %s", p, other, id)
			}
			owner[p] = id
		}
	}
}

// settle lets everybody beat in turn, batches ending in between, as often as it
// takes a calm group to share out everything.
func (c *crew) settle(t *rapid.T) {
	for range 4 {
		for _, id := range c.ids() {
			for _, p := range c.beat(t, id) {
				delete(c.members[id].held, p)
			}
			c.checkOneOwner(t)
		}
	}
}

func (c *crew) checkShares(t *rapid.T) {
	least, most, all := c.partitions, 0, 0
	for _, id := range c.ids() {
		n := len(c.members[id].held)
		least, most, all = min(least, n), max(most, n), all+n
	}
	if all != c.partitions {
		t.Fatalf("%d of %d partitions are worked on: %s", all, c.partitions, c.stored)
	}
	if most-least > 1 {
		t.Fatalf("shares are %d to %d partitions: %s", least, most, c.stored)
	}
}

func (c *crew) checkCalm(t *rapid.T) {
	before, err := parseRoster(c.stored)
	if err != nil {
		t.Fatal(err)
	}
	c.settle(t)
	after, err := parseRoster(c.stored)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Owners, after.Owners); diff != "" {
		t.Fatalf("a calm group moves partitions: %s", diff)
	}
}

func TestRosterSharesOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &crew{partitions: rapid.IntRange(1, 12).Draw(t, "partitions"), members: map[string]*hand{}}
		somebody := func(t *rapid.T) string {
			if len(c.members) == 0 {
				t.Skip("nobody is there")
			}
			return rapid.SampledFrom(c.ids()).Draw(t, "member")
		}
		joined := 0
		t.Repeat(map[string]func(*rapid.T){
			"join": func(t *rapid.T) {
				if len(c.members) == 6 {
					t.Skip("enough")
				}
				joined++
				// In no order, so that newcomers sort before old members as well as behind.
				id := fmt.Sprintf("%d-%d", rapid.IntRange(0, 9).Draw(t, "order"), joined)
				c.members[id] = &hand{held: map[int]bool{}}
				c.beat(t, id)
			},
			"beat": func(t *rapid.T) { c.beat(t, somebody(t)) },
			"end a batch": func(t *rapid.T) {
				id := somebody(t)
				for _, p := range c.beat(t, id) {
					delete(c.members[id].held, p)
				}
			},
			"leave": func(t *rapid.T) {
				id := somebody(t)
				delete(c.members, id)
				c.swap(t, func(r *roster) { r.leave(id) })
			},
			"die": func(t *rapid.T) {
				delete(c.members, somebody(t)) // The roster does not know.
			},
			"lose a reply": func(t *rapid.T) {
				// The swap landed, but the member does not know, and starts nothing.
				id := somebody(t)
				c.swap(t, func(r *roster) { r.beat(id, c.members[id].held, c.partitions, c.now, session) })
			},
			"wait":           func(t *rapid.T) { c.pass(session / 4) },
			"wait very long": func(t *rapid.T) { c.pass(2 * session) },
			"":               func(t *rapid.T) { c.checkOneOwner(t) },
		})
		if len(c.members) == 0 {
			return
		}
		c.pass(session) // Whoever died is gone after that.
		c.settle(t)
		c.checkShares(t)
		c.checkCalm(t)
	})
}

// A member that shall give partitions up owns them in the roster until the batch in
// flight is done: until then nobody else starts on them.
func TestRosterKeepsWhatIsInFlight(t *testing.T) {
	var r roster
	held := map[int]bool{}
	for _, p := range r.beat("a", held, 4, 0, session) {
		held[p] = true
	}
	if got := r.beat("b", nil, 4, 0, session); len(got) != 0 {
		t.Fatalf("b got %v while a works on everything", got)
	}
	if got := r.beat("a", held, 4, 0, session); !slices.Equal(got, []int{0, 1}) {
		t.Fatalf("a shall own %v, want 0 and 1", got)
	}
	if got := r.beat("b", nil, 4, 0, session); len(got) != 0 {
		t.Fatalf("b got %v while the batches of a are in flight", got)
	}
	delete(held, 2)
	delete(held, 3)
	r.beat("a", held, 4, 0, session)
	if got := r.beat("b", nil, 4, 0, session); !slices.Equal(got, []int{2, 3}) {
		t.Fatalf("b got %v, want 2 and 3", got)
	}
}

func TestRosterFreesTheSilent(t *testing.T) {
	var r roster
	r.beat("a", nil, 1, 0, session)
	if got := r.beat("b", nil, 1, session-1, session); len(got) != 0 {
		t.Errorf("b got %v before a's session was over", got)
	}
	if got := r.beat("b", nil, 1, session, session); !slices.Equal(got, []int{0}) {
		t.Errorf("b got %v when a's session was over, want 0", got)
	}
}

func TestParseRoster(t *testing.T) {
	if r, err := parseRoster(nil); err != nil || len(r.Members) != 0 || len(r.Owners) != 0 {
		t.Errorf("parseRoster(nothing) = %v, %v", r, err)
	}
	if _, err := parseRoster([]byte("{")); err == nil {
		t.Error("parseRoster accepts what is no roster")
	}
}
