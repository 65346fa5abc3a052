package process

// What tests of single parts need.
var (
	ParseStat       = func(b []byte) error { _, err := parseStat(b); return err }
	AllowedChildren = allowedChildren
	SplitHome       = splitHome
	Filter          = filter
	Connect         = connect
)
