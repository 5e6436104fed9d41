package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"snip"
	"snip/event"
	"snip/queue/spool"
	"snip/visitor"
	"snip/web"
)

const (
	shipNotes  = 100_000 // More agents than are remembered, where each is another.
	shipAgents = 400
	shipHosts  = 300
)

// shipper measures on one goroutine how many notes of clicks become events, all that
// is told of visitors included but their country, whose database nobody ships. It is
// compared with how many redirects the whole program makes of them on the same
// machine: below 1 the spool would fill up.
func shipper(ctx context.Context, b *bench) ([]row, error) {
	agents, err := readAgents()
	if err != nil {
		return nil, err
	}
	repeating, err := shipContestant("shipper, agents as in real traffic", func(i int) string { return agents[i] })
	if err != nil {
		return nil, err
	}
	n := 0
	distinct, err := shipContestant("shipper, every agent another", func(i int) string {
		n++
		return fmt.Sprintf("%s build/%d", agents[i], n)
	})
	if err != nil {
		return nil, err
	}
	at, err := b.newPlace(ctx, false)
	if err != nil {
		return nil, err
	}
	s, err := b.startSnip(ctx, at)
	if err != nil {
		return nil, err
	}
	redirects := &contestant{name: "snip, one process on files", measure: s.load(onePath("/bench"))}
	if err := inTurns(ctx, b.rounds, b.length, repeating, distinct, redirects); err != nil {
		return nil, err
	}
	return []row{repeating.beside(redirects, "/s", bar{}), distinct.beside(redirects, "/s", bar{})}, nil
}

// readAgents returns agents, the most frequent first: those of browsers, and after
// every third a crawler.
func readAgents() ([]string, error) {
	browsers, err := readAgentsOf("browsers")
	if err != nil {
		return nil, err
	}
	crawlers, err := readAgentsOf("crawlers")
	if err != nil {
		return nil, err
	}
	if len(crawlers) == 0 || len(browsers) == 0 {
		return nil, errors.New("there are no agents")
	}
	var agents []string
	for i := 0; len(agents) < shipAgents; i++ {
		// Of the same browser there are many versions.
		agents = append(agents, strings.Replace(browsers[i%len(browsers)], ".0", fmt.Sprintf(".%d", i/len(browsers)), 1))
		if i%3 == 2 {
			agents = append(agents, crawlers[i%len(crawlers)])
		}
	}
	return agents, nil
}

// readAgentsOf reads those that the product's tests know, which stand behind a tab.
func readAgentsOf(kind string) (agents []string, err error) {
	f, err := os.Open("../visitor/testdata/" + kind + ".txt")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if _, agent, ok := strings.Cut(lines.Text(), "\t"); ok {
			agents = append(agents, agent)
		}
	}
	return agents, lines.Err()
}

func shipContestant(name string, agent func(i int) string) (*contestant, error) {
	notes, err := takeNotes(agent)
	if err != nil {
		return nil, err
	}
	visitors, err := visitor.New(visitor.Config{})
	if err != nil {
		return nil, err
	}
	shipper, err := web.NewShipper(web.ShipperConfig{Visitors: visitors, Salts: saltOfToday})
	if err != nil {
		return nil, err
	}
	if err := shipper.Refresh(context.Background()); err != nil {
		return nil, err
	}
	next := 0 // Goes on from one round to the next: what was not seen before stays so.
	return &contestant{name: name, measure: func(ctx context.Context, length time.Duration) (float64, error) {
		n, began := 0, time.Now()
		for time.Since(began) < length && ctx.Err() == nil {
			now := time.Now()
			for range 100 {
				m := shipper.Message(spool.Record{At: now, Payload: notes[next]})
				if m.Type != event.ClickType {
					return 0, fmt.Errorf("note %d became a message of type %q", next, m.Type)
				}
				next = (next + 1) % len(notes)
			}
			n += 100
		}
		return float64(n) / time.Since(began).Seconds(), nil
	}}, nil
}

