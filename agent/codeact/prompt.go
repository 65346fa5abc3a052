package codeact

import (
	"cmp"
	"embed"
	"strings"
	"time"

	"github.com/deft-dev/deft/internal/memo"
	"github.com/deft-dev/deft/skill"
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
	// MemoryFiles says that there are some, and the tool that changes them.
	MemoryFiles bool
	// Model is the name of the LLM: some families have a section of their own.
	Model string
	// Planning makes it the prompt of an agent that plans and changes nothing. PlanStructure
	// says how the plan is structured; "" is the usual way.
	Planning      bool
	PlanStructure string
	// Suffix is added to the dynamic block as it is.
	Suffix string
	// Secrets are the names that commands may use as environment variables,
	// with their descriptions.
	Secrets map[string]string
	// Place is where the agent works.
	Place Place
	// Now is the current time in the prompt; the zero time is left out.
	Now time.Time
}

// Place is where an agent works. Empty fields are left out. The names of a repository are a
// stranger's text.
type Place struct {
	Repository, Branch string
	Directory          string // the working directory
	Sandbox            string // where commands run
	Network            string // which hosts commands reach
}

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

// planStructure is the tag of the section that only prompts of agents that plan have.
const planStructure = "PLAN_STRUCTURE"

// important is the tag of the section for a family of models.
const important = "IMPORTANT"

// families are the models with a section of their own, the first that a name contains.
var families = []struct{ part, with, file string }{
	{"claude", "", "important_claude"},
	{"gemini", "", "important_gemini"},
	{"gpt-5", "codex", "important_gpt5codex"},
	{"gpt-5", "", "important_gpt5"},
}

// familyFile returns the file of the section for a model, "" for none.
func familyFile(model string) string {
	model = strings.ToLower(model)
	for _, f := range families {
		if strings.Contains(model, f.part) && strings.Contains(model, f.with) {
			return f.file
		}
	}
	return ""
}

// The tags of the dynamic block.
const (
	repositoryInfo     = "REPOSITORY_INFO"
	runtimeInformation = "RUNTIME_INFORMATION"

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
	case p.Planning:
		return p.planning()
	case p.Persona != "" || p.SecurityPolicy != "":
		return p.fixed(guidance)
	}
	key := usualPrompt{p.NoPolicy, p.NoRisk, p.MemoryFiles, familyFile(p.Model), strings.Join(guidance, "\n\n")}
	text, _ := usualPrompts.Get(key, func() (string, error) { return p.fixed(guidance), nil })
	return text
}

// usualPrompt is the cache key of a static prompt without parts written by the
// user; the conversations of a server share the text.
type usualPrompt struct {
	noPolicy, noRisk bool
	memoryFiles      bool
	family, guidance string
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
		case s.file == "memory" && p.MemoryFiles:
			blocks = append(blocks, tagged(s.tag, text("memory_files")))
		case s.file == "security" && p.SecurityPolicy != "":
			blocks = append(blocks, tagged(s.tag, p.SecurityPolicy))
		default:
			blocks = append(blocks, tagged(s.tag, text(s.file)))
		}
	}
	if file := familyFile(p.Model); file != "" {
		blocks = append(blocks, tagged(important, text(file)))
	}
	return strings.Join(blocks, "\n\n")
}

// planning is the prompt of an agent that plans.
func (p Prompt) planning() string {
	blocks := []string{text("planning"), tagged(planStructure, cmp.Or(strings.TrimSpace(p.PlanStructure), text("plan")))}
	if p.Persona != "" {
		blocks = append([]string{strings.TrimSpace(p.Persona)}, blocks...)
	}
	return strings.Join(blocks, "\n\n")
}

// dynamic is the part of the prompt that only this conversation has.
func (p Prompt) dynamic() string {
	var blocks []string
	if p.Suffix != "" {
		blocks = append(blocks, p.Suffix)
	}
	blocks = append(blocks, p.Place.blocks()...)
	if len(p.Secrets) > 0 {
		blocks = append(blocks, tagged(customSecrets, text("secrets")+"\n"+secretList(p.Secrets)))
	}
	if !p.Now.IsZero() {
		blocks = append(blocks, tagged(currentTime, p.Now.Format("2006-01-02T15:04")))
	}
	return strings.Join(blocks, "\n\n")
}

// blocks are the sections about a place.
func (p Place) blocks() (all []string) {
	add := func(tag string, lines ...[2]string) {
		var known []string
		for _, l := range lines {
			if value := skill.Line(l[1]); value != "" {
				known = append(known, l[0]+": "+value)
			}
		}
		if len(known) > 0 {
			all = append(all, tagged(tag, strings.Join(known, "\n")))
		}
	}
	add(repositoryInfo, [2]string{"Repository", p.Repository}, [2]string{"Branch", p.Branch})
	add(runtimeInformation, [2]string{"Working directory", p.Directory}, [2]string{"Commands run in", p.Sandbox},
		[2]string{"Hosts that commands reach", p.Network})
	return all
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
