package snip

import "time"

// Rule leads some visitors elsewhere. Its JSON is that of the API and of the store.
type Rule struct {
	// Name stands for the rule in statistics; "rule 1" for the first one that has none.
	Name string `json:"name,omitempty"`
	// When says whom it is for. Without any condition it is for everybody.
	When Conditions `json:"when,omitzero"`
	// Target is where it leads. Either it or Split is set.
	Target string `json:"url,omitempty"`
	// Split shares visitors out. One visitor stays on one arm for as long as the arms
	// stay as they are.
	Split []Arm `json:"split,omitempty"`
}

// Arm is one of the targets that visitors are shared out to.
type Arm struct {
	Name   string `json:"name,omitempty"` // In statistics; "arm 1" for the first one that has none, after the rule's name.
	Target string `json:"url"`
	Weight int    `json:"weight"` // Its share of the sum of all weights. 0 to MaxWeight.
}

// Conditions are what must be so of a visit, all of those that are set.
type Conditions struct {
	Devices   []string `json:"devices,omitempty"`   // One of: desktop, phone, tablet, tv, other.
	Systems   []string `json:"systems,omitempty"`   // One of those that statistics know, such as iOS. Case does not matter.
	Languages []string `json:"languages,omitempty"` // The one that the visitor likes best is one of these: de for any German, pt-BR for that one.
	Countries []string `json:"countries,omitempty"` // ISO 3166-1, such as DE.
	// Query holds parameters that the visitor brings, with one of the values named; with
	// none named any value does.
	Query map[string][]string `json:"query,omitempty"`
	From  time.Time           `json:"from,omitzero"`  // From then on. Zero: from ever.
	Until time.Time           `json:"until,omitzero"` // Before then. Zero: for ever.
}
