package test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// mustBalance fails the test unless the books of a data directory are right for the
// requests that were made to it and the clicks that were reported as dropped.
func mustBalance(t *testing.T, dir string, vs *visits, dropped int64) books {
	t.Helper()
	b := readBooks(t, dir)
	b.mustBalance(t, vs, dropped)
	return b
}

func (b books) mustBalance(t *testing.T, vs *visits, dropped int64) {
	t.Helper()
	t.Logf("%d requests answered, %d cut, %d refused; %d events, %d lost, %d dropped",
		vs.count(answered), vs.count(cut), vs.count(refused), len(b.events), b.lost, dropped)
	wrong := balance(vs.all(), b, dropped)
	for _, w := range wrong[:min(len(wrong), 20)] {
		t.Error(w)
	}
	if len(wrong) > 20 {
		t.Errorf("and %d more", len(wrong)-20)
	}
}

// balance is the count rule. Per link, answered ≤ counted ≤ answered + cut, where
// what was dropped may be missing; and number by number, what was answered is in the
// topic once and what was cut at most once. It returns what is wrong.
func balance(requests []visit, b books, dropped int64) (wrong []string) {
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	var whole limits
	perCode := map[string]*limits{}
	for _, v := range requests {
		if perCode[v.code] == nil {
			perCode[v.code] = &limits{}
		}
		perCode[v.code].add(v.outcome)
		whole.add(v.outcome)
	}

	var sum int64
	for _, code := range slices.Sorted(maps.Keys(b.links)) {
		a, l := b.links[code], perCode[code]
		if l == nil {
			l = &limits{}
		}
		sum += a.clicks
		if a.clicks < l.answered-dropped || a.clicks > l.answered+l.cut {
			complain("/%s has %d clicks; %d requests were answered, %d cut, %d clicks dropped", code, a.clicks, l.answered, l.cut, dropped)
		}
		if a.totalClicks != a.clicks || a.totalHuman != a.human {
			complain("/%s has %d clicks, %d human; its rollups add up to %d and %d", code, a.clicks, a.human, a.totalClicks, a.totalHuman)
		}
	}
	for code, l := range perCode {
		if _, ok := b.links[code]; !ok && l.answered > 0 {
			complain("/%s was answered %d times and is not in the database", code, l.answered)
		}
	}
	if sum+dropped < whole.answered || sum+dropped > whole.answered+whole.cut {
		complain("%d clicks are counted and %d dropped; %d requests were answered, %d cut", sum, dropped, whole.answered, whole.cut)
	}
	return append(wrong, balanceNumbers(requests, b, dropped)...)
}

func balanceNumbers(requests []visit, b books, dropped int64) (wrong []string) {
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	type place struct {
		segment  string
		position uint64
	}
	places := map[place]bool{}
	perLink := map[int64]int64{}
	events := map[int64][]counted{} // By the number of the request.
	for _, e := range b.events {
		p := place{e.segment.String(), e.position}
		if places[p] {
			complain("segment %s has number %d twice in the topic", e.segment, e.position)
		}
		places[p] = true
		perLink[e.link]++
		events[e.number] = append(events[e.number], e)
	}
	var missing int64
	for _, v := range requests {
		got := events[v.number]
		delete(events, v.number)
		switch {
		case len(got) > 1:
			complain("request %d is in the topic %d times", v.number, len(got))
		case len(got) == 1 && v.outcome != answered && v.outcome != cut:
			complain("request %d is in the topic and was never answered", v.number)
		case len(got) == 1 && got[0].link != b.links[v.code].id:
			complain("request %d for /%s is in the topic for link %d", v.number, v.code, got[0].link)
		case len(got) == 0 && v.outcome == answered:
			if missing++; missing > dropped {
				complain("request %d for /%s was answered and is not in the topic", v.number, v.code)
			}
		}
	}
	for number := range events {
		complain("the topic has request %d, which nobody made", number)
	}
	for code, a := range b.links {
		if a.clicks != perLink[a.id] {
			complain("/%s has %d clicks, the topic has %d for it", code, a.clicks, perLink[a.id])
		}
	}
	return wrong
}

