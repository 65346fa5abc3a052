package session

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/rawjson"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/subagent"
)

// Repository names a repository and its branch; both are a stranger's text.
type Repository struct {
	Name   string `json:"name"`
	Branch string `json:"branch,omitempty"`
}

// Spec says what a new conversation is made from. Agent and
// Workspace.WorkingDir are required; the rest has defaults, see
// [DefaultSetup].
type Spec struct {
	// ID is the id of the conversation; empty for a new one.
	ID     event.ConversationID
	Owner  identity.Tenant // identity.LocalTenant if empty
	Parent event.ConversationID
	Title  string
	Tags   map[string]string
	Setup
	Agent *spec.Agent
	// Profile describes the saved agent profile that Agent came from; nil for
	// none.
	Profile json.RawMessage
	// Secrets are the sources of secrets by name, in the form that
	// secret.ParseMap reads. SecretRefs, unless nil, are the only names that
	// are taken over.
	Secrets    map[string]json.RawMessage
	SecretRefs []string
	// SecretsSealed says that values in Secrets which look sealed are, and are to be
	// opened.
	SecretsSealed bool
	// Worktree asks for a Git worktree of the working directory; nil for none.
	Worktree *WorktreeOptions
	Placement
	// Repository is the one that was cloned for the conversation, for its prompt.
	Repository Repository
	// MaxCost bounds what the conversation may cost, in US dollars; 0 for no
	// limit.
	MaxCost float64
	// OwnersModel says that the model is the one of the owner's settings: after a run that a
	// model has failed, the next one takes it from there as it is then.
	OwnersModel bool
	// Warnings name what was asked for and is not available; they are recorded
	// in the conversation.
	Warnings []string
	// Note is kept with the conversation for the program that makes it: how it
	// chose the models, for example. It must hold no secret. Other programs
	// leave it as it is.
	Note json.RawMessage
	// Agents are those to which the agent can give tasks, before those of the same name that
	// are found.
	Agents []subagent.Definition
	// ProjectHooks are the hooks of the project's file that the user has allowed, for a Manager without
	// Permissions; nil for none.
	ProjectHooks *AllowedHooks
	// Asked says what of the project the user was asked about, and is again when the conversation continues.
	Asked Asked
	// AllowedAgents are hashes ([permission.Sum]) of the programs of the project's agents that the user has
	// allowed, for a Manager without Permissions.
	AllowedAgents []string
	// Plugins names the plugins that Agent, Agents and hooks come from. NoPlugins leaves out
	// the user's.
	Plugins   []string
	NoPlugins bool
	// Organisation are the skills of the organisation whose repository the conversation works on.
	// The repository's own come before them, the user's after them.
	Organisation []skill.Skill
	// SetUp runs the project's scripts, .openhands/setup.sh and pre-commit.sh, before the first
	// message.
	SetUp bool
	// AskSetUp asks the owner about the scripts, and runs them before the next message once they are
	// allowed; for a Manager with Permissions.
	AskSetUp bool
	// Message, unless nil, is sent when the conversation has been made, and
	// the conversation runs.
	Message *Message
}

// Asked says what of a project its user is asked about.
type Asked struct {
	// Hooks are the hooks of the project's file.
	Hooks bool `json:"hooks,omitempty"`
	// Servers are the MCP servers of the project's files; Allowed are the names of the allowed ones.
	Servers bool     `json:"servers,omitempty"`
	Allowed []string `json:"allowed_servers,omitempty"`
}

// Common is the part of a [Setup] that all descriptions of a conversation show.
// JSON names are those of OpenHands (docs/openhands/sdk-wire.md section 5.1).
type Common struct {
	Workspace Workspace `json:"workspace"`
	// MaxIterations bounds the steps of one run.
	MaxIterations  int  `json:"max_iterations"`
	StuckDetection bool `json:"stuck_detection"`
	// Policy says when actions wait for the user, Analyzer how their risk is
	// rated; see package security.
	Policy     json.RawMessage `json:"confirmation_policy"`
	Analyzer   json.RawMessage `json:"security_analyzer,omitempty"`
	HookConfig json.RawMessage `json:"hook_config,omitempty"`
}

