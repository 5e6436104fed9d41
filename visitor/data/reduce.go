//go:build ignore

// Reduce takes from two published lists what package visitor uses of them. See
// README.md beside it for when and how to run it.
package main

import (
	"bytes"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: go run visitor/data/reduce.go crawler-user-agents.json referrers.json visitor")
	}
	crawlers(os.Args[1], os.Args[3])
	referrers(os.Args[2], os.Args[3])
}

func crawlers(from, to string) {
	var list []struct {
		Pattern   string   `json:"pattern"`
		Tags      []string `json:"tags"`
		Instances []string `json:"instances"`
	}
	read(from, &list)
	kinds := map[string][]string{}
	var instances bytes.Buffer
	for _, c := range list {
		if slices.Contains(people(), c.Pattern) {
			continue
		}
		kind := "bot"
		if slices.Contains(c.Tags, "social-preview") && !slices.Contains(readers(), c.Pattern) {
			kind = "preview"
		}
		kinds[kind] = append(kinds[kind], c.Pattern)
		for _, agent := range c.Instances {
			instances.WriteString(kind + "\t" + agent + "\n")
		}
	}
	write(filepath.Join(to, "data", "crawlers.json"), kinds)
	check(os.WriteFile(filepath.Join(to, "testdata", "crawlers.txt"), instances.Bytes(), 0o644))
}

// people are the patterns that match what people use: the build number of an
// Android release, editors with a browser inside, the browser inside Facebook's
// app, a browser for single sites.
func people() []string {
	return []string{`AP3A\.240617\.008`, `Code\/1\.`, `Trae\/`, `MetaIAB Facebook`, `Fluid`}
}

// readers are tagged as previews, but read pages for an index, a model or a count.
func readers() []string {
	return []string{
		`meta-externalagent\/`, `meta-webindexer`, `TikTokSpider`, `Linespider`, `AASA-Bot`,
		`TweetmemeBot`, `newsharecounts`, `AddThis`, `Jetslide`, `bluesky-domain-status-classifier`,
		`Dazzle BlueSky Bot`, `Supabase Paired Crawler`, `Quora-Bot`, `Goodreads`,
	}
}

// referrers keeps whole hosts: of the few names with a path, all but three say
// what their host says.
func referrers(from, to string) {
	var list map[string]struct {
		Medium string `json:"medium"`
	}
	read(from, &list)
	media := map[string][]string{}
	seen := map[string]bool{}
	names := make([]string, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		host := strings.TrimPrefix(strings.ToLower(name), "www.")
		if strings.Contains(host, "/") || !strings.Contains(host, ".") || seen[host] {
			continue
		}
		seen[host] = true
		medium := list[name].Medium
		switch medium {
		case "search", "social", "email", "paid":
		default:
			medium = "other"
		}
		media[medium] = append(media[medium], host)
	}
	for _, hosts := range media {
		slices.Sort(hosts)
	}
	write(filepath.Join(to, "data", "referrers.json"), media)
}

func read(name string, into any) {
	b, err := os.ReadFile(name)
	check(err)
	check(json.Unmarshal(b, into))
}

func write(name string, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	check(e.Encode(v))
	check(os.WriteFile(name, b.Bytes(), 0o644))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
