package test

import (
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
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
		},
	})
}

// serving is under what a script keeps the server that it started.
type serving struct{}

func usage(ts *testscript.TestScript, ok bool, how string) {
	if !ok {
		ts.Fatalf("usage: %s", how)
	}
}
