package runcommand

import (
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/settings/launch"
	"github.com/deft-dev/deft/spec"
)

// NewProgram returns the agent that is another program: a known one by its name, or one by its command
// line. key is the variable with which a known one logs in; "" for none.
func NewProgram(name, model string, servers *schema.Map) (a *spec.Agent, key string, err error) {
	doc := schema.Of("agent_kind", "acp", "acp_server", "custom")
	known, ok := spec.FindACPServer(name)
	if ok {
		doc.Set("acp_server", known.Key)
	} else {
		words, err := launch.Words(name)
		if err != nil {
			return nil, "", fault.Wrap(err, fault.Invalid, "--acp")
		}
		if len(words) == 0 {
			var names []string
			for _, s := range spec.ACPServers() {
				names = append(names, s.Key)
			}
			slices.Sort(names)
			return nil, "", fault.New(fault.Invalid, "--acp names no program").Hint("give a command line, or one of " + strings.Join(names, ", "))
		}
		doc.Set("acp_command", words)
	}
	if model != "" {
		doc.Set("acp_model", model)
	}
	if servers.Len() > 0 {
		doc.Set("mcp_config", servers)
	}
	settings, err := agentsettings.Validate(doc, schema.Reading{})
	if err != nil {
		return nil, "", err
	}
	a, err = agentsettings.Agent(settings, spec.Preset{})
	return a, known.APIKey, err
}
