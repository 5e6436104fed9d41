package main

import (
	"runtime/debug"
	"strings"
)

// garbagePercent is how much garbage may come together before it is collected, in
// percent of what is alive, as GOGC has it. Snip keeps some 2 MB alive, and a second of
// many redirects leaves 50 MB behind: by the runtime's own 100 it would collect 20
// times in it. With 400 the heap has 16 MB instead of 4.
const garbagePercent = 400

// tuneCollector sets it, unless the environment says what the runtime shall do.
func tuneCollector(environ []string) {
	for _, variable := range environ {
		if strings.HasPrefix(variable, "GOGC=") || strings.HasPrefix(variable, "GOMEMLIMIT=") {
			return
		}
	}
	debug.SetGCPercent(garbagePercent)
}
