package launch

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/rest"
)

// Detail is what a client is told about a launch that cannot be.
type Detail struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Dangling is a [Detail] with the references that name nothing.
type Dangling struct {
	Detail
	LLM         *string  `json:"dangling_llm_profile_ref"`
	MCPServers  []string `json:"dangling_mcp_server_refs"`
	MetaProfile *string  `json:"dangling_meta_profile_ref"`
	MetaLLMs    []string `json:"dangling_meta_profile_llm_refs"`
}

// refuse returns the error of a launch that cannot be satisfied as given.
func refuse(format string, args ...any) error {
	return rest.Fail(http.StatusUnprocessableEntity, Detail{"invalid_agent_launch", fmt.Sprintf(format, args...)})
}

func (d *Dangling) any() bool {
	return d.LLM != nil || len(d.MCPServers) > 0 || d.MetaProfile != nil || len(d.MetaLLMs) > 0
}

// problems says what is dangling, one sentence for each kind.
func (d *Dangling) problems() []string {
	var out []string
	if d.LLM != nil {
		out = append(out, fmt.Sprintf("LLM profile '%s' not found", *d.LLM))
	}
	if len(d.MCPServers) > 0 {
		out = append(out, "MCP server(s) not configured: "+strings.Join(d.MCPServers, ", "))
	}
	if d.MetaProfile != nil {
		out = append(out, fmt.Sprintf("Meta-profile '%s' not found", *d.MetaProfile))
	}
	if len(d.MetaLLMs) > 0 {
		out = append(out, "LLM profile(s) routed to by the meta-profile not found: "+strings.Join(d.MetaLLMs, ", "))
	}
	return out
}

func (d *Dangling) err() error {
	d.Detail = Detail{"unresolved_profile_references", strings.Join(d.problems(), "; ")}
	return rest.Fail(http.StatusUnprocessableEntity, *d)
}

// unread returns the error of a store that cannot be read.
func unread(what string, err error) error {
	if fault.Is(err, fault.Unavailable) {
		return rest.Fail(http.StatusServiceUnavailable, what+" store is busy")
	}
	return rest.Fail(http.StatusInternalServerError, fmt.Sprintf("Could not load %s: %v", what, err))
}
