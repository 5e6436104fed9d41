package queuetest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"time"

	"snip/queue"
)

func groups(e queue.LogEngine) bool {
	_, ok := e.(queue.GroupStore)
	return ok
}

var groupCases = []Case{
	{
		Name:  "ARosterStartsEmpty",
		Rule:  "A group never seen has an empty roster and version 0.",
		needs: groups,
		run:   aRosterStartsEmpty,
	},
	{
		Name:  "ARosterIsSwappedWhole",
		Rule:  "A swap puts any bytes under the next version; one of another version answers ErrConflict and changes nothing. Groups and topics are told apart.",
		needs: groups,
		run:   aRosterIsSwappedWhole,
	},
	{
		Name:  "OfTwoSwapsOneWins",
		Rule:  "Of concurrent swaps of one version exactly one wins; the others get ErrConflict.",
		needs: groups,
		run:   ofTwoSwapsOneWins,
	},
	{
		Name:  "TimeNeverGoesBack",
		Rule:  "The engine's time never goes back, and what is read after a swap was read at no earlier time.",
		needs: groups,
		run:   timeNeverGoesBack,
	},
	{
		Name:  "APositionMovesFromWhereItStands",
		Rule:  "A commit moves a position from where it stands, else it answers ErrFenced and changes nothing.",
		needs: groups,
		run:   aPositionMovesFromWhereItStands,
	},
	{
		Name:  "PositionsAreToldApart",
		Rule:  "A position belongs to one group, one topic's ID and one partition.",
		needs: groups,
		run:   positionsAreToldApart,
	},
	{
		Name:  "OfTwoCommitsOneWins",
		Rule:  "Of concurrent commits from one position exactly one moves it.",
		needs: groups,
		run:   ofTwoCommitsOneWins,
	},
}

func (s *suite) store() queue.GroupStore { return s.engine.(queue.GroupStore) }

func (s *suite) roster(group, topic string) (roster []byte, version int64, now time.Duration) {
	s.Helper()
	roster, version, now, err := s.store().Roster(s.Context(), group, topic)
	if err != nil {
		s.Fatalf("Roster(%q, %q) = %v", group, topic, err)
	}
	return roster, version, now
}

func (s *suite) wantRoster(group, topic, want string, wantVersion int64) {
	s.Helper()
	if roster, version, _ := s.roster(group, topic); string(roster) != want || version != wantVersion {
		s.Errorf("Roster(%q, %q) = %.100q, version %d, want %.100q, version %d", group, topic, roster, version, want, wantVersion)
	}
}

func (s *suite) swap(group, topic string, version int64, roster string) {
	s.Helper()
	if err := s.store().Swap(s.Context(), group, topic, version, []byte(roster)); err != nil {
		s.Fatalf("Swap(%q, %q, %d) = %v", group, topic, version, err)
	}
}

func aRosterStartsEmpty(s *suite) {
	s.wantRoster("count", "orders", "", 0)
}

func aRosterIsSwappedWhole(s *suite) {
	s.swap("count", "orders", 0, "one")
	s.wantRoster("count", "orders", "one", 1)
	large := string(bytes.Repeat([]byte{0, 0xff, 'x', '\''}, 1<<20/4))
	s.swap("count", "orders", 1, large)
	s.wantRoster("count", "orders", large, 2)
	for _, version := range []int64{0, 1, 3, -1} {
		if err := s.store().Swap(s.Context(), "count", "orders", version, []byte("x")); !errors.Is(err, queue.ErrConflict) {
			s.Errorf("Swap() of version %d = %v, want %v", version, err, queue.ErrConflict)
		}
	}
	if err := s.store().Swap(s.Context(), "other", "orders", 1, []byte("x")); !errors.Is(err, queue.ErrConflict) {
		s.Errorf("Swap() of version 1 of a group never seen = %v, want %v", err, queue.ErrConflict)
	}
	s.wantRoster("count", "orders", large, 2)
	s.swap("count", "orders", 2, "")
	s.wantRoster("count", "orders", "", 3)
	s.swap("count", "bills", 0, "bills")
	s.swap("other", "orders", 0, "other")
	s.wantRoster("count", "orders", "", 3)
	s.wantRoster("count", "bills", "bills", 1)
	s.wantRoster("other", "orders", "other", 1)
}

func ofTwoSwapsOneWins(s *suite) {
	s.oneWins(5, queue.ErrConflict, func(round, i int) error {
		return s.store().Swap(s.Context(), "count", "orders", int64(round), fmt.Append(nil, i))
	})
	if _, version, _ := s.roster("count", "orders"); version != 5 {
		s.Errorf("version = %d, want 5", version)
	}
}

