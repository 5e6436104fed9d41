package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snip/queue"
	"snip/queue/engine"
	"snip/queue/engine/memory"
	"snip/queue/engine/postgres"
	"snip/queue/engine/sqlite"
	"snip/queue/queuetest"
)

// engines are all there are. None is opened: what they claim is data.
var engines = []engine.Engine{new(memory.Engine), new(sqlite.Engine), new(postgres.Engine)}

// TestSemanticsAreWritten holds docs/semantics.md to what the engines claim and the
// conformance suite checks. To write it anew: SNIP_WRITE=1 go test ./queue/engine
func TestSemanticsAreWritten(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "semantics.md")
	want := semantics()
	if os.Getenv("SNIP_WRITE") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s does not say what the engines claim and the suite checks; write it anew with SNIP_WRITE=1", path)
	}
}

func semantics() string {
	var b strings.Builder
	b.WriteString(`# What each engine keeps

Written by a test from what the engines claim (` + "`queue.Caps`" + `) and from the rules of the conformance suite ([` + "`queue/queuetest`" + `](../queue/queuetest)), which holds every engine to all it claims. What an engine does not claim is refused at start, with an error that names it; nothing is put in its place in silence. What is guaranteed on top of the engines is in ` + "`go doc snip/queue`" + `.

## Claims

`)
	row(&b, "", func(e engine.Engine) string { return e.Caps().Engine })
	row(&b, "---", func(engine.Engine) string { return "---" })
	row(&b, "What was taken survives a", func(e engine.Engine) string { return survives(e.Caps().Durability) })
	row(&b, "Other processes share it", func(e engine.Engine) string { return yes(e.Caps().Shared) })
	row(&b, "**Tasks**: largest", func(e engine.Engine) string { return size(e.Caps().MaxTaskBytes) })
	row(&b, "Bound of a queue", func(e engine.Engine) string { return bound(e.Caps().ExactTasks, e.Caps().TasksOvershoot) })
	row(&b, "Push in a transaction of SQL", func(e engine.Engine) string {
		_, ok := e.(queue.TxPusher)
		return yes(ok)
	})
	row(&b, "**Logs**: largest batch", func(e engine.Engine) string { return size(e.Caps().MaxBatchBytes) })
	row(&b, "Bound of a topic", func(e engine.Engine) string { return bound(e.Caps().ExactBound, e.Caps().Overshoot) })
	row(&b, "Numbers of segments are remembered for", func(e engine.Engine) string { return remembered(e.Caps()) })

	b.WriteString("\n## Rules of task queues\n\n")
	row(&b, "rule", func(e engine.Engine) string { return e.Caps().Engine })
	row(&b, "---", func(engine.Engine) string { return "---" })
	for _, c := range queuetest.TaskCases() {
		row(&b, c.Rule+" `"+c.Name+"`", func(e engine.Engine) string { return yes(c.AppliesTo(e)) })
	}
	b.WriteString("\n## Rules of logs\n\n")
	row(&b, "rule", func(e engine.Engine) string { return e.Caps().Engine })
	row(&b, "---", func(engine.Engine) string { return "---" })
	for _, c := range queuetest.Cases() {
		row(&b, c.Rule+" `"+c.Name+"`", func(e engine.Engine) string { return yes(c.AppliesTo(e)) })
	}
	return b.String()
}

func row(b *strings.Builder, what string, cell func(engine.Engine) string) {
	fmt.Fprintf(b, "| %s |", what)
	for _, e := range engines {
		fmt.Fprintf(b, " %s |", cell(e))
	}
	b.WriteByte('\n')
}

func survives(d queue.Durability) string {
	if d == queue.DurableNothing {
		return "nothing: it is gone with the process"
	}
	return d.String()
}

func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "–"
}

func size(bytes int) string { return fmt.Sprintf("%d MiB", bytes>>20) }

func bound(exact bool, overshoot string) string {
	if exact {
		return "exact"
	}
	return "passed by at most " + overshoot
}

func remembered(c queue.Caps) string {
	switch {
	case !c.Sequences:
		return "–"
	case c.SegmentMemory > 100*365*24*time.Hour:
		return "ever"
	}
	return fmt.Sprintf("%d days", c.SegmentMemory/(24*time.Hour))
}
