package snip_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// imports says, for every package of the module, what it may import beside the
// standard library. A name that ends in /... stands for all below it, too.
var imports = []struct {
	packages string
	may      []string
	why      string
}{
	{
		"snip", []string{"golang.org/x/net/idna", "github.com/nlnwa/whatwg-url/..."},
		"the domain knows no store, no transport and no queue; only reading a URL is work for others",
	},
	{
		"snip/event", []string{"snip", "github.com/twmb/avro"},
		"what goes over topics is read by other programs: it depends on nothing that moves",
	},
	{
		"snip/problem", []string{"snip"},
		"server and client share it, so it knows neither",
	},
	{
		"snip/wire", []string{"snip"},
		"server and client share how answers are written, so it knows neither",
	},
	{
		"snip/visitor", []string{"snip", "github.com/oschwald/maxminddb-golang/v2"},
		"it makes of what is personal something that is not, and sees neither requests nor stores",
	},
	{
		"snip/rollup", []string{"snip", "github.com/axiomhq/hyperloglog"},
		"how counts are encoded is known in one place, and needs no database to be tried",
	},
	{
		"snip/store", []string{
			"snip", "snip/event", "snip/wire", "snip/rollup", "snip/queue", "snip/queue/outbox", "snip/internal/sqlitefile",
			"modernc.org/sqlite/...", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/...", "github.com/pressly/goose/v3", "github.com/alexedwards/argon2id",
		},
		"links and queues meet in a transaction only: a change is told to the outbox, field by field as the API names them, and no engine is known here",
	},
	{
		"snip/web", []string{
			"snip", "snip/problem", "snip/wire", "snip/event", "snip/visitor", "snip/queue", "snip/queue/spool",
			"github.com/maypok86/otter/v2", "github.com/prometheus/client_golang/...",
			"github.com/alexedwards/argon2id", "golang.org/x/time/rate", // Of links with a password.
			"github.com/danielgtaylor/huma/v2/...", "github.com/piglig/go-qr", // Of the API.
		},
		"a redirect knows no worker, no store and no engine: whatever keeps its interfaces can stand behind it",
	},
	{
		"snip/worker", []string{"snip", "snip/event", "snip/store", "snip/queue", "snip/queue/inbox"},
		"stopping every worker changes nothing for the web, and any engine can feed it",
	},
	{
		"snip/client", []string{"snip", "snip/problem", "snip/wire"},
		"a program that talks to a server links no server",
	},
	{
		"snip/cmd/snip", []string{
			"snip", "snip/client", "snip/event", "snip/store", "snip/visitor", "snip/web", "snip/wire", "snip/worker",
			"snip/queue", "snip/queue/engine/postgres", "snip/queue/engine/sqlite", "snip/queue/outbox", "snip/queue/spool",
			"github.com/caarlos0/env/v11", "github.com/lmittmann/tint", "github.com/mattn/go-isatty",
			"github.com/prometheus/client_golang/...", "github.com/spf13/cobra", "github.com/piglig/go-qr", "golang.org/x/sys/unix",
		},
		"the one place where stores and engines are wired, and the command line, which draws QR codes, hides what is typed and looks at disks",
	},
	{
		"snip/queue", nil,
		"whoever imports the library gets the library: no client, no driver, no tool",
	},
	{
		"snip/queue/inbox", []string{"snip/queue"},
		"SQL enters as *sql.Tx, so that it works with any driver",
	},
	{
		"snip/queue/outbox", []string{"snip/queue"},
		"SQL enters as *sql.Tx, so that it works with any driver",
	},
	{
		"snip/queue/spool", []string{"snip/queue", "golang.org/x/sys/unix"},
		"a producer's buffer knows the contract, not the engines",
	},
	{
		"snip/queue/queuetest", []string{"snip/queue"},
		"whoever tests an engine of their own gets no other engine's client",
	},
	{
		"snip/queue/engine", []string{"snip/queue", "snip/queue/engine/memory", "snip/queue/engine/postgres", "snip/queue/engine/sqlite"},
		"for those who choose the engine by a URL; nothing in the library imports it",
	},
	{
		"snip/queue/engine/memory", []string{"snip/queue"},
		"the executable specification needs nothing",
	},
	{
		"snip/queue/engine/sqlite", []string{"snip/queue", "snip/internal/sqlitefile", "golang.org/x/sys/unix"},
		"an engine imports the contract and one client, never another engine",
	},
	{
		"snip/queue/engine/postgres", []string{"snip/queue", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/...", "golang.org/x/sync/semaphore"},
		"an engine imports the contract and one client, never another engine",
	},
	{
		"snip/internal/postgrestest", []string{"github.com/jackc/pgx/v5"},
		"it starts servers for tests, and knows nothing of what they test",
	},
	{
		"snip/internal/sqlitefile", []string{"modernc.org/sqlite/...", "golang.org/x/sys/unix"},
		"it opens a file for a store and for an engine, and knows neither",
	},
	{
		"snip/test", nil,
		"it drives the program from outside, by its files, ports and signals",
	},
}

func TestImportsPointOneWay(t *testing.T) {
	imported := map[string][]string{} // By package, the standard library left out.
	for _, p := range goList(t, ".", "./...") {
		imported[p.ImportPath] = slices.DeleteFunc(p.Imports, isStandard)
	}
	for _, rule := range imports {
		got, ok := imported[rule.packages]
		if !ok {
			t.Errorf("the rule for %s speaks of a package that is not there", rule.packages)
			continue
		}
		delete(imported, rule.packages)
		for _, path := range got {
			if !slices.ContainsFunc(rule.may, func(m string) bool { return matches(m, path) }) {
				t.Errorf("%s must not import %s: %s", rule.packages, path, rule.why)
			}
		}
		for _, m := range rule.may {
			if !slices.ContainsFunc(got, func(path string) bool { return matches(m, path) }) {
				t.Errorf("%s does not import %s any more: take it out of its rule", rule.packages, m)
			}
		}
	}
	for p := range imported {
		t.Errorf("no rule says what %s may import", p)
	}
}

type listedPackage struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

// goList runs go list in a directory. Imports of tests are not in what it returns.
func goList(t *testing.T, dir string, args ...string) []listedPackage {
	t.Helper()
	out := goCommand(t, dir, append([]string{"list", "-json=ImportPath,Imports,Standard"}, args...)...)
	var packages []listedPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatalf("go list %v: %v", args, err)
		}
		packages = append(packages, p)
	}
}

func goCommand(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return out
}

// isStandard: the paths of all other modules start with a domain, or are ours.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return first != "snip" && !strings.Contains(first, ".")
}

func matches(pattern, path string) bool {
	prefix, below := strings.CutSuffix(pattern, "/...")
	return path == prefix || below && strings.HasPrefix(path, prefix+"/")
}
