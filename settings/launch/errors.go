package launch

import (
	"fmt"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Refusal is the detail of an [Error] for clients.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// DanglingReferences is a [Refusal] with the references that name nothing.
type DanglingReferences struct {
	Refusal
	LLM         *string  `json:"dangling_llm_profile_ref"`
	MCPServers  []string `json:"dangling_mcp_server_refs"`
	MetaProfile *string  `json:"dangling_meta_profile_ref"`
	MetaLLMs    []string `json:"dangling_meta_profile_llm_refs"`
}

// Error is a launch that cannot be made as it was requested. Its kind is
// fault.Invalid.
type Error struct {
	message string
	detail  any // a Refusal or DanglingReferences
}

// Error implements error.
func (e *Error) Error() string { return e.message }

// Detail returns the detail for clients: a [Refusal] or [DanglingReferences],
// to be written as JSON.
func (e *Error) Detail() any { return e.detail }

// Unwrap gives the error its kind.
func (e *Error) Unwrap() error { return fault.New(fault.Invalid, e.message) }

// refuse returns the error of a launch that cannot be satisfied as given.
func refuse(format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	return &Error{message, Refusal{"invalid_agent_launch", message}}
}

func (d *DanglingReferences) any() bool {
	return d.LLM != nil || len(d.MCPServers) > 0 || d.MetaProfile != nil || len(d.MetaLLMs) > 0
}

// problems describes dangling references, one sentence for each kind.
func (d *DanglingReferences) problems() []string {
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

func (d *DanglingReferences) err() error {
	d.Refusal = Refusal{"unresolved_profile_references", strings.Join(d.problems(), "; ")}
	return &Error{d.Message, *d}
}

// unread returns the error of a store that cannot be read.
func unread(what string, err error) error {
	if fault.Is(err, fault.Unavailable) {
		return fault.New(fault.Unavailable, what+" store is busy")
	}
	return fault.Wrap(err, fault.Corrupt, "Could not load "+what)
}
