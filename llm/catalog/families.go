package catalog

import (
	"regexp"
	"strings"
)

// families map models that are newer than the catalogue to a known model with
// the same parameters. Sizes and prices are not derived.
var families = []struct {
	name *regexp.Regexp // of the unknown model, without prefixes
	like string
}{
	{regexp.MustCompile(`^gpt-5[.-]`), "gpt-5.6"},
	{regexp.MustCompile(`^gpt-[6-9]`), "gpt-6"},
	{regexp.MustCompile(`^codex-mini`), "codex-mini-latest"},
	{regexp.MustCompile(`^o[1-9]\b`), "o3"},
	{regexp.MustCompile(`^claude-[a-z]+-([5-9]|\d\d)\b`), "claude-opus-5-5"},
}

// familyException is a model that shares its family's prefix, but not its
// parameters.
const familyException = "gpt-5-chat"

// fromFamily describes an unknown model by its family, or returns nil.
func (c *Catalog) fromFamily(name string) *Entry {
	n := fold(name[strings.LastIndexByte(name, '/')+1:])
	if strings.HasPrefix(n, familyException) {
		return nil
	}
	for _, k := range families {
		if !k.name.MatchString(n) {
			continue
		}
		e := c.find(fold(k.like))
		if e == nil {
			return nil
		}
		like := *e
		like.Price, like.Context, like.MaxOutput = nil, 0, 0
		return &like
	}
	return nil
}
