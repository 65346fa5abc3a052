package spec

import (
	"path"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
)

// ACPKind is the kind of an agent that is another program, which speaks the Agent Client Protocol.
const ACPKind = "ACPAgent"

// ACPModel is the model of an agent that chooses its own.
const ACPModel = "acp-managed"

// ACP are the fields of an agent of [ACPKind].
type ACP struct {
	Command        []string     `json:"acp_command"`
	Server         *string      `json:"acp_server"`
	Args           []string     `json:"acp_args"`
	SessionMode    *string      `json:"acp_session_mode"`
	PromptTimeout  float64      `json:"acp_prompt_timeout"`  // seconds of silence
	StartupTimeout float64      `json:"acp_startup_timeout"` // seconds
	Model          *string      `json:"acp_model"`
	ResumeSession  *string      `json:"acp_resume_session_id"`
	FileSecrets    []FileSecret `json:"acp_file_secrets"`
	IsolateDataDir bool         `json:"acp_isolate_data_dir"`
}

// FileSecret says where a program expects the content of a secret as a file.
type FileSecret struct {
	Secret   string `json:"secret_name"`
	File     string `json:"filename"`
	Variable string `json:"env_var"` // names the file, or its directory
	Dir      string `json:"subdir"`
	PointsTo string `json:"env_points_to"` // "dir" or "file"
}

// ACP returns the fields of an agent of [ACPKind]. It refuses what such an agent has of its own:
// tools and a condenser.
func (a *Agent) ACP() (*ACP, error) {
	switch {
	case a.Kind != ACPKind:
		return nil, fault.New(fault.Invalid, "the agent is none of kind "+ACPKind)
	case len(a.Tools) > 0:
		return nil, fault.New(fault.Invalid, "an agent of kind "+ACPKind+" manages its own tools").Hint("leave out tools")
	case a.Condenser != nil:
		return nil, fault.New(fault.Invalid, "an agent of kind "+ACPKind+" manages its own history").Hint("leave out condenser")
	}
	f := &ACP{}
	if err := schema.Into(a.doc, f); err != nil {
		return nil, err
	}
	if len(f.Command) == 0 || f.Command[0] == "" {
		return nil, fault.New(fault.Invalid, "acp_command names no program")
	}
	return f, nil
}

// ACPServer is a known agent program and its adapter (docs/openhands/sdk-wire-1.58.md section B.1).
type ACPServer struct {
	Key, Title string
	// Packages are npm packages, the first one with the adapter; Binary is its program, and Args are
	// arguments for it.
	Packages []string
	Binary   string
	Args     []string
	// APIKey and BaseURL are variables with which it logs in; FileSecrets are secrets that it
	// reads as files.
	APIKey, BaseURL string
	FileSecrets     []string
	// DataDir is the variable that moves its files.
	DataDir string
	// Hosts are the hosts that it has to reach.
	Hosts []string
	// Overrides are variables that must not be there beside a login of its own.
	Overrides map[string][]string
}

// npmRegistry has the packages of programs that are not installed.
const npmRegistry = "registry.npmjs.org"

