package queue

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// roster is who is in a group and who owns which partition of its topic. The
// members change it one after the other, by compare and swap, so each decides
// alone and all agree.
type roster struct {
	Members []member `json:"members"` // By ID.
	Owners  []string `json:"owners"`  // Per partition; empty: free.
}

type member struct {
	ID    string        `json:"id"`
	Until time.Duration `json:"until"` // On the engine's clock; later it counts as gone.
}

func parseRoster(b []byte) (roster, error) {
	var r roster
	if len(b) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return roster{}, fmt.Errorf("roster: %w", err)
	}
	return r, nil
}

func (r roster) bytes() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // Strings and integers only.
	}
	return b
}

// beat keeps self in the roster until now+session and returns the partitions it
// shall own. Held are those it works on now. What it holds beyond its share is not
// returned but stays its own in the roster until a later beat no longer holds it:
// a partition changes hands only when its batch in flight is done.
func (r *roster) beat(self string, held map[int]bool, partitions int, now, session time.Duration) []int {
	r.expire(self, now)
	r.Members = append(r.Members, member{ID: self, Until: now + session})
	slices.SortFunc(r.Members, func(a, b member) int { return strings.Compare(a.ID, b.ID) })
	r.free(partitions, func(p int, owner string) bool {
		return !r.has(owner) || owner == self && !held[p]
	})

	var mine []int
	count := map[string]int{}
	for p, owner := range r.Owners {
		if owner == self {
			mine = append(mine, p)
		} else if owner != "" {
			count[owner]++
		}
	}
	want := r.share(count)
	for p, owner := range r.Owners {
		if len(mine) >= want {
			break
		}
		if owner == "" {
			r.Owners[p] = self
			mine = append(mine, p)
		}
	}
	slices.Sort(mine)
	return mine[:min(want, len(mine))]
}

// share is how many partitions one member takes, when the others have these
// counts: the floor of the even share, and one more as long as fewer others have
// that than there are partitions left over.
func (r *roster) share(others map[string]int) int {
	floor, extra := len(r.Owners)/len(r.Members), len(r.Owners)%len(r.Members)
	for _, n := range others {
		if n > floor {
			extra--
		}
	}
	if extra > 0 {
		return floor + 1
	}
	return floor
}

// leave takes self out and frees what it owned.
func (r *roster) leave(self string) {
	r.Members = slices.DeleteFunc(r.Members, func(m member) bool { return m.ID == self })
	r.free(len(r.Owners), func(_ int, owner string) bool { return owner == self })
}

// expire removes members whose time is over, and self, which beat adds anew.
func (r *roster) expire(self string, now time.Duration) {
	r.Members = slices.DeleteFunc(r.Members, func(m member) bool { return m.ID == self || m.Until <= now })
}

func (r *roster) free(partitions int, gone func(p int, owner string) bool) {
	r.Owners = append(r.Owners, make([]string, max(0, partitions-len(r.Owners)))...)[:partitions]
	for p, owner := range r.Owners {
		if owner != "" && gone(p, owner) {
			r.Owners[p] = ""
		}
	}
}

func (r *roster) has(id string) bool {
	return slices.ContainsFunc(r.Members, func(m member) bool { return m.ID == id })
}