// Confirm takes over a preset's policy and analyzer.
func (c *Common) Confirm(p security.Preset) { c.Policy, c.Analyzer = p.Policy(), p.Analyzer() }

// AddHooks adds hooks behind those that are there, and none twice.
func (c *Common) AddHooks(more *hook.Config) error {
	if more.Empty() {
		return nil
	}
	own, err := hook.Parse(rawjson.Or(c.HookConfig, null))
	if err != nil {
		return err
	}
	c.HookConfig, err = json.Marshal(hook.Merge(own, without(more, own)))
	return err
}

// AddPlugins adds skills, commands, MCP servers, agents and hooks of plugins, which stay with
// the conversation. Agents that the specification has already stay. It has the errors of
// [plugin.AddTo].
func (s *Spec) AddPlugins(all []plugin.Plugin) error {
	added, err := plugin.AddTo(s.Agent, all)
	if err != nil {
		return err
	}
	s.Agent, s.Warnings = added.Agent, append(s.Warnings, added.Warnings...)
	for _, name := range added.Names {
		if !slices.Contains(s.Plugins, name) {
			s.Plugins = append(s.Plugins, name)
		}
	}
	for _, d := range added.Agents {
		if !slices.ContainsFunc(s.Agents, func(own subagent.Definition) bool { return own.Name == d.Name }) {
			s.Agents = append(s.Agents, d)
		}
	}
	return s.AddHooks(added.Hooks)
}

// Setup is what the starter of a conversation chooses beside its agent. A start
// request has these fields, they are stored, and descriptions show them.
type Setup struct {
	Common
	ClientTools []json.RawMessage `json:"client_tools,omitempty"`
	// ToolModules are Python modules that clients load to read the events of
	// the agent's tools, by tool.
	ToolModules map[string]string `json:"tool_module_qualnames,omitempty"`
	UserID      string            `json:"user_id,omitempty"`
	// Autotitle has a model write the title after the first turn, with
	// TitleProfile's LLM or the agent's, and TitlePrompt or the built-in one.
	Autotitle    bool   `json:"autotitle"`
	TitleProfile string `json:"title_llm_profile,omitempty"`
	TitlePrompt  string `json:"prompt,omitempty"`
}

// DefaultSetup is the Setup of a conversation whose starter chooses nothing.
func DefaultSetup() Setup {
	return Setup{
		Common: Common{
			MaxIterations: 500, StuckDetection: true, Policy: security.Never.Policy(),
		},
		Autotitle: true,
	}
}

// Workspace is the directory where a conversation works.
type Workspace struct {
	WorkingDir string `json:"working_dir"`
	Kind       string `json:"kind"` // "LocalWorkspace"
}

// dir is the workspace's directory, absolute.
func (w Workspace) dir() (string, error) { return filepath.Abs(w.WorkingDir) }

// Placement names the registered classes that a conversation is built with, and
// how it is isolated. Empty fields stand for the defaults of the program that
// runs it.
type Placement struct {
	AgentClass    string `json:"agent_cls,omitempty"`
	RuntimeClass  string `json:"runtime_cls,omitempty"`
	SandboxClass  string `json:"sandbox_cls,omitempty"`
	ExecutorClass string `json:"executor_cls,omitempty"`
	// Isolation is the level of isolation that the sandbox is to have, in the
	// words of its class.
	Isolation string `json:"isolation,omitempty"`
	// Network says what commands may reach.
	Network sandbox.Network `json:"network,omitempty"`
	// Limits bound what the sandbox uses.
	Limits sandbox.Limits `json:"limits,omitzero"`
	// Container is what the sandbox has if its class is one of containers.
	Container sandbox.Container `json:"container,omitzero"`
	// Env are variables, as NAME=VALUE, that commands get beside those of the
	// builder. They are stored as they are: no secret may be among them.
	Env []string `json:"env,omitempty"`
	// SecretEnv names the conversation's secrets that all commands get; they get
	// the others only if they name them.
	SecretEnv []string `json:"secret_env,omitempty"`
	// Readable and Writable are directories outside the workspace that the user
	// grants to commands, absolute and without links.
	Readable []string `json:"readable,omitempty"`
	Writable []string `json:"writable,omitempty"`
}

