package agentsettings

import (
	"errors"
	"slices"
	"strings"

	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

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

// CredentialsOf returns how an ACP server authenticates; custom ones
// have none.
func CredentialsOf(server string) Credentials { return credentials[server] }

var _ = spec.Reference("ACPFileSecretSpec", s.Object{
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
})

// ACP describes settings of an agent that another program is, behind the
// Agent Client Protocol.
var ACP = spec.Reference("ACPAgentSettings", s.Object{Before: refuseRemoved})
