// Package openhands takes over the configuration of a user of OpenHands: config.toml,
// settings.json and secrets.json of its server, agent_settings.json and mcp.json of its
// command line.
//
// # Usage
//
//	plan, err := openhands.Read(openhands.File{Name: "config.toml", Content: raw})
//	for _, one := range plan.Taken { … } // shown to the user, who agrees
//	left, err := plan.Apply(ctx, service, nil)
//
// # Concurrency and failure
//
// A Plan does not change. Read is Invalid for a file that is none of these; neither its
// errors nor a Plan's exported fields ever have a secret, or the text of a file that cannot
// be read. Settings that do not fit or have no effect in Deft are in Left, with the reason.
// Apply can be repeated: a second attempt writes the settings of a failed one again.
package openhands

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/tomlfile"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings"
)

// File is one file of OpenHands.
type File struct {
	Name    string
	Content []byte
}

// Taken is a setting that is taken over.
type Taken struct {
	File string `json:"file"`
	Key  string `json:"key"` // as it is called in the file
	To   string `json:"to"`  // its new value
	// Value is for people; empty for a secret.
	Value  string `json:"value"`
	Secret bool   `json:"secret"`
}

// Left is a setting that is not taken over.
type Left struct {
	File string `json:"file"`
	Key  string `json:"key"`
	Why  string `json:"why"`
}

// Plan is the result of reading files. Of several files that have a setting,
// config.toml counts least, then settings.json, then the files of the command line.
type Plan struct {
	Taken []Taken `json:"taken"`
	Left  []Left  `json:"left"`

	targets map[string]*target
	order   []string
}

// target is a setting of Deft that gets a value.
type target struct {
	Taken
	set func(*change)
}

// change is a plan's change.
type change struct {
	model, agent, conversation, preferences, servers *schema.Map
	services                                         map[settings.ServiceKey]llm.Secret
	secrets                                          []secret
	tokens                                           map[string]settings.ProviderToken
	profiles                                         []profile
}

type secret struct {
	name        string
	value       llm.Secret
	description *string
}

type profile struct {
	name  string
	model *schema.Map
}

// Kinds of files, in the order in which they count.
const (
	kindConfig = iota
	kindSettings
	kindAgent
	kindServers
	kindSecrets
)

// Read reads files.
func Read(files ...File) (*Plan, error) {
	type parsed struct {
		kind int
		name string
		root *schema.Map
	}
	var all []parsed
	for _, f := range files {
		name := path.Base(strings.ReplaceAll(f.Name, `\`, "/"))
		root, err := parse(name, f.Content)
		if err != nil {
			return nil, err
		}
		kind, ok := kindOf(name, root)
		if !ok {
			return nil, fault.New(fault.Invalid, name+" is none of the files that OpenHands keeps settings in").
				Hint("those are config.toml, settings.json, secrets.json, agent_settings.json and mcp.json")
		}
		all = append(all, parsed{kind, name, root})
	}
	slices.SortStableFunc(all, func(a, b parsed) int { return cmp.Compare(a.kind, b.kind) })
	p := &Plan{Taken: []Taken{}, Left: []Left{}, targets: map[string]*target{}}
	for _, f := range all {
		r := reader{Plan: p, file: f.name}
		switch f.kind {
		case kindConfig:
			r.config(f.root)
		case kindSettings:
			r.settings(f.root)
		case kindAgent:
			r.agent("", f.root)
		case kindServers:
			r.servers("", f.root)
		default:
			r.secrets("", f.root)
		}
	}
	for _, to := range p.order {
		p.Taken = append(p.Taken, p.targets[to].Taken)
	}
	slices.SortStableFunc(p.Left, func(a, b Left) int { return strings.Compare(a.File+"\x00"+a.Key, b.File+"\x00"+b.Key) })
	return p, nil
}

// parse reads TOML or JSON.
func parse(name string, raw []byte) (*schema.Map, error) {
	if strings.HasSuffix(strings.ToLower(name), ".toml") {
		f, err := tomlfile.Parse(name, raw)
		if err != nil {
			return nil, err
		}
		root := schema.NewMap()
		for _, e := range f.Entries {
			if err := put(root, e.Path, e.Value); err != nil {
				return nil, fault.New(fault.Invalid, fmt.Sprintf("%s:%d cannot be read", name, e.Line))
			}
		}
		return root, nil
	}
	v, err := schema.Parse(raw)
	root, ok := v.(*schema.Map)
	if err != nil || !ok {
		return nil, fault.New(fault.Invalid, name+" is not a JSON object"). // the error may quote a secret
											Hint("see that it is whole: it begins with { and ends with }")
	}
	return root, nil
}

// put sets the value of a path.
func put(m *schema.Map, at []string, value any) error {
	for _, key := range at[:len(at)-1] {
		inner := m.Object(key)
		if inner == nil {
			inner = schema.NewMap()
			m.Set(key, inner)
		}
		m = inner
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	v, err := schema.Parse(raw)
	if err == nil {
		m.Set(at[len(at)-1], v)
	}
	return err
}

// kindOf tells files apart by their content.
func kindOf(name string, root *schema.Map) (kind int, ok bool) {
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { _, there := root.Lookup(key); return there })
	}
	switch {
	case strings.HasSuffix(strings.ToLower(name), ".toml"):
		return kindConfig, has("core", "llm", "agent", "sandbox", "security", "condenser", "mcp", "kubernetes", "model_routing", "extended", "cli")
	case root.Object("llm") != nil:
		return kindAgent, true
	case has("mcpServers"):
		return kindServers, true
	case has("agent_settings", "llm_model", "llm_api_key", "confirmation_mode", "max_iterations", "language", "mcp_config", "secrets_store"):
		return kindSettings, true
	}
	return kindSecrets, has("provider_tokens", "custom_secrets")
}
