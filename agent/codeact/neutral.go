package codeact

import (
	"strings"
	"unicode"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// marker finds the name of the block that marks untrusted text, however it is
// written: a model does not read tags as strictly as a parser does.
var marker = lazyregexp.New(`(?i)(untrusted)[\s_\-.]*(content)`)

// ownTag finds text that could be read as the beginning or the end of a section of
// the prompt.
var ownTag = lazyregexp.New(`(?i)[<＜‹〈](\s*[/\\]?\s*(?:` + strings.Join(sectionTags(), "|") + `)\b)`)

func sectionTags() []string {
	tags := []string{repoContext, customSecrets, currentTime}
	for _, s := range staticSections {
		if s.tag != "" {
			tags = append(tags, s.tag)
		}
	}
	return tags
}

// neutral keeps a hostile file from closing the block that marks it, or from
// looking like a section of the prompt. It also drops invisible
// characters: they serve to hide words from people, or tags from filters.
func neutral(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || r != '\n' && r != '\t' && r != '\r' && unicode.IsControl(r) {
			return -1
		}
		if unicode.IsSpace(r) && r > unicode.MaxASCII {
			return ' '
		}
		return r
	}, s)
	s = marker().ReplaceAllString(s, "$1 ($2)")
	return ownTag().ReplaceAllString(s, "($1")
}
