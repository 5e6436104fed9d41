package queuetest

import "snip/queue"

// AppliesTo tells whether the engine claims what the rule is about. It asks the engine's
// Caps and its methods' names alone, so that one that was not opened will do.
func (c Case) AppliesTo(e queue.LogEngine) bool { return c.needs == nil || c.needs(e) }

// AppliesTo tells whether the engine claims what the rule is about. It asks the engine's
// Caps and its methods' names alone, so that one that was not opened will do.
func (c TaskCase) AppliesTo(e queue.TaskEngine) bool { return c.needs == nil || c.needs(e) }