// limits are how many clicks there may be.
type limits struct{ answered, cut int64 }

func (l *limits) add(o outcome) {
	switch o {
	case answered:
		l.answered++
	case cut:
		l.cut++
	}
}

// The rule itself must see what is wrong: a test that cannot fail proves nothing.
func TestBalanceSeesWhatIsWrong(t *testing.T) {
	right := func() ([]visit, books) {
		requests := []visit{
			{number: 1, code: "a", outcome: answered},
			{number: 2, code: "a", outcome: answered},
			{number: 3, code: "b", outcome: answered},
			{number: 4, code: "b", outcome: cut}, // Counted.
			{number: 5, code: "b", outcome: cut}, // Not counted.
			{number: 6, code: "b", outcome: refused},
		}
		return requests, books{
			links: map[string]account{
				"a": {id: 7, clicks: 2, human: 2, totalClicks: 2, totalHuman: 2},
				"b": {id: 8, clicks: 2, human: 2, totalClicks: 2, totalHuman: 2},
			},
			events: []counted{
				{position: 0, link: 7, number: 1}, {position: 1, link: 7, number: 2},
				{position: 2, link: 8, number: 3}, {position: 3, link: 8, number: 4},
			},
		}
	}
	count := func(b *books, code string, clicks int64) {
		a := b.links[code]
		a.clicks, a.human, a.totalClicks, a.totalHuman = a.clicks+clicks, a.human+clicks, a.totalClicks+clicks, a.totalHuman+clicks
		b.links[code] = a
	}
	tests := []struct {
		name    string
		change  func(b *books)
		dropped int64
		ok      bool
	}{
		{name: "right", change: func(*books) {}, ok: true},
		{name: "a click lost by the count", change: func(b *books) { count(b, "a", -1) }},
		{name: "a click counted twice", change: func(b *books) { count(b, "a", 1) }},
		{name: "a click counted for another link", change: func(b *books) { count(b, "a", -1); count(b, "b", 1) }},
		{name: "more counted than was asked", change: func(b *books) { count(b, "b", 2) }},
		{name: "a total lost", change: func(b *books) {
			a := b.links["a"]
			a.totalClicks--
			b.links["a"] = a
		}},
		{name: "a human total too much", change: func(b *books) {
			a := b.links["b"]
			a.totalHuman++
			b.links["b"] = a
		}},
		{name: "a click lost before the topic", change: func(b *books) {
			count(b, "a", -1)
			b.events = b.events[1:]
		}},
		{name: "lost before the topic, and dropped says so", dropped: 1, ok: true, change: func(b *books) {
			count(b, "a", -1)
			b.events = b.events[1:]
		}},
		{name: "dropped says too much", dropped: 3, change: func(*books) {}},
		{name: "a request twice in the topic, one lost", change: func(b *books) { b.events[1].number = 1 }},
		{name: "an event twice in the topic", change: func(b *books) {
			b.events = append(b.events, b.events[0])
		}},
		{name: "a cut request twice in the topic and counted so", change: func(b *books) {
			count(b, "b", 1)
			b.events = append(b.events, counted{position: 4, link: 8, number: 4})
		}},
		{name: "a refused request counted", change: func(b *books) {
			count(b, "b", 1)
			b.events = append(b.events, counted{position: 4, link: 8, number: 6})
		}},
		{name: "a request that nobody made", change: func(b *books) {
			count(b, "b", 1)
			b.events = append(b.events, counted{position: 4, link: 8, number: 99})
		}},
		{name: "a link lost", change: func(b *books) { delete(b.links, "a") }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			requests, b := right()
			test.change(&b)
			if wrong := balance(requests, b, test.dropped); (len(wrong) == 0) != test.ok {
				t.Errorf("balance() = %q, want right: %v", wrong, test.ok)
			}
		})
	}
}