// WorktreeOptions say what the Git worktree of a conversation starts from.
type WorktreeOptions struct {
	Base         string  `json:"base"` // "default_branch" or "", "head" or "ref"
	Ref          *string `json:"ref"`
	BranchPrefix *string `json:"branch_prefix"`
}

// Message is what a user sends (docs/openhands/sdk-wire.md section 4.1).
type Message struct {
	// ID is the id of its event; "" for a new one. A message whose event is stored already is
	// not sent again.
	ID      event.ID                  `json:"-"`
	Role    event.Role                `json:"role"`
	Content event.List[event.Content] `json:"content"`
	// Run starts a run, or has the present one answer.
	Run    bool   `json:"run"`
	Sender string `json:"sender"`
}

// record is what a conversation was made with, as it is stored beside its
// events: secrets are sealed. Values that state updates set later (policy,
// analyzer) are in the events and take precedence.
type record struct {
	Setup
	Placement
	Repository  Repository            `json:"repository,omitzero"`
	MaxCost     float64               `json:"max_cost,omitempty"`
	Given       float64               `json:"given,omitempty"` // of MaxCost, to conversations that the agent has started
	OwnersModel bool                  `json:"owners_model,omitempty"`
	Warnings    []string              `json:"warnings,omitempty"`
	Worktree    string                `json:"worktree,omitempty"` // root of the worktree made for it
	Origin      string                `json:"origin,omitempty"`   // the directory of which Worktree was made
	Directory   workspacedir.Identity `json:"directory,omitzero"` // what Workspace.WorkingDir was
	// SealedAnalyzer is the security analyzer with the keys of its services; "" if it has none.
	SealedAnalyzer string                 `json:"sealed_security_analyzer,omitempty"`
	Agent          json.RawMessage        `json:"agent"`
	Secrets        json.RawMessage        `json:"secrets,omitempty"` // sources by name
	SecretRefs     []string               `json:"secret_refs,omitempty"`
	Profile        json.RawMessage        `json:"launched_agent_profile,omitempty"`
	Children       []event.ConversationID `json:"sub_conversation_ids,omitempty"`
	Agents         []subagent.Definition  `json:"agent_definitions,omitempty"`
	AgentServers   json.RawMessage        `json:"agent_definition_servers,omitempty"` // of Agents, by name
	AllowedAgents  []string               `json:"allowed_agents,omitempty"`
	SubAgent       string                 `json:"sub_agent,omitempty"` // the type of agent of a task; "" for an ordinary conversation
	// OwnSkills says that the definition of a task's agent names its skills.
	OwnSkills bool            `json:"own_skills,omitempty"`
	ForkedAt  event.ID        `json:"forked_from_event_id,omitempty"`
	Note      json.RawMessage `json:"note,omitempty"`
	Queue     []Queued        `json:"queue,omitempty"`
	Archived  time.Time       `json:"archived,omitzero"` // when; zero for one that can work
	// Plugins are the names of the plugins that the conversation was made with. NoPlugins
	// leaves out the user's.
	Plugins   []string `json:"plugin_names,omitempty"`
	NoPlugins bool     `json:"no_plugins,omitempty"`
	SetUp     bool     `json:"set_up,omitempty"`
	AskSetUp  bool     `json:"ask_set_up,omitempty"`
	// Organisation are the skills of the repository's organisation.
	Organisation []skill.Skill `json:"organisation_skills,omitempty"`
	// Titled says that a model was asked for the title, and is not asked again.
	Titled bool  `json:"titled,omitempty"`
	Asked  Asked `json:"asked,omitzero"`
	// ProjectHooks are nil unless the owner has allowed the project's hooks.
	ProjectHooks *allowedHooks `json:"project_hooks,omitempty"`
	// Imported is what eventstream/openhands keeps of the files that it read.
	Imported json.RawMessage `json:"openhands,omitempty"`
	// PathRules are the activated rules for paths as of the summary, which
	// does not show them.
	PathRules json.RawMessage `json:"path_rules,omitempty"`
}
