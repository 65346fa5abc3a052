package agentsettings

import (
	"errors"
	"slices"
	"strings"

	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// ACPServers are the ACP servers that settings know by name.
var ACPServers = s.Enum{"claude-code", "codex", "gemini-cli", "kimi-code", "pi", "opencode", "custom"}

// Credentials are the secrets by which one ACP server authenticates: a key, an
// address, or the content of files.
type Credentials struct {
	Key, BaseURL string
	Files        []string
}

var credentials = map[string]Credentials{
	"claude-code": {Key: "ANTHROPIC_API_KEY", BaseURL: "ANTHROPIC_BASE_URL"},
	"codex":       {Key: "OPENAI_API_KEY", BaseURL: "OPENAI_BASE_URL", Files: []string{"CODEX_AUTH_JSON"}},
	"gemini-cli":  {Key: "GEMINI_API_KEY", BaseURL: "GEMINI_BASE_URL", Files: []string{"GOOGLE_APPLICATION_CREDENTIALS_JSON"}},
	"kimi-code":   {BaseURL: "KIMI_BASE_URL", Files: []string{"KIMI_CODE_CONFIG_TOML"}},
	"pi":          {Key: "ANTHROPIC_API_KEY", Files: []string{"PI_AUTH_JSON"}},
	"opencode":    {Key: "OPENCODE_API_KEY"},
}

// CredentialsOf returns how an ACP server authenticates; nothing is known of
// custom ones.
func CredentialsOf(server string) Credentials { return credentials[server] }

func acpFile(secret, file, variable, dir, points string, warn ...any) any {
	if warn == nil {
		warn = []any{}
	}
	return s.Of("secret_name", secret, "filename", file, "env_var", variable, "subdir", dir, "env_points_to", points, "warn_if_unset", warn)
}

// acpFiles are the credential files of the known servers
// (docs/openhands/sdk-wire-1.58.md section B.7).
func acpFiles() any {
	return []any{
		acpFile("CODEX_AUTH_JSON", "auth.json", "CODEX_HOME", "codex", "dir"),
		acpFile("GOOGLE_APPLICATION_CREDENTIALS_JSON", "gcloud-credentials.json", "GOOGLE_APPLICATION_CREDENTIALS", "gemini-cli", "file", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"),
		acpFile("KIMI_CODE_CONFIG_TOML", "config.toml", "KIMI_CODE_HOME", "kimi-code", "dir"),
		acpFile("PI_AUTH_JSON", "auth.json", "PI_CODING_AGENT_DIR", "pi", "dir"),
	}
}

var acpFileSchema = &s.Object{
	After: func(m *s.Map) error {
		if f := m.Text("filename"); strings.ContainsAny(f, `/\`) || f == "." || f == ".." {
			return errors.New("filename must be a bare basename, not a path")
		}
		dir := m.Text("subdir")
		if strings.HasPrefix(dir, "/") || dir == "." || slices.Contains(strings.Split(dir, "/"), "..") {
			return errors.New("subdir must be a relative path without '..'")
		}
		return nil
	},
	Fields: []s.Field{
		{Name: "secret_name", Type: s.String{Min: 1}, Required: true},
		{Name: "filename", Type: s.String{Min: 1}, Required: true},
		{Name: "env_var", Type: s.String{Min: 1}, Required: true},
		{Name: "subdir", Type: s.String{Min: 1}, Required: true},
		{Name: "env_points_to", Type: s.Enum{"dir", "file"}, Default: "file"},
		{Name: "warn_if_unset", Type: list, Default: []any{}},
	},
}

// ACP describes settings of an agent that another program is, behind the
// Agent Client Protocol.
var ACP = &s.Object{
	Name: "ACPAgentSettings", Before: refuseRemoved,
	Fields: []s.Field{
		{Name: "schema_version", Type: s.Int{Bounds: atLeast1}, Default: n("9")},
		{Name: "agent_kind", Type: s.Enum{"acp"}, Default: "acp"},
		{Name: "acp_server", Type: ACPServers, Default: "claude-code", Page: &s.Page{Label: "ACP server", Prominence: "critical", Description: "Which agent to start. Each has a command of its own."}},
		{Name: "acp_command", Type: list, Default: []any{}, Page: &s.Page{Label: "ACP command (custom override)", Description: "Command that starts the agent, where it is not the usual one. A custom server needs it."}},
		{Name: "acp_args", Type: list, Default: []any{}, Page: &s.Page{Label: "ACP extra args", Description: "Arguments to add to the command."}},
		{Name: "acp_model", Type: text, Page: &s.Page{Label: "ACP model", Prominence: "critical", Description: "Model that the agent is to use. Empty leaves it to the agent."}},
		{Name: "acp_session_mode", Type: text, Page: &s.Page{Label: "ACP session mode", Description: "Mode of its sessions. Empty takes the one that fits the server."}},
		{Name: "acp_prompt_timeout", Type: s.Number{Bounds: above0}, Default: n("1800.0"), Page: &s.Page{Label: "ACP prompt inactivity timeout (seconds)", Description: "After how many seconds without a sign of life a prompt is given up."}},
		{Name: "acp_startup_timeout", Type: s.Number{Bounds: above0}, Default: n("90.0"), Page: &s.Page{Label: "ACP startup timeout (seconds)", Description: "How many seconds the start of the agent may take."}},
		{Name: "mcp_config", Type: spec.MCPServers, Default: emptyMap},
		{Name: "acp_isolate_data_dir", Type: s.Bool{}, Default: false},
		{Name: "acp_file_secrets", Type: s.List{Of: acpFileSchema}, Default: acpFiles},
		{Name: "agent_context", Type: s.Opt(spec.ContextSchema)},
	},
}
