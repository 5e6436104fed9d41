package test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestCommandLine runs the scripts in testdata/script. Beside the usual commands they
// have
//
//	serve            start a server on $WORK/data; set SNIP_SERVER to it, SNIP_KEY to a key
//	visit CODE AGENT follow a link with that user agent, and wait until it is counted
//	code N CMD...    run a command that must end with exit code N
//	key FILE         set SNIP_KEY to what stands in the file
//	savekey FILE     write SNIP_KEY into the file
//	secret FILE      fail if what stands in the file was printed last
//	json FIELD...    a line that was printed last is an object with each '"name": value'
//	mode MODE FILE   the file has these permissions, in octal
func TestCommandLine(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(snip)+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("SNIP_DATA_DIR", filepath.Join(env.WorkDir, "data"))
			env.Values[serving{}] = new(*process)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": func(ts *testscript.TestScript, neg bool, args []string) {
				usage(ts, !neg && len(args) == 0, "serve")
				dir := ts.MkAbs("data")
				p := start(t, "", dir)
				ts.Defer(p.stop)
				*ts.Value(serving{}).(**process) = p
				ts.Setenv("SNIP_SERVER", "http://"+p.public)
				ts.Setenv("SNIP_KEY", adminKey(t, dir))
			},
			"visit": func(ts *testscript.TestScript, neg bool, args []string) {
				usage(ts, !neg && len(args) == 2, "visit CODE AGENT")
				p := *ts.Value(serving{}).(**process)
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.public+"/"+args[0], http.NoBody)
				ts.Check(err)
				r.Header.Set("User-Agent", args[1])
				r.Header.Set("Referer", "https://news.example/")
				resp, err := http.DefaultTransport.RoundTrip(r)
				ts.Check(err)
				ts.Check(resp.Body.Close())
				if resp.StatusCode != http.StatusTemporaryRedirect {
					ts.Fatalf("/%s answers %s", args[0], resp.Status)
				}
				caughtUp(t, p)
			},
			"code": func(ts *testscript.TestScript, neg bool, args []string) {
				usage(ts, !neg && len(args) > 1, "code N CMD...")
				want, err := strconv.Atoi(args[0])
				ts.Check(err)
				got := 0
				if err := ts.Exec(args[1], args[2:]...); err != nil {
					exit, ok := errors.AsType[*exec.ExitError](err)
					if !ok {
						ts.Fatalf("%v", err)
					}
					got = exit.ExitCode()
				}
				if got != want {
					ts.Fatalf("exit code %d, want %d", got, want)
				}
			},
			"key": func(ts *testscript.TestScript, neg bool, args []string) {
				usage(ts, !neg && len(args) == 1, "key FILE")
				ts.Setenv("SNIP_KEY", strings.TrimSpace(ts.ReadFile(args[0])))
			},
			"savekey": func(ts *testscript.TestScript, neg bool, args []string) {
				usage(ts, !neg && len(args) == 1, "savekey FILE")
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.Getenv("SNIP_KEY")), 0o600))
			},
			"secret": func(ts *testscript.TestScript, neg bool, args []string) {
				usage(ts, !neg && len(args) == 1, "secret FILE")
				secret := strings.TrimSpace(ts.ReadFile(args[0]))
				if secret == "" || strings.Contains(ts.ReadFile("stdout")+ts.ReadFile("stderr"), secret) {
					ts.Fatalf("what stands in %s was printed, or is nothing", args[0])
				}
			},
			"json": func(ts *testscript.TestScript, neg bool, args []string) {
				usage(ts, !neg && len(args) > 0, "json FIELD...")
				out := ts.ReadFile("stdout")
				for line := range strings.Lines(out) {
					if hasFields(ts, line, args) {
						return
					}
				}
				ts.Fatalf("no line has all of %q:\n%s", args, out)
			},
			"mode": func(ts *testscript.TestScript, neg bool, args []string) {
				usage(ts, !neg && len(args) == 2, "mode MODE FILE")
				info, err := os.Stat(ts.MkAbs(args[1]))
				ts.Check(err)
				if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
					ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
				}
			},
		},
	})
}

// hasFields tells whether a line is an object that has each of the fields.
func hasFields(ts *testscript.TestScript, line string, fields []string) bool {
	var object map[string]any
	ts.Check(json.Unmarshal([]byte(line), &object))
	for _, field := range fields {
		var want map[string]any
		ts.Check(json.Unmarshal([]byte("{"+field+"}"), &want))
		for name, value := range want {
			if got, ok := object[name]; !ok || !reflect.DeepEqual(got, value) {
				return false
			}
		}
	}
	return true
}

// serving is under what a script keeps the server that it started.
type serving struct{}

func usage(ts *testscript.TestScript, ok bool, how string) {
	if !ok {
		ts.Fatalf("usage: %s", how)
	}
}
