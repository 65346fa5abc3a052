package codeact

import (
	"embed"
	"strings"
	"time"

	"github.com/deft-dev/deft/internal/memo"
	"github.com/deft-dev/deft/tool"
)

//go:embed sections/*.md
var sections embed.FS

// Prompt is the configurable part of the system prompt
// (docs/openhands/tools.md section 5).
type Prompt struct {
	// Verbatim replaces all sections; only the tools' guidance follows it.
	Verbatim string
	// Persona replaces the sections that say who the agent is and how it
	// works; policy, risk and tool guidance stay.
	Persona string
	// SecurityPolicy replaces the body of the SECURITY section, and NoPolicy
	// leaves that out.
	SecurityPolicy string
	NoPolicy       bool
	// NoRisk leaves out how to rate the risk of a call.
	NoRisk bool
	// RepoContext is text of the workspace (AGENTS.md), by file name. It is
	// marked as untrusted.
	RepoContext []RepoFile
	// Suffix is added to the dynamic block as it is.
	Suffix string
	// Secrets are the names that commands may use as environment variables,
	// with their descriptions.
	Secrets map[string]string
	// Now is the current time in the prompt; the zero time is left out.
	Now time.Time
}

// RepoFile is a file whose text goes into the prompt.
type RepoFile struct{ Name, Text string }

// section is a tagged block of the static prompt. The sections of the identity
// give way to a persona.
type section struct {
	tag, file string
	identity  bool
}

var staticSections = []section{
	{"SOUL", "soul", true},
	{"ROLE", "role", true},
	{"MEMORY", "memory", false},
	{"EFFICIENCY", "efficiency", true},
	{"FILE_SYSTEM_GUIDELINES", "files", true},
	{"CODE_QUALITY", "quality", true},
	{"VERSION_CONTROL", "vcs", true},
	{"PULL_REQUESTS", "pulls", true},
	{"PROBLEM_SOLVING_WORKFLOW", "workflow", true},
	{"SECURITY", "security", false},
	{"SECURITY_RISK_ASSESSMENT", "risk", false},
	{"", "", false}, // where the tools' guidance stands
	{"EXTERNAL_SERVICES", "external", false},
	{"ENVIRONMENT_SETUP", "setup", true},
	{"TROUBLESHOOTING", "trouble", true},
	{"PROCESS_MANAGEMENT", "processes", false},
}

// The tags of the dynamic block.
const (
	repoContext   = "REPO_CONTEXT"
	untrusted     = "UNTRUSTED_CONTENT"
	customSecrets = "CUSTOM_SECRETS"
	currentTime   = "CURRENT_DATETIME"
)

// static is the same for all conversations of one configuration, so that
// providers can cache it.
func (p Prompt) static(tools *tool.Set) string {
	guidance := tools.Guidance()
	switch {
	case p.Verbatim != "":
		return strings.Join(append([]string{p.Verbatim}, guidance...), "\n\n")
	case p.Persona != "" || p.SecurityPolicy != "":
		return p.fixed(guidance)
	}
	key := usualPrompt{p.NoPolicy, p.NoRisk, strings.Join(guidance, "\n\n")}
	text, _ := usualPrompts.Get(key, func() (string, error) { return p.fixed(guidance), nil })
	return text
}

// usualPrompt is the cache key of a static prompt without parts written by the
// user; the conversations of a server share the text.
type usualPrompt struct {
	noPolicy, noRisk bool
	guidance         string
}

var usualPrompts = memo.New[usualPrompt, string](16)

// fixed puts the sections together.
func (p Prompt) fixed(guidance []string) string {
	var blocks []string
	if p.Persona != "" {
		blocks = append(blocks, strings.TrimSpace(p.Persona))
	}
	for _, s := range staticSections {
		switch {
		case s.tag == "":
			blocks = append(blocks, guidance...)
		case s.identity && p.Persona != "":
		case s.file == "risk" && p.NoRisk:
		case s.file == "security" && p.NoPolicy:
		case s.file == "security" && p.SecurityPolicy != "":
			blocks = append(blocks, tagged(s.tag, p.SecurityPolicy))
		default:
			blocks = append(blocks, tagged(s.tag, text(s.file)))
		}
	}
	return strings.Join(blocks, "\n\n")
}

// dynamic is the part of the prompt that only this conversation has.
func (p Prompt) dynamic() string {
	var blocks []string
	if len(p.RepoContext) > 0 {
		var b strings.Builder
		b.WriteString(text("repo") + "\n<" + untrusted + ">\n")
		for _, f := range p.RepoContext {
			b.WriteString("[" + neutral(f.Name) + "]\n" + neutral(f.Text) + "\n")
		}
		b.WriteString("</" + untrusted + ">")
		blocks = append(blocks, tagged(repoContext, b.String()))
	}
	if p.Suffix != "" {
		blocks = append(blocks, p.Suffix)
	}
	if len(p.Secrets) > 0 {
		blocks = append(blocks, tagged(customSecrets, text("secrets")+"\n"+secretList(p.Secrets)))
	}
	if !p.Now.IsZero() {
		blocks = append(blocks, tagged(currentTime, p.Now.Format("2006-01-02T15:04")))
	}
	return strings.Join(blocks, "\n\n")
}

func tagged(tag, body string) string {
	return "<" + tag + ">\n" + strings.TrimSpace(body) + "\n</" + tag + ">"
}

// text reads a section; a missing file is a defect that the package's tests
// find.
func text(name string) string {
	b, err := sections.ReadFile("sections/" + name + ".md")
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(b))
}