func saltOfToday(context.Context) (map[int64][]byte, error) {
	salt, today := make([]byte, 32), snip.Day(time.Now())
	return map[int64][]byte{today: salt, today + 1: salt}, nil
}

// takeNotes makes notes the way they come about: by visits. What visitors have in
// common is popular by Zipf's law; each has an address of their own, and half of
// them no referrer.
func takeNotes(agent func(i int) string) ([][]byte, error) {
	book := &notebook{}
	visitors, err := visitor.New(visitor.Config{})
	if err != nil {
		return nil, err
	}
	server, err := web.New(web.Config{
		Service: func(snip.Key) snip.Service { return nil }, Routes: oneLink{}, Limits: oneLink{}, Keys: oneLink{}, Notes: book, Visitors: visitors,
	})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	rnd := rand.New(rand.NewPCG(1, 2))
	agents := rand.NewZipf(rnd, 1.1, 1, shipAgents-1)
	hosts := rand.NewZipf(rnd, 1.1, 1, shipHosts-1)
	languages := []string{
		"en-US,en;q=0.9", "de-DE,de;q=0.9,en;q=0.8", "fr-FR,fr;q=0.8,en-US;q=0.5,en;q=0.3", "es", "pt-BR,pt;q=0.9",
		"ja", "zh-CN,zh;q=0.9", "ru-RU,ru;q=0.9", "it-IT,it;q=0.8", "nl", "pl-PL,pl;q=0.9", "tr-TR,tr;q=0.9",
	}
	language := rand.NewZipf(rnd, 1.1, 1, uint64(len(languages)-1))
	for i := range shipNotes {
		r, err := http.NewRequest(http.MethodGet, "/bench", http.NoBody)
		if err != nil {
			return nil, err
		}
		r.RemoteAddr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 4321).String()
		r.Header.Set("User-Agent", agent(int(agents.Uint64())))
		r.Header.Set("Accept-Language", languages[language.Uint64()])
		if i%2 == 0 {
			r.Header.Set("Referer", referrer(int(hosts.Uint64()), i))
		}
		if i%5 == 0 {
			r.URL.RawQuery = fmt.Sprintf("utm_source=news&utm_campaign=campaign-%d", hosts.Uint64())
		}
		server.Handler().ServeHTTP(nowhere{}, r)
	}
	if len(book.notes) != shipNotes {
		return nil, fmt.Errorf("%d notes of %d visits", len(book.notes), shipNotes)
	}
	return book.notes, nil
}

func referrer(host, page int) string {
	known := []string{
		"https://www.google.com/", "https://t.co/", "https://www.facebook.com/", "https://duckduckgo.com/",
		"https://www.bing.com/", "https://mail.google.com/", "https://news.ycombinator.com/", "https://www.reddit.com/",
	}
	if host < len(known) {
		return known[host] // These tell no page.
	}
	return fmt.Sprintf("https://www.site-%d.example/page/%d", host, page)
}

// notebook keeps notes in memory.
type notebook struct{ notes [][]byte }

func (b *notebook) Record(_ time.Time, note []byte) error {
	b.notes = append(b.notes, slices.Clone(note))
	return nil
}

// oneLink is a store that has the same plain link under every code.
type oneLink struct{}

func (oneLink) Route(_ context.Context, _, code string) (snip.Route, error) {
	l := snip.Link{ID: 1, Code: code, Settings: snip.Settings{Target: "https://example.com/"}}
	return l.Route(code, "")
}

func (oneLink) TakeClick(context.Context, int64, int64) (bool, error) { return true, nil }
func (oneLink) ClickLeft(context.Context, int64, int64) (bool, error) { return true, nil }
func (oneLink) CheckKey(context.Context, string) (snip.Key, error)    { return snip.Key{}, nil }

// nowhere takes an answer that nobody reads.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}
