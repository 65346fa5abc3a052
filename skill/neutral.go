package skill

import (
	"strings"
	"unicode"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// Sections are the tags of the blocks of system prompts and of text that is added to messages. A
// test of agent/codeact holds them against its prompt.
var Sections = []string{
	"SOUL", "ROLE", "MEMORY", "EFFICIENCY", "FILE_SYSTEM_GUIDELINES", "CODE_QUALITY", "VERSION_CONTROL", "PULL_REQUESTS",
	"PROBLEM_SOLVING_WORKFLOW", "SECURITY", "SECURITY_RISK_ASSESSMENT", "SHELL", "EXTERNAL_SERVICES", "ENVIRONMENT_SETUP",
	"TROUBLESHOOTING", "PROCESS_MANAGEMENT", "REPO_CONTEXT", "MEMORY_CONTEXT", "CUSTOM_SECRETS", "CURRENT_DATETIME", "SKILLS", "EXTRA_INFO",
	"REPOSITORY_INFO", "RUNTIME_INFORMATION", "IMPORTANT", "PLANNING_PRINCIPLES", "PLANNING_WORKFLOW", "PLAN_SCOPE", "PLAN_STRUCTURE",
}

// marker finds the name of the block that marks untrusted text, however it is
// written: a model does not read tags as strictly as a parser does.
var marker = lazyregexp.New(`(?i)(untrusted)[\s_\-.]*(content)`)

// ownTag finds text that could be read as the beginning or the end of a section of
// the prompt.
var ownTag = lazyregexp.New(`(?i)[<＜‹〈](\s*[/\\]?\s*(?:` + strings.Join(Sections, "|") + `)\b)`)

// maxLine bounds a line of untrusted text, in characters.
const maxLine = 300

// Line makes untrusted text, such as the name of a branch, one short line that no reader takes for
// a part of the prompt.
func Line(s string) string {
	s = strings.Join(strings.Fields(neutral(s)), " ")
	if r := []rune(s); len(r) > maxLine {
		s = string(r[:maxLine]) + "…"
	}
	return s
}

// Neutral returns untrusted text that cannot end the block that marks it.
func Neutral(s string) string { return neutral(s) }

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
