package client_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"snip"
	"snip/client"
)

// alike: every load of a zone is another pointer, and an empty list is like none.
var alike = cmp.Options{
	cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() }), cmpopts.EquateEmpty(),
}

// count makes a click on a link every ten minutes, five days long up to noon, of
// all classes and with referrers that are markup and controls.
func (i *instance) count(t *testing.T, link int64) {
	t.Helper()
	var clicks []snip.Click
	for n := range 5 * 24 * 6 {
		clicks = append(clicks, snip.Click{
			Link: link, At: noon.Add(time.Duration(-n) * 10 * time.Minute), Class: snip.Class(n % 5), Visitor: uint64(n%100 + 1),
			Browser: "unknown", OS: "unknown", Device: "unknown", Medium: "unknown", Language: "de", Country: "NP", Region: "NP-P3",
			Referrer: []string{"", "<b>&amp;", "\x1b[31m\x00é"}[n%3], Campaign: fmt.Sprintf("spring %d", n%20),
		})
	}
	err := i.store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return i.store.CountClicks(ctx, tx, 0, clicks)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func days(t *testing.T, from, to, zone string) snip.Range {
	t.Helper()
	r := snip.Range{}
	var err error
	if r.From, err = snip.ParseDate(from); err != nil {
		t.Fatal(err)
	}
	if r.To, err = snip.ParseDate(to); err != nil {
		t.Fatal(err)
	}
	if zone == "" {
		return r
	}
	if r.Zone, err = time.LoadLocation(zone); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestStatsAreThoseOfTheStore, with what only the server knows beside them.
func TestStatsAreThoseOfTheStore(t *testing.T) {
	i := open(t)
	c := connect(t, client.Config{Server: i.address, Key: i.key})
	ctx := t.Context()
	for _, code := range []string{"abc", "xyz"} {
		l, _, err := i.store.CreateLink(ctx, snip.NewLink{
			Code: code, Settings: snip.Settings{Target: "https://example.com/?a=<b>&c", Tags: []string{code}, ExpiresAt: noon.Add(time.Hour)},
		})
		if err != nil {
			t.Fatal(err)
		}
		i.count(t, l.ID)
	}
	slot := noon.Add(-time.Hour)
	if err := i.store.AddUnknownCodes(ctx, []snip.UnknownHits{{Slot: slot, Code: "wp-login", Hits: 3}, {Slot: slot, Hits: 2}}); err != nil {
		t.Fatal(err)
	}

	for _, r := range []snip.Range{
		days(t, "2026-11-01", "2026-11-30", "Asia/Kathmandu"),
		days(t, "2026-11-25", "2026-11-25", "America/St_Johns"),
		days(t, "2026-01-01", "2026-12-31", "Europe/Berlin"),
		days(t, "2026-11-20", "2026-11-29", ""),
		days(t, "2020-01-01", "2020-01-02", "UTC"),
	} {
		for step := snip.StepHour; step <= snip.StepMonth; step++ {
			for _, q := range []snip.StatsQuery{{}, {Codes: []string{"abc"}}, {Codes: []string{"xyz", "abc"}}, {Tag: "abc"}, {Tag: "xyz", Domain: new(string)}} {
				q.Range, q.Step, q.Top = r, step, 3
				got, err := c.Stats(ctx, q)
				if err != nil {
					t.Fatal(err)
				}
				want, err := i.store.Stats(ctx, q)
				if err != nil {
					t.Fatal(err)
				}
				want.CountedUpTo, want.Dropped = noon, 7
				if diff := cmp.Diff(want, got, alike); diff != "" {
					t.Errorf("Stats(%+v): %s", q, diff)
				}
			}
		}
		got, err := c.Popular(ctx, r, 1)
		if err != nil {
			t.Fatal(err)
		}
		want, err := i.store.Popular(ctx, r, 1)
		if err != nil {
			t.Fatal(err)
		}
		want.CountedUpTo, want.Dropped = noon, 7
		if diff := cmp.Diff(want, got, alike); diff != "" {
			t.Errorf("Popular(%+v): %s", r, diff)
		}
		unknown, err := c.UnknownCodes(ctx, r, 1)
		if err != nil {
			t.Fatal(err)
		}
		wantUnknown, err := i.store.UnknownCodes(ctx, r, 1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantUnknown, unknown, alike); diff != "" {
			t.Errorf("UnknownCodes(%+v): %s", r, diff)
		}
	}
	// What was compared was not nothing.
	month := days(t, "2026-11-01", "2026-11-30", "UTC")
	all, err := c.Stats(ctx, snip.StatsQuery{Range: month, Step: snip.StepDay, Top: 10})
	if err != nil || all.Clicks != 2*5*24*6 || all.HumanClicks == 0 || len(all.Visitors) == 0 {
		t.Errorf("Stats = %+v, %v", all.Counts, err)
	}
	unknown, err := c.UnknownCodes(ctx, month, 10)
	if err != nil || unknown.Hits != 5 || unknown.Other != 2 {
		t.Errorf("UnknownCodes = %+v, %v", unknown, err)
	}
}

// TestServerChoosesWhatIsLeftOut: the answer as it stands says what it chose.
func TestServerChoosesWhatIsLeftOut(t *testing.T) {
	i := open(t)
	c := connect(t, client.Config{Server: i.address, Key: i.key})
	for name, ask := range map[string]func(context.Context, url.Values) (text []byte, err error){
		"statistics": func(ctx context.Context, p url.Values) ([]byte, error) { return c.StatsJSON(ctx, p) },
		"popular":    func(ctx context.Context, p url.Values) ([]byte, error) { return c.PopularJSON(ctx, p) },
	} {
		text, err := ask(t.Context(), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var answer struct{ From, Zone string }
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Zone != "UTC" || answer.From == "" {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestStatsRefused: the errors of the server come back as those of the domain.
func TestStatsRefused(t *testing.T) {
	i := open(t)
	c := connect(t, client.Config{Server: i.address, Key: i.key})
	ctx := t.Context()
	good := days(t, "2026-11-01", "2026-11-30", "UTC")
	backwards := days(t, "2026-11-30", "2026-11-01", "UTC")
	local := good
	local.Zone = time.Local
	nameless := good
	nameless.Zone = time.FixedZone("", 3600)
	for name, test := range map[string]struct {
		query snip.StatsQuery
		code  snip.Code
		field string
	}{
		"no such link":  {snip.StatsQuery{Range: good, Codes: []string{"none"}}, snip.NotFound, "code"},
		"odd code":      {snip.StatsQuery{Range: good, Codes: []string{"../a?b#c&zone=Mars/ü"}}, snip.NotFound, "code"},
		"many links":    {snip.StatsQuery{Range: good, Codes: make([]string, snip.MaxStatsLinks+1)}, snip.Invalid, "code"},
		"no range":      {snip.StatsQuery{}, snip.Invalid, "to"},
		"backwards":     {snip.StatsQuery{Range: backwards}, snip.Invalid, "from"},
		"local zone":    {snip.StatsQuery{Range: local}, snip.Invalid, "zone"},
		"nameless zone": {snip.StatsQuery{Range: nameless}, snip.Invalid, "zone"},
		"step":          {snip.StatsQuery{Range: good, Step: snip.StepMonth + 1}, snip.Invalid, "step"},
		"top":           {snip.StatsQuery{Range: good, Top: -1}, snip.Invalid, "top"},
	} {
		_, err := c.Stats(ctx, test.query)
		t.Run(name, func(t *testing.T) { wantError(t, err, test.code, test.field) })
	}
	_, err := c.Popular(ctx, good, 0)
	wantError(t, err, snip.Invalid, "limit")
	_, err = c.Popular(ctx, backwards, 1)
	wantError(t, err, snip.Invalid, "from")
	_, err = c.UnknownCodes(ctx, good, 1001)
	wantError(t, err, snip.Invalid, "limit")
	_, err = c.UnknownCodes(ctx, local, 1)
	wantError(t, err, snip.Invalid, "zone")
	_, err = connect(t, client.Config{Server: i.address}).Stats(ctx, snip.StatsQuery{Range: good})
	wantError(t, err, snip.Unauthorized, "")
}

// TestStatsOfOtherServers: what is no answer of a Snip is an error, not figures.
func TestStatsOfOtherServers(t *testing.T) {
	for _, body := range []string{`{}`, `null`, `[]`, `{"from":"2026-11-01","to":"2026-11-30","zone":"Mars/Olympus"}`, ``, `<html>`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if _, err := w.Write([]byte(body)); err != nil {
				t.Error(err)
			}
		}))
		c := connect(t, client.Config{Server: server.URL, Key: "k"})
		good := days(t, "2026-11-01", "2026-11-30", "UTC")
		if st, err := c.Stats(t.Context(), snip.StatsQuery{Range: good}); err == nil || st.Clicks != 0 {
			t.Errorf("%q: Stats = %+v, want an error", body, st)
		}
		if p, err := c.Popular(t.Context(), good, 1); err == nil {
			t.Errorf("%q: Popular = %+v, want an error", body, p)
		}
		if u, err := c.UnknownCodes(t.Context(), good, 1); err == nil {
			t.Errorf("%q: UnknownCodes = %+v, want an error", body, u)
		}
		server.Close()
	}
}
