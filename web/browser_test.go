package web_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a Chromium with a profile of its own. What it complains about fails the
// test.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu   sync.Mutex // Protects page.
	page string     // The address asked for last.
}

// openBrowser starts one, or skips the test where there is none, which CI must not.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("chromium is missing: the pages cannot be tested")
		}
		t.Skip("SKIPPED: chromium is missing, the pages are not tested in a browser (Debian: apt install chromium)")
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(),
		chromedp.ExecPath(path),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
	)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{t: t}
	if err := chromedp.Listen(ctx, b.listen); err != nil { // Starts it.
		t.Fatal(err)
	}
	b.ctx, cancel = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	return b
}

func (b *browser) run(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// read runs an action that returns something.
func read[T any](b *browser, action chromedp.Action[T]) T {
	b.t.Helper()
	got, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

// leave does what leads to another page, whose address is expected, and waits for it.
func (b *browser) leave(address string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	b.mu.Lock()
	b.page = address
	b.mu.Unlock()
	if _, err := chromedp.RunResponse(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// listen hears errors of scripts and violations of the policy.
func (b *browser) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.t.Errorf("script failed: %s (%s:%d)", e.ExceptionDetails.Text, e.ExceptionDetails.URL, e.ExceptionDetails.LineNumber+1)
	case *runtime.EventConsoleAPICalled:
		b.t.Errorf("console: %s with %d arguments", e.Type, len(e.Args))
	case *log.EventEntryAdded:
		b.mu.Lock()
		defer b.mu.Unlock()
		// The browser reports a page that is answered with 404 and the like; what
		// else it cannot load is a fault.
		if e.Entry.Source != log.EntrySourceNetwork || e.Entry.URL != b.page {
			b.t.Errorf("browser: %s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	}
}

// open shows a page.
func (b *browser) open(address string) {
	b.t.Helper()
	b.leave(address, chromedp.Navigate(address))
}

// shorten fills in the form of the home page at an address and sends it.
func (b *browser) shorten(address, target, code string) {
	b.t.Helper()
	b.open(address + "/")
	b.submit(address, target, code)
}

// submit fills in the form that is shown and sends it. What it held is replaced; a
// code of "" leaves that field as it is.
func (b *browser) submit(address, target, code string) {
	b.t.Helper()
	b.run(chromedp.SetValue(chromedp.ID("url"), target))
	if code != "" {
		b.run(chromedp.SetValue(chromedp.ID("code"), code))
	}
	b.leave(address+"/shorten", chromedp.Click(chromedp.CSS("button[type=submit]")))
}

// look checks the page that is shown in every view there is, and keeps a picture
// of each in the directory SNIP_SHOTS, if that is set.
func (b *browser) look(name string) {
	b.t.Helper()
	for _, view := range []struct {
		name   string
		scheme string
		width  int64
	}{{"light", "light", 1280}, {"dark", "dark", 1280}, {"phone", "light", 390}, {"phone-dark", "dark", 390}} {
		b.run(chromedp.EmulateViewport(view.width, 800))
		media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: view.scheme}}}
		if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, media); err != nil {
			b.t.Fatal(err)
		}
		overflow := read(b, chromedp.Evaluate[string](`(() => {
			const d = document.documentElement;
			return d.scrollWidth <= d.clientWidth ? "" : d.scrollWidth + " > " + d.clientWidth;
		})()`))
		if overflow != "" {
			b.t.Errorf("%s is wider than the screen of a %s: %s", name, view.name, overflow)
		}
		b.shoot(fmt.Sprintf("%s-%s.png", name, view.name))
	}
}

func (b *browser) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("SNIP_SHOTS")
	if dir == "" {
		return
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), read(b, chromedp.CaptureScreenshot()), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// text returns what an element shows.
func (b *browser) text(id string) string {
	b.t.Helper()
	return strings.TrimSpace(read(b, chromedp.Text(chromedp.ID(id))))
}

// value returns what a field holds.
func (b *browser) value(id string) string {
	b.t.Helper()
	return read(b, chromedp.Value(chromedp.ID(id)))
}
