package launch

import (
	"context"
	"errors"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/spec"
)

// Diagnostics describe the result of launching a profile
// (docs/openhands/sdk-wire.md section 10, Agent profiles;
// docs/openhands/sdk-wire-1.58.md section C.4).
type Diagnostics struct {
	Kind             string      `json:"agent_kind"`
	Valid            bool        `json:"valid"`
	Errors           []string    `json:"errors"`
	UnusableTools    []string    `json:"unusable_tools"`
	LLM              *string     `json:"llm_profile_ref"`
	LLMResolved      bool        `json:"llm_profile_resolved"`
	APIKeySet        bool        `json:"llm_api_key_set"`
	MCPServers       any         `json:"mcp_server_refs"`
	MCPResolved      []string    `json:"resolved_mcp_config_keys"`
	MCPDangling      []string    `json:"dangling_mcp_server_refs"`
	DisabledSkills   any         `json:"disabled_skills"`
	PublicSkills     any         `json:"public_skills"`
	Skills           []string    `json:"resolved_skills"`
	SecretRefs       any         `json:"secret_refs"`
	ACPKey           *string     `json:"acp_api_key_secret_name"`
	ACPBaseURL       *string     `json:"acp_base_url_secret_name"`
	ACPFiles         []string    `json:"acp_file_secret_names"`
	MetaProfile      any         `json:"meta_profile_ref"`
	MetaDangling     *string     `json:"dangling_meta_profile_ref"`
	MetaLLMsDangling []string    `json:"dangling_meta_profile_llm_refs"`
	Settings         *schema.Map `json:"resolved_settings"` // secrets masked
}

// Preview launches a checked profile without starting anything. usable reports
// whether this server can run a tool; nil for all. Mistakes of the profile are in
// the diagnostics; an error comes from a store or a defect.
func Preview(ctx context.Context, p *schema.Map, stores *Stores, rt Runtime, usable func(tool string) bool) (*Diagnostics, error) {
	d := describe(p, stores.MCP)
	own := p.Text("agent_kind") != "acp"
	if own {
		d.tools(p, rt.NoBrowser, usable)
	}
	r, err := ResolveProfile(ctx, p, "", stores)
	if err != nil {
		return d, d.failed(ctx, p, stores, err)
	}
	a, err := Finalize(r, rt)
	if err != nil {
		return d, d.failed(ctx, p, stores, err)
	}
	settings := r.Settings.Copy()
	if own {
		list, _ := settings.Get("tools").([]any)
		settings.Set("tools", spec.LaunchTools(list, rt.Preset))
		d.LLMResolved = true
		d.APIKeySet = settings.Object("llm").Text("api_key") != ""
	}
	if c := a.Doc().Object("agent_context"); c != nil {
		settings.Set("agent_context", c)
		skills, _ := c.Get("skills").([]any)
		d.Skills = names(skills)
	}
	if len(d.Errors) > 0 {
		return d, nil
	}
	if d.Settings, err = agentsettings.Dump(settings, schema.Writing{}); err != nil {
		return nil, err
	}
	d.Valid = true
	return d, nil
}

func names(list []any) []string {
	out := []string{}
	for _, e := range list {
		out = append(out, spec.ToolName(e))
	}
	return out
}

func describe(p, servers *schema.Map) *Diagnostics {
	kept, _ := filterServers(p, servers)
	d := &Diagnostics{
		Kind: p.Text("agent_kind"), Errors: []string{}, UnusableTools: []string{},
		MCPServers: p.Get("mcp_server_refs"), MCPResolved: append([]string{}, kept.Keys()...), MCPDangling: []string{},
		DisabledSkills: []any{}, Skills: []string{}, SecretRefs: p.Get("secret_refs"),
		ACPFiles: []string{}, MetaLLMsDangling: []string{},
	}
	if d.Kind == "acp" {
		c, _ := spec.FindACPServer(p.Text("acp_server")) // a custom one has no such secrets
		d.ACPKey, d.ACPBaseURL = optional.Of(c.APIKey), optional.Of(c.BaseURL)
		d.ACPFiles = append(d.ACPFiles, c.FileSecrets...)
		return d
	}
	d.LLM, d.MetaProfile = optional.Of(p.Text("llm_profile_ref")), p.Get("meta_profile_ref")
	d.DisabledSkills, d.PublicSkills = p.Get("disabled_skills"), p.Get("public_skills")
	return d
}

// tools records the tools that cannot run. A missing browser is left out of the
// launch; any other missing tool prevents it.
func (d *Diagnostics) tools(p *schema.Map, noBrowser bool, usable func(string) bool) {
	list, chosen := p.Get("tools").([]any)
	if !chosen && noBrowser { // the reference's standard set has it
		d.UnusableTools = append(d.UnusableTools, spec.BrowserTool)
	}
	var failing []string
	for _, t := range list {
		name := spec.ToolName(t)
		if name == spec.BrowserTool && noBrowser {
			d.UnusableTools = append(d.UnusableTools, name) // it is left out
			continue
		}
		if usable != nil && spec.BuiltinClass(name) == "" && !usable(name) {
			d.UnusableTools = append(d.UnusableTools, name)
			failing = append(failing, name)
		}
	}
	if len(failing) > 0 {
		d.Errors = append(d.Errors, "Tool(s) this server cannot run: "+strings.Join(failing, ", "))
	}
}

// failed records why a launch is impossible.
func (d *Diagnostics) failed(ctx context.Context, p *schema.Map, stores *Stores, err error) error {
	var dangling DanglingReferences
	if refused, ok := errors.AsType[*Error](err); ok {
		dangling, _ = refused.detail.(DanglingReferences)
	} else if _, ok := errors.AsType[*fault.Error](err); !ok {
		return err
	}
	if !dangling.any() {
		d.Errors = append(d.Errors, "Failed to build agent settings: "+err.Error())
		return nil
	}
	d.Errors = append(d.Errors, dangling.problems()...)
	d.MCPDangling, d.MetaDangling, d.MetaLLMsDangling = dangling.MCPServers, dangling.MetaProfile, dangling.MetaLLMs
	if d.Kind == "acp" || dangling.LLM != nil {
		return nil
	}
	d.LLMResolved = true
	if l, err := loadLLM(ctx, stores, p.Text("llm_profile_ref")); err == nil && l != nil {
		d.APIKeySet = l.Text("api_key") != ""
	}
	if skills, err := selectSkills(ctx, p, stores); err == nil {
		d.Skills = names(skills)
	}
	return nil
}
