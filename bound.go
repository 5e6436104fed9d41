package snip

// Bounds of what a person may ask for.
const (
	MaxTitle          = 500  // Characters of a title.
	MaxNote           = 5000 // Characters of a note.
	MaxTag            = 50   // Characters of a tag.
	MaxTags           = 50   // Tags of a link.
	MaxAliases        = 20   // Aliases of a link.
	MaxPassword       = 256  // Bytes of a password.
	MaxClickLimit     = 1_000_000_000
	MaxRules          = 20 // Rules of a link.
	MaxArms           = 20 // Arms of a split.
	MaxWeight         = 1_000_000
	MaxValuesOfRule   = 50            // Values of one condition.
	MaxParameter      = 100           // Characters of the name or a value of a parameter in a rule.
	MaxRuleTargets    = 4 * MaxTarget // Bytes of the targets of all rules of a link together.
	MaxName           = 50            // Characters of the name of a rule or an arm.
	MaxCampaign       = 100           // Characters of each campaign parameter.
	MaxSearch         = 200           // Characters of a search.
	MaxPage           = 1000          // Links of a page.
	MaxBulk           = 1000          // Links of one bulk action.
	MaxIdempotencyKey = 255           // Bytes.
	MaxContact        = 200           // Characters of whom to ask about a key.
	MaxCursor         = 2000          // Bytes of the cursor of a list.
	MaxDomains        = 1000          // Of an instance.
)
