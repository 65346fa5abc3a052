package tool

import (
	"slices"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool/files"
)

// Registration is all that Deft knows of a tool. Presets, catalogues and executors
// derive what they need from it. [Register] takes it.
type Registration struct {
	// Name is the name by which agents ask for the tool.
	Name string
	// Description is a sentence for people who choose the tools of an agent; nobody can
	// choose a tool without one.
	Description string
	// OfPreset tools are chosen with a preset, not one by one.
	OfPreset bool
	// Sets are the agents that have the tool unless they choose their tools.
	Sets Sets
	// Shown words the tool's calls for people.
	Shown Shown
	// Definition returns the definition for a model, nil for a model that is not offered
	// the tool. It is nil for a tool that package session/build defines from the
	// conversation.
	Definition func(Model) *Definition
	// Set returns the definitions of a registration that brings several tools, which have one
	// executor; it has neither Definition nor Shown. SetShown words their calls.
	Set      func() []*Definition
	SetShown []Shown
	// Kinds are kinds of actions that the executor takes beside the tools', which models are not offered.
	Kinds []string
	// New makes the executor where the tool has an effect, in the sandbox; nil for a tool
	// that is Local, or whose executor package executor/standard configures.
	New func(Place) (Executor, error)
	// Local makes the executor that runs beside the controller; nil for none.
	Local func(Beside) Executor
}

// Definitions returns the definitions of the registration's tools for a model; none where it is
// not offered them, or they depend on the conversation.
func (r Registration) Definitions(m Model) []*Definition {
	if r.Set != nil {
		return r.Set()
	}
	if r.Definition == nil {
		return nil
	}
	if d := r.Definition(m); d != nil {
		return []*Definition{d}
	}
	return nil
}

// Words returns the words for the calls of the registration's tools.
func (r Registration) Words() []Shown {
	if r.Shown.Action == "" {
		return r.SetShown
	}
	return append([]Shown{r.Shown}, r.SetShown...)
}

// Sets are sets of tools.
type Sets uint8

// The sets.
const (
	Standard Sets = 1 << iota // of agents of the servers' settings
	Terminal                  // of deft run
	Included                  // of all agents, beside the tools that they choose
	GPT5                      // of the preset gpt5
	Gemini                    // of the preset gemini
	Planning                  // of the preset planning
)

// The presets of tools by which agents can be made for a family of models (docs/openhands/tools.md
// section 4).
const (
	DefaultPreset  = "default"
	GPT5Preset     = "gpt5"
	GeminiPreset   = "gemini"
	PlanningPreset = "planning"
)

// PlanFile is the plan of an agent that plans, in its workspace, and PlanEditor the name of the tool that
// writes it.
const (
	PlanFile   = ".agents_tmp/PLAN.md"
	PlanEditor = "planning_file_editor"
)

// Preset returns the set of a preset; usual is the set of the default one, and of "".
func Preset(name string, usual Sets) (Sets, bool) {
	set, ok := map[string]Sets{"": usual, DefaultPreset: usual, GPT5Preset: GPT5, GeminiPreset: Gemini, PlanningPreset: Planning}[name]
	return set, ok
}

// Has reports whether one of the sets is in s.
func (s Sets) Has(one Sets) bool { return s&one != 0 }

// Shown words the calls of a tool in the terminal and in the web app. Without it, they show
// the tool's name.
type Shown struct {
	// Action is the kind of the calls' action events, such as "GlobAction".
	Action string
	Deed
	// Commands word the calls whose argument "command" has such a value.
	Commands map[string]Deed
	// Subjects are arguments; the first one of a call is its subject, such as "pattern".
	Subjects []string
}

// Deed is the effect of a call in words.
type Deed struct {
	Verb  string // "Find files"
	Class string // one of the DeedClasses
}

// DeedClasses are the classes of deeds: the web app has an icon for each, and counts the
// deeds of a class.
var DeedClasses = []string{"command", "read", "change", "search", "plan", "look", "task", "skill", "model"}

// ShownAs returns the words for the calls with a kind of action, of registered tools.
func ShownAs(action string) (Shown, bool) {
	for _, r := range Registered() {
		for _, s := range r.Words() {
			if s.Action == action && action != "" {
				return s, true
			}
		}
	}
	return Shown{}, false
}

// Of returns the deed of a call with this argument "command", which may be empty.
func (s Shown) Of(command string) Deed {
	if d, ok := s.Commands[command]; ok {
		return d
	}
	return s.Deed
}

// Model is what a definition may depend on.
type Model struct {
	Name   string // with its provider
	Vision bool   // it takes images
}

// Place is where an executor works.
type Place struct {
	Workspace string
	// Files are the files there; tools that change some share their locks and their undo.
	Files *files.Files
	// Scratch is a directory for results that do not fit into an event.
	Scratch string
	Env     []string // of commands
	// Command changes how programs are started; nil for the ordinary way.
	Command func(path string, args []string) (string, []string)
	// Isolated says that it is a sandbox.
	Isolated bool
}

// Beside is what an executor beside the controller works with.
type Beside struct {
	Tasks func() []event.TaskItem // the list of the task tracker
}

var registered struct {
	sync.Mutex
	all []Registration
}

// Register adds tools. It is for init functions: of package tool/builtin, and of packages
// that are linked in. A tool of the same name is replaced.
func Register(all ...Registration) {
	registered.Lock()
	defer registered.Unlock()
	for _, r := range all {
		i := slices.IndexFunc(registered.all, func(had Registration) bool { return had.Name == r.Name })
		if i >= 0 {
			registered.all[i] = r
		} else {
			registered.all = append(registered.all, r)
		}
	}
}

// Registered returns all tools in the order of their registration, which is the order in
// which models see them.
func Registered() []Registration {
	registered.Lock()
	defer registered.Unlock()
	return slices.Clone(registered.all)
}

// InSet returns the names of the registered tools of a set.
func InSet(set Sets) (names []string) {
	for _, r := range Registered() {
		if r.Sets.Has(set) {
			names = append(names, r.Name)
		}
	}
	return names
}
