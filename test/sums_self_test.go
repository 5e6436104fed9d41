package test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	domain "snip"
)

// smallSums are clicks of three links.
func smallSums(t *testing.T, rnd *rand.Rand, n int) sums {
	t.Helper()
	g := newGenerator(rnd, everyZone(t), []int64{1, 2, 3})
	s := sums{links: map[string]int64{"hot": 1, "warm": 2, "never": 4}, clicks: g.clicks(n)}
	s.clicks = append(s.clicks, g.crowd(crowdDay, 1, 2, 300)...)
	return s
}

var crowdDay = time.Date(2026, time.June, 10, 0, 0, 0, 0, time.UTC)

// TestSumsAgree sums up in a second way: by arithmetic with the offset of a zone,
// where the first formats what its clock shows.
func TestSumsAgree(t *testing.T) {
	rnd := random(t)
	s := smallSums(t, rnd, 5000)
	for _, name := range deepZones {
		zone := mustZone(t, name)
		for _, step := range []string{"hour", "day", "week", "month"} {
			q := question{codes: []string{"hot", "warm"}, from: "2026-02-20", to: "2026-11-10", zone: zone, step: step, top: 1000}
			if step == "hour" {
				q.from = "2026-03-05"
				q.to = "2026-04-30"
			}
			v := s.stats(q)
			for _, wrong := range compare(v, v, 1000) {
				t.Errorf("%s: %s", q, wrong)
			}
			want := map[string]tally{}
			for i := range s.clicks {
				c := &s.clicks[i]
				_, offset := c.At.In(zone).Zone()
				local := c.At.Unix() + int64(offset)
				day := floor(local, 24*60*60)
				if c.Link == 3 || day < dayNumber(q.from) || day > dayNumber(q.to) {
					continue
				}
				key := arithmetic(step, local, int64(offset))
				sum := want[key]
				sum.add(c)
				want[key] = sum
			}
			got := map[string]tally{}
			for _, p := range v.Series {
				start, err := time.Parse(time.RFC3339, p.Start)
				if err != nil {
					t.Fatal(err)
				}
				_, offset := start.Zone()
				key := arithmetic(step, start.Unix()+int64(offset), int64(offset))
				if p.tally != (tally{}) {
					got[key] = p.tally
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v, want %v", q, got, want)
			}
		}
	}
}

// arithmetic names the step of a moment, given in seconds of the clock on the wall.
func arithmetic(step string, local, offset int64) string {
	day := floor(local, 24*60*60)
	switch step {
	case "hour":
		return fmt.Sprint(floor(local, 60*60), offset)
	case "week":
		return fmt.Sprint(floor(day+3, 7)) // 1970 began on a Thursday.
	case "month":
		y, m, _ := time.Unix(day*24*60*60, 0).UTC().Date()
		return fmt.Sprint(y, m)
	}
	return fmt.Sprint(day)
}

func floor(n, by int64) int64 {
	if n < 0 {
		n -= by - 1
	}
	return n / by
}

func dayNumber(day string) int64 { return floor(mustDay(day).Unix(), 24*60*60) }

// TestGeneratorMakesAllKinds: what is never made is never tested.
func TestGeneratorMakesAllKinds(t *testing.T) {
	s := smallSums(t, random(t), 10_000)
	classes, kinds := map[domain.Class]int{}, map[string]int{}
	visits := map[[2]uint64]int{}
	var values [domain.NumDimensions]map[string]bool
	for d := range values {
		values[d] = map[string]bool{}
	}
	berlin, apart := mustZone(t, "Europe/Berlin"), 24*time.Hour
	for i := range s.clicks {
		c := &s.clicks[i]
		classes[c.Class]++
		for d := range values {
			values[d][told(c, d)] = true
		}
		kinds["nobody"] += one(c.Visitor == 0)
		kinds["no referrer"] += one(c.Referrer == "")
		kinds["no campaign"] += one(c.Campaign == "")
		kinds["no alias"] += one(c.Alias == "")
		kinds["no arm"] += one(c.Arm == "")
		kinds["first of a slot"] += one(c.At.Truncate(domain.Slot).Equal(c.At))
		kinds["last of a slot"] += one(c.At.Add(time.Microsecond).Truncate(domain.Slot).Equal(c.At.Add(time.Microsecond)))
		kinds["first of a day"] += one(c.At.Truncate(apart).Equal(c.At))
		kinds["last of a day"] += one(c.At.Add(time.Microsecond).Truncate(apart).Equal(c.At.Add(time.Microsecond)))
		wall := c.At.In(berlin)
		before, after := wall.Add(-2*time.Hour), wall.Add(2*time.Hour)
		kinds["near a change of the clocks"] += one(before.Format("-0700") != after.Format("-0700"))
		visits[[2]uint64{uint64(domain.Day(c.At)), c.Visitor}]++
		if c.At.Nanosecond()%1000 != 0 {
			t.Fatalf("a click at %s: finer than an event can tell", c.At)
		}
	}
	for _, n := range visits {
		kinds["a visitor again"] += one(n > 1)
	}
	for kind, n := range kinds {
		if n < 3 {
			t.Errorf("%d of kind %q", n, kind)
		}
	}
	if len(classes) != 5 {
		t.Errorf("classes %v, want all five", classes)
	}
	for d, v := range values {
		if len(v) > 1000 || d != 0 && len(v) < len(odd) {
			t.Errorf("%d values of %s", len(v), dimensions[d])
		}
	}
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// TestSeedRepeats: a run that failed can be had again.
func TestSeedRepeats(t *testing.T) {
	seed := rand.Uint64()
	first := smallSums(t, rand.New(rand.NewPCG(seed, 0)), 500)
	second := smallSums(t, rand.New(rand.NewPCG(seed, 0)), 500)
	if !reflect.DeepEqual(first, second) {
		t.Error("one seed made two different lots of clicks")
	}
}

// TestCompareSeesWhatIsWrong: nothing of an answer may be wrong unseen.
func TestCompareSeesWhatIsWrong(t *testing.T) {
	s := smallSums(t, random(t), 3000)
	q := question{codes: []string{"hot"}, from: "2026-06-01", to: "2026-06-30", zone: mustZone(t, "Europe/Berlin"), step: "day", top: 1000}
	want := s.stats(q)
	if wrong := compare(clone(t, want), want, 1000); len(wrong) > 0 {
		t.Fatalf("a right answer is called wrong: %q", wrong)
	}
	at := slices.IndexFunc(want.Visitors, func(v visitorsView) bool { return v.Visitors >= 200 })
	if at < 0 {
		t.Fatal("no day with a crowd")
	}
	for name, corrupt := range map[string]func(*statsView){
		"total":             func(v *statsView) { v.Clicks++ },
		"people":            func(v *statsView) { v.HumanClicks-- },
		"before":            func(v *statsView) { v.Before.Clicks++ },
		"days before":       func(v *statsView) { v.Before.From = v.From },
		"a step":            func(v *statsView) { v.Series[9].Clicks++ },
		"two steps":         func(v *statsView) { v.Series[9].Clicks++; v.Series[8].Clicks-- },
		"a start":           func(v *statsView) { v.Series[9].Start = "2026-06-10T00:00:00Z" },
		"no last step":      func(v *statsView) { v.Series = v.Series[:29] },
		"a value":           func(v *statsView) { v.Dimensions["os"].Top[0].HumanClicks-- },
		"a text":            func(v *statsView) { v.Dimensions["referrer"].Top[0].Value += " " },
		"a value twice":     func(v *statsView) { top := v.Dimensions["country"].Top; top[1] = top[0] },
		"the order":         func(v *statsView) { slices.Reverse(v.Dimensions["class"].Top) },
		"a value too few":   func(v *statsView) { d := v.Dimensions["device"]; d.Top = d.Top[1:]; v.Dimensions["device"] = d },
		"more":              func(v *statsView) { d := v.Dimensions["region"]; d.More.Clicks++; v.Dimensions["region"] = d },
		"other":             func(v *statsView) { d := v.Dimensions["region"]; d.Other.Clicks++; v.Dimensions["region"] = d },
		"no dimension":      func(v *statsView) { delete(v.Dimensions, "campaign") },
		"few visitors":      func(v *statsView) { v.Visitors[0].Visitors++ },
		"many visitors":     func(v *statsView) { v.Visitors[at].Visitors += v.Visitors[at].Visitors/50 + 1 },
		"a day too many":    func(v *statsView) { v.Visitors = append(v.Visitors, visitorsView{"2026-07-01", 1}) },
		"no day":            func(v *statsView) { v.Visitors = v.Visitors[1:] },
		"codes":             func(v *statsView) { v.Codes = nil },
		"the domain":        func(v *statsView) { v.Domain = &v.From },
		"the tag":           func(v *statsView) { v.Tag = "red" },
		"an alias":          func(v *statsView) { v.Dimensions["alias"].Top[0].Clicks++ },
		"no arm":            func(v *statsView) { delete(v.Dimensions, "arm") },
		"the zone":          func(v *statsView) { v.Zone = "UTC" },
		"the last day":      func(v *statsView) { v.To = "2026-07-01" },
		"what was dropped":  func(v *statsView) { v.Dropped = 1 },
		"that it is coarse": func(v *statsView) { v.Coarse = &v.From },
	} {
		got := clone(t, want)
		corrupt(&got)
		if len(compare(got, want, 1000)) == 0 {
			t.Errorf("%s: nothing is found to be wrong", name)
		}
	}
}

func clone(t *testing.T, v statsView) (c statsView) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var deepZones = []string{
	"UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Kathmandu", "Asia/Kolkata", "Pacific/Chatham",
	"Australia/Lord_Howe", "America/Havana", "Africa/Cairo", "Pacific/Kiritimati",
}