var acpServers = []ACPServer{
	{
		Key: "claude-code", Title: "Claude Code", Packages: []string{"@agentclientprotocol/claude-agent-acp@0.63.0"}, Binary: "claude-agent-acp",
		APIKey: "ANTHROPIC_API_KEY", BaseURL: "ANTHROPIC_BASE_URL", DataDir: "CLAUDE_CONFIG_DIR", Hosts: []string{"api.anthropic.com"},
		Overrides: map[string][]string{"CLAUDE_CODE_OAUTH_TOKEN": {"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"}},
	},
	{
		Key: "codex", Title: "Codex", Packages: []string{"@agentclientprotocol/codex-acp@1.10.0"}, Binary: "codex-acp",
		APIKey: "OPENAI_API_KEY", BaseURL: "OPENAI_BASE_URL", FileSecrets: []string{"CODEX_AUTH_JSON"}, DataDir: "CODEX_HOME",
		Hosts: []string{"api.openai.com", "auth.openai.com", "chatgpt.com"},
	},
	{
		Key: "gemini-cli", Title: "Gemini CLI", Packages: []string{"@google/gemini-cli@0.46.0"}, Binary: "gemini", Args: []string{"--acp"},
		APIKey: "GEMINI_API_KEY", BaseURL: "GEMINI_BASE_URL", FileSecrets: []string{"GOOGLE_APPLICATION_CREDENTIALS_JSON"}, DataDir: "HOME",
		Hosts: []string{".googleapis.com"},
	},
	{
		Key: "kimi-code", Title: "Kimi Code", Packages: []string{"@moonshot-ai/kimi-code@0.38.0"}, Binary: "kimi", Args: []string{"acp"},
		BaseURL: "KIMI_BASE_URL", FileSecrets: []string{"KIMI_CODE_CONFIG_TOML"}, DataDir: "KIMI_CODE_HOME",
		Hosts: []string{".kimi.com", ".moonshot.ai"},
	},
	{
		Key: "pi", Title: "Pi", Packages: []string{"pi-acp@0.0.33", "@earendil-works/pi-coding-agent@0.83.0"}, Binary: "pi-acp",
		APIKey: "ANTHROPIC_API_KEY", FileSecrets: []string{"PI_AUTH_JSON"}, DataDir: "HOME", Hosts: []string{"api.anthropic.com"},
	},
	{
		Key: "opencode", Title: "OpenCode", Packages: []string{"opencode-ai@1.18.23"}, Binary: "opencode", Args: []string{"acp"},
		APIKey: "OPENCODE_API_KEY", DataDir: "HOME", Hosts: []string{"opencode.ai", "models.dev"},
	},
}

// ACPServers returns the known agent programs.
func ACPServers() []ACPServer { return slices.Clone(acpServers) }

// FindACPServer returns the known agent program of a key; false for a custom one.
func FindACPServer(key string) (ACPServer, bool) {
	for _, s := range acpServers {
		if s.Key == key {
			return s, true
		}
	}
	return ACPServer{}, false
}

// Known returns the known agent program that the fields are of, by its key or else its command.
func (f *ACP) Known() (ACPServer, bool) {
	if f.Server != nil {
		if s, ok := FindACPServer(*f.Server); ok {
			return s, true
		}
	}
	for _, word := range f.Command {
		base := path.Base(word)
		if at := strings.LastIndexByte(base, '@'); at > 0 {
			base = base[:at]
		}
		for _, s := range acpServers {
			if base == s.Binary {
				return s, true
			}
		}
	}
	return ACPServer{}, false
}

// Command is the command by which npx fetches and starts the program.
func (s ACPServer) Command() []string {
	argv := []string{"npx", "-y", "--prefer-offline"}
	if len(s.Packages) == 1 {
		argv = append(argv, s.Packages[0])
	} else {
		for _, p := range s.Packages {
			argv = append(argv, "--package="+p)
		}
		argv = append(argv, s.Binary)
	}
	return append(argv, s.Args...)
}

// Network are the hosts that the program has to reach when it is started by a command.
func (s ACPServer) Network(command []string) []string {
	if len(command) > 0 && path.Base(command[0]) == "npx" {
		return append(slices.Clone(s.Hosts), npmRegistry)
	}
	return slices.Clone(s.Hosts)
}

// Files are the secrets that this program reads as files, without the files of other known programs.
func (f *ACP) Files() []FileSecret {
	known, ok := f.Known()
	if !ok {
		return f.FileSecrets
	}
	var own []FileSecret
	for _, secret := range f.FileSecrets {
		others := slices.ContainsFunc(acpServers, func(s ACPServer) bool {
			return s.Key != known.Key && slices.Contains(s.FileSecrets, secret.Secret)
		})
		if !others || slices.Contains(known.FileSecrets, secret.Secret) {
			own = append(own, secret)
		}
	}
	return own
}

// ACPDiscovery is an agent program's answer to a new session, under the reference's names.
type ACPDiscovery struct {
	Name    *string `json:"agent_name"`
	Version *string `json:"agent_version"`
	// Models are the models that the program offers, Model is its own choice.
	Models []ACPModelInfo `json:"available_models"`
	Model  *string        `json:"current_model_id"`
	// Switches says that a session can change its model.
	Switches bool `json:"supports_runtime_model_switch"`
}

// ACPModelInfo is a model that the program offers.
type ACPModelInfo struct {
	ID          string  `json:"model_id"`
	Name        string  `json:"name"`
	Description *string `json:"description,omitempty"`
}