// oneWins calls do from eight goroutines at a time: one must succeed in each round,
// and the others get refused.
func (s *suite) oneWins(rounds int, refused error, do func(round, i int) error) {
	s.Helper()
	for round := range rounds {
		outcomes := make([]error, 8)
		var wg sync.WaitGroup
		for i := range outcomes {
			wg.Go(func() { outcomes[i] = do(round, i) })
		}
		wg.Wait()
		won := 0
		for _, err := range outcomes {
			if err == nil {
				won++
			} else if !errors.Is(err, refused) {
				s.Errorf("round %d: %v, want %v", round, err, refused)
			}
		}
		if won != 1 {
			s.Fatalf("round %d: %d of %d won, want 1", round, won, len(outcomes))
		}
	}
}

func timeNeverGoesBack(s *suite) {
	var last time.Duration
	for version := range int64(20) {
		_, _, now := s.roster("count", "orders")
		if now < last {
			s.Fatalf("time went from %s to %s", last, now)
		}
		last = now
		s.swap("count", "orders", version, now.String())
	}
}

func (s *suite) wantPosition(group string, topic queue.TopicID, partition int, want queue.Position) {
	s.Helper()
	got, err := s.store().Position(s.Context(), group, topic, partition)
	if err != nil || got != want {
		s.Errorf("Position(%q, %s, %d) = %+v, %v, want %+v", group, topic, partition, got, err, want)
	}
}

func (s *suite) commit(group string, topic queue.TopicID, partition int, from, to queue.Position) {
	s.Helper()
	if err := s.store().Commit(s.Context(), group, topic, partition, from, to); err != nil {
		s.Fatalf("Commit(%q, %s, %d, %q, %q) = %v", group, topic, partition, from, to, err)
	}
}

func (s *suite) wantFenced(group string, topic queue.TopicID, partition int, from, to queue.Position) {
	s.Helper()
	if err := s.store().Commit(s.Context(), group, topic, partition, from, to); !errors.Is(err, queue.ErrFenced) {
		s.Errorf("Commit(%q, %s, %d, %q, %q) = %v, want %v", group, topic, partition, from, to, err, queue.ErrFenced)
	}
}

// threePositions returns the topic's ID and positions of its first partition.
func (s *suite) threePositions() (queue.TopicID, [3]queue.Position) {
	s.Helper()
	id := s.declare("orders", 2)
	s.append("orders", 0, "ab", "cd", "ef")
	var all [3]queue.Position
	for i, e := range s.entries("orders", 0) {
		all[i] = e.Next
	}
	return id, all
}

func aPositionMovesFromWhereItStands(s *suite) {
	id, at := s.threePositions()
	var none queue.Position
	s.wantPosition("count", id, 0, none)
	s.wantFenced("count", id, 0, at[0], at[1])
	s.wantPosition("count", id, 0, none)
	s.commit("count", id, 0, none, at[0])
	s.wantPosition("count", id, 0, at[0])
	s.wantFenced("count", id, 0, none, at[1])
	s.wantFenced("count", id, 0, at[1], at[2])
	s.wantFenced("count", id, 0, queue.Position{Entry: at[0].Entry, Index: 1}, at[2])
	s.wantPosition("count", id, 0, at[0])
	s.commit("count", id, 0, at[0], at[2])
	s.wantFenced("count", id, 0, at[0], at[2]) // The same again: somebody else did it.
	s.commit("count", id, 0, at[2], at[1])     // Back, to replay.
	s.wantPosition("count", id, 0, at[1])
	s.commit("count", id, 0, at[1], none)
	s.wantPosition("count", id, 0, none)
	s.commit("count", id, 0, none, at[0])
	s.wantPosition("count", id, 0, at[0])
}

func positionsAreToldApart(s *suite) {
	id, at := s.threePositions()
	other := queue.NewTopicID() // The topic in another life.
	var none queue.Position
	s.commit("count", id, 0, none, at[0])
	s.wantPosition("live", id, 0, none)
	s.wantPosition("count", id, 1, none)
	s.wantPosition("count", other, 0, none)
	s.commit("live", id, 0, none, at[1])
	s.commit("count", id, 1, none, at[2])
	s.commit("count", other, 0, none, at[1])
	s.wantPosition("count", id, 0, at[0])
	s.wantPosition("live", id, 0, at[1])
	s.wantPosition("count", id, 1, at[2])
	s.wantPosition("count", other, 0, at[1])
}

func ofTwoCommitsOneWins(s *suite) {
	id, at := s.threePositions()
	stands := []queue.Position{{}, at[0], at[1], at[2]}
	s.oneWins(3, queue.ErrFenced, func(round, _ int) error {
		return s.store().Commit(s.Context(), "count", id, 0, stands[round], stands[round+1])
	})
	s.wantPosition("count", id, 0, at[2])
}
