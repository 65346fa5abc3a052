package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/spec"
)

// Source is the agent of a start request. Of Agent, Settings and
// ProfileID one is set.
type Source struct {
	Agent     *schema.Map
	Settings  *schema.Map
	ProfileID string
	// LLMProfile takes the place of the profile's own LLM profile.
	LLMProfile string
	// Keys open secrets that the client sent sealed (secrets_encrypted); nil
	// takes them as they are.
	Keys schema.Keys
}

// Stores resolve the references of profiles.
type Stores struct {
	LLMs interface {
		Load(ctx context.Context, name string) (*spec.LLM, error)
		Names(ctx context.Context) ([]string, error)
	}
	Agents interface {
		ByID(ctx context.Context, id string) (*schema.Map, error)
	}
	Metas interface {
		Load(ctx context.Context, name string) (*schema.Map, error)
	}
	// MCP are the configured MCP servers, checked and with their secrets open.
	MCP *schema.Map
	// CriticKey is the server's key for the critic, which profiles do not have.
	CriticKey llm.Secret
	// Skills returns the catalogue of skills, each as spec.SkillSchema has
	// it, later ones in place of earlier ones of the same name; nil for none.
	Skills func(ctx context.Context) ([]*schema.Map, error)
	// PublicSkills names the skills of the public catalogue; nil counts every skill as
	// public.
	PublicSkills func(ctx context.Context) ([]string, error)
}

// Profile records which profile launched a conversation.
type Profile struct {
	ID         string   `json:"agent_profile_id"`
	Revision   int      `json:"revision"`
	SecretRefs []string `json:"secret_refs"`     // nil for all secrets
	LLMProfile *string  `json:"llm_profile_ref"` // that took the place of its own
}

// Allows reports whether the conversation may be given a secret.
func (p *Profile) Allows(secret string) bool {
	return p == nil || p.SecretRefs == nil || slices.Contains(p.SecretRefs, secret)
}

// Resolved is a launch without references: an agent as the client gave it, or
// settings of one.
type Resolved struct {
	Agent    *spec.Agent
	Settings *schema.Map
	Profile  *Profile // nil unless a profile was launched
}

// Resolve finds everything that a source names. stores may be nil for sources
// that are no profile.
func Resolve(ctx context.Context, src Source, stores *Stores) (*Resolved, error) {
	switch {
	case src.ProfileID != "" && src.Agent != nil:
		return nil, schema.Invalid("`agent_profile_id` is mutually exclusive with `agent`", nil, "body")
	case src.ProfileID != "" && src.Settings != nil:
		return nil, schema.Invalid("`agent_profile_id` is mutually exclusive with `agent_settings`", nil, "body")
	case src.ProfileID == "" && src.LLMProfile != "":
		return nil, schema.Invalid("`agent_launch_additions.llm_profile_ref` requires `agent_profile_id`", nil, "body")
	case src.ProfileID != "":
		return byID(ctx, src, stores)
	case src.Agent != nil:
		a, err := spec.CheckAgent(src.Agent, schema.Reading{Keys: src.Keys}, "body", "agent")
		if err != nil {
			return nil, invalid(err)
		}
		return &Resolved{Agent: a}, nil
	case src.Settings != nil:
		return fromSettings(src)
	}
	return nil, schema.Invalid("One of `agent`, `agent_settings`, or `agent_profile_id` must be provided", nil, "body")
}

func fromSettings(src Source) (*Resolved, error) {
	m, err := agentsettings.Validate(src.Settings, schema.Reading{Keys: src.Keys})
	var bad schema.Violations
	switch {
	case errors.As(err, &bad) && len(bad) > 0: // which the reference tells of the request
		return nil, schema.Invalid(fmt.Sprintf("agent_settings %v: %s", bad[0].Loc, bad[0].Msg), nil, "body")
	case err != nil:
		return nil, invalid(err)
	}
	return &Resolved{Settings: m}, nil
}

