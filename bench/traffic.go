package main

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"time"

	"snip"
)

// trafficDays is over how many days clicks are spread, evenly. In Berlin, one of them
// has 23 hours.
const trafficDays = 90

func trafficStart() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }

func trafficEnd() time.Time { return trafficStart().AddDate(0, 0, trafficDays) }

// traffic is clicks of one kind, in the order of time. The links have the numbers from
// 1 on.
type traffic struct {
	name    string
	clicks  int
	links   int
	hottest int64
	// add gives each click its link, and changes what else is special of the kind.
	add func(random *rand.Rand) func(i int, c *snip.Click)
}

// byPopularity is what is usual: links by Zipf's law (1.1).
func byPopularity(clicks, links int) *traffic {
	// Links that are popular are not those that are old.
	ranks := rand.New(rand.NewPCG(3, 4)).Perm(links)
	return &traffic{
		name: fmt.Sprintf("%d clicks, Zipf 1.1 over %d links", clicks, links), clicks: clicks, links: links, hottest: int64(ranks[0] + 1),
		add: func(random *rand.Rand) func(int, *snip.Click) {
			rank := rand.NewZipf(random, 1.1, 1, uint64(links-1))
			return func(_ int, c *snip.Click) { c.Link = int64(ranks[rank.Uint64()] + 1) }
		},
	}
}

// allTraffic: what is usual, and two kinds that are as unlike it as can be.
func allTraffic(clicks int) []*traffic {
	order := rand.New(rand.NewPCG(5, 6)).Perm(clicks)
	return []*traffic{
		byPopularity(clicks, 100_000),
		{
			name: fmt.Sprintf("%d clicks, each of another link", clicks), clicks: clicks, links: clicks, hottest: 1,
			add: func(*rand.Rand) func(int, *snip.Click) {
				return func(i int, c *snip.Click) { c.Link = int64(order[i] + 1) }
			},
		},
		{
			name: fmt.Sprintf("%d clicks of one link, with a referrer and a campaign that nobody else has", clicks), clicks: clicks, links: 1, hottest: 1,
			add: func(random *rand.Rand) func(int, *snip.Click) {
				return func(_ int, c *snip.Click) {
					c.Link, c.Medium = 1, "other"
					c.Referrer = fmt.Sprintf("%016x.example", random.Uint64())
					c.Campaign = fmt.Sprintf("%016x", random.Uint64())
				}
			},
		},
	}
}

// batches are the clicks, the same ones each time. A batch is good until the next.
func (t *traffic) batches(size int) iter.Seq[[]snip.Click] {
	return func(yield func([]snip.Click) bool) {
		random := rand.New(rand.NewPCG(1, 2))
		people, add := newCrowd(random), t.add(random)
		each := trafficEnd().Sub(trafficStart()) / time.Duration(t.clicks)
		var batch []snip.Click
		for i := range t.clicks {
			c := people.click(trafficStart().Add(each * time.Duration(i)))
			add(i, &c)
			batch = append(batch, c)
			if len(batch) < size && i < t.clicks-1 {
				continue
			}
			if !yield(batch) {
				return
			}
			batch = batch[:0]
		}
	}
}

// crowd is who follows links. What they have in common is popular by Zipf's law.
type crowd struct {
	random                                                        *rand.Rand
	browsers, systems, languages, countries, referrers, campaigns names
}

func newCrowd(random *rand.Rand) *crowd {
	list := func(all string) names { return newNames(random, strings.Fields(all)) }
	many := func(n int, format string) names {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(format, i))
		}
		return newNames(random, all)
	}
	return &crowd{
		random: random,
		browsers: list(`Chrome Safari Edge Firefox Samsung Opera Instagram Facebook UCBrowser Brave Vivaldi Yandex Whale QQBrowser
			MIUI DuckDuckGo Silk TikTok LinkedIn Snapchat Pinterest WeChat Line Ecosia Falkon Konqueror Epiphany SeaMonkey Waterfox Otter`),
		systems:   list(`Android iOS Windows macOS Linux ChromeOS iPadOS HarmonyOS Tizen webOS KaiOS FreeBSD`),
		languages: list(`en de es fr pt ja zh ru it nl pl tr ko ar id sv cs uk vi hu el ro fi da he th nb bg hr sk`),
		countries: list(`US DE IN GB BR FR JP CA ES IT NL AU PL MX TR KR ID SE CH AT BE AR UA CZ PT DK NO FI IE RO HU GR IL ZA VN TH PH MY
			SG NZ CL CO PE EG NG KE MA PK BD LK`),
		referrers: many(400, "www%d.site.example"),
		campaigns: many(60, "campaign-%d"),
	}
}

func (c *crowd) click(at time.Time) snip.Click {
	k := snip.Click{
		At: at, Browser: c.browsers.one(), OS: c.systems.one(), Language: c.languages.one(), Country: c.countries.one(),
		Device: "desktop", Medium: "direct",
	}
	k.Region = fmt.Sprintf("%s-%d", k.Country, c.random.IntN(8))
	switch k.OS {
	case "Android", "iOS", "HarmonyOS", "KaiOS":
		k.Device = "phone"
	case "iPadOS":
		k.Device = "tablet"
	case "Tizen", "webOS":
		k.Device = "tv"
	}
	if c.random.IntN(2) == 0 {
		k.Referrer, k.Medium = c.referrers.one(), [...]string{"search", "social", "other"}[c.random.IntN(3)]
	}
	if c.random.IntN(20) == 0 {
		k.Campaign = c.campaigns.one()
	}
	switch n := c.random.IntN(100); {
	case n < 85:
		// Some come more than once a day, and nobody is the same on the next.
		x := uint64(snip.Day(at))<<32 | c.random.Uint64N(20_000)
		k.Visitor = rand.New(rand.NewPCG(x, x)).Uint64()
	case n < 95:
		k.Class, k.Browser, k.OS, k.Device, k.Language = snip.Bot, "unknown", "unknown", "other", "unknown"
	case n < 98:
		k.Class = snip.Preview
	default:
		k.Class = snip.Prefetch
	}
	return k
}

// names are texts of which the first come most.
type names struct {
	all  []string
	rank *rand.Zipf
}

func newNames(random *rand.Rand, all []string) names {
	return names{all, rand.NewZipf(random, 1.1, 1, uint64(len(all)-1))}
}

func (n names) one() string { return n.all[n.rank.Uint64()] }