// invalid turns any error of a request into a violation.
func invalid(err error) error {
	if _, ok := errors.AsType[schema.Violations](err); ok {
		return err
	}
	return schema.Invalid(err.Error(), nil, "body")
}

func byID(ctx context.Context, src Source, stores *Stores) (*Resolved, error) {
	doc, err := stores.Agents.ByID(ctx, src.ProfileID)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, fault.New(fault.NotFound, "Agent profile with id '"+src.ProfileID+"' not found")
	case err != nil:
		return nil, unread("agent profile", err)
	}
	return ResolveProfile(ctx, doc, src.LLMProfile, stores)
}

// ResolveProfile resolves a checked profile, which need not be saved.
// llmProfile takes the place of its own LLM profile, unless it is "".
func ResolveProfile(ctx context.Context, profile *schema.Map, llmProfile string, stores *Stores) (*Resolved, error) {
	own := profile.Text("agent_kind") != "acp"
	if llmProfile != "" && !own {
		return nil, refuse("agent_launch_additions.llm_profile_ref applies only to an OpenHands Agent Profile")
	}
	servers, missing := filterServers(profile, stores.MCP)
	dangling := DanglingReferences{MCPServers: missing, MetaLLMs: []string{}}
	skills, err := selectSkills(ctx, profile, stores)
	if err != nil {
		return nil, err
	}
	var doc *schema.Map
	if own {
		doc, err = ownSettings(ctx, profile, llmProfile, stores, &dangling)
	} else if !dangling.any() {
		doc, err = acpSettings(profile)
	}
	if err != nil {
		return nil, err
	}
	if dangling.any() {
		return nil, dangling.err()
	}
	doc.Set("mcp_config", servers)
	doc.Object("agent_context").Set("skills", skills)
	settings, err := agentsettings.Validate(doc, schema.Reading{})
	if err != nil {
		return nil, refuse("%v", err)
	}
	revision, _ := profile.Get("revision").(json.Number)
	n, err := revision.Int64()
	record := &Profile{ID: profile.Text("id"), Revision: int(n), SecretRefs: texts(profile.Get("secret_refs")), LLMProfile: optional.Of(llmProfile)}
	return &Resolved{Settings: settings, Profile: record}, err
}

// texts returns a list of strings of a document, nil for null.
func texts(v any) []string {
	list, ok := v.([]any)
	if !ok {
		return nil
	}
	out := make([]string, 0, len(list))
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// filterServers returns the MCP servers that a profile names, all for null,
// and the names of those that are not configured.
func filterServers(profile, all *schema.Map) (kept *schema.Map, missing []string) {
	refs := texts(profile.Get("mcp_server_refs"))
	missing = []string{}
	if refs == nil {
		return all.Copy(), missing
	}
	kept = schema.NewMap()
	for _, name := range refs {
		if one, ok := all.Lookup(name); ok {
			kept.Set(name, one)
		} else if !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	return kept, missing
}

// selectSkills returns the skills of the catalogue that a profile takes: not
// those that it disables, and of the public ones only those that it lists.
func selectSkills(ctx context.Context, profile *schema.Map, stores *Stores) ([]any, error) {
	if stores.Skills == nil {
		return []any{}, nil
	}
	all, err := stores.Skills(ctx)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "Skill discovery failed")
	}
	byName := schema.NewMap()
	for _, one := range all {
		byName.Set(one.Text("name"), one)
	}
	denied := texts(profile.Get("disabled_skills"))
	allowed := texts(profile.Get("public_skills"))
	var public []string
	if allowed != nil && stores.PublicSkills != nil {
		if public, err = stores.PublicSkills(ctx); err != nil {
			return nil, fault.Wrap(err, fault.Internal, "Skill discovery failed")
		}
	}
	out := []any{}
	for _, name := range byName.Keys() {
		isPublic := stores.PublicSkills == nil || slices.Contains(public, name)
		if slices.Contains(denied, name) || allowed != nil && isPublic && !slices.Contains(allowed, name) {
			continue
		}
		out = append(out, byName.Get(name))
	}
	return out, nil
}
