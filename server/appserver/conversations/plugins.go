package conversations

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/session"
)

// Plugin is a plugin of a start request (the contract's PluginSpec).
type Plugin struct {
	plugin.Source
	// Parameters are values that the user gives to it, in the first message.
	Parameters map[string]json.RawMessage `json:"parameters,omitempty"`
}

func sources(plugins []Plugin) []plugin.Source {
	all := make([]plugin.Source, len(plugins))
	for i, p := range plugins {
		all[i] = p.Source
	}
	return all
}

// CheckPlugins describes the mistake in the plugins of a request. They have the addresses
// that repositories may have: this machine's files are not the caller's, and a password would
// be shown by the task.
func CheckPlugins(plugins []Plugin) error {
	if len(plugins) > plugin.MaxSources {
		return fault.New(fault.Invalid, fmt.Sprintf("a conversation has %d plugins at most", plugin.MaxSources))
	}
	for _, p := range plugins {
		u, err := url.Parse(p.Source.Source)
		if !strings.HasPrefix(p.Source.Source, "github:") && (err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil) {
			return fault.New(fault.Invalid, "plugins are named by github:owner/repo or the https:// URL of a repository, without a password")
		}
	}
	return nil
}

// addPlugins adds plugins to the agent of a conversation that is made. Agents do not see
// this machine's files, so the plugins' are not kept.
func addPlugins(ctx context.Context, plugins []Plugin, spec *session.Spec) error {
	loaded, err := plugin.Loader{}.Load(ctx, sources(plugins))
	if err != nil {
		return err
	}
	return spec.AddPlugins(loaded)
}

// withParameters returns the first message with the parameters of plugins at its end, in the
// reference's words; a message of these alone where the request has none.
func withParameters(m *session.Message, plugins []Plugin) *session.Message {
	var with []Plugin
	for _, p := range plugins {
		if len(p.Parameters) > 0 {
			with = append(with, p)
		}
	}
	if len(with) == 0 {
		return m
	}
	var parts []string
	for _, p := range with {
		if len(with) == 1 {
			parts = append(parts, p.parameters(""))
		} else {
			parts = append(parts, p.Source.Source[strings.LastIndexByte(p.Source.Source, '/')+1:]+":\n"+p.parameters("  "))
		}
	}
	text := "Plugin Configuration Parameters:\n" + strings.Join(parts, "\n")
	if m == nil {
		return &session.Message{Role: event.RoleUser, Content: event.Texts(text), Run: true}
	}
	out := *m
	out.Content = slices.Clone(m.Content)
	if n := len(out.Content) - 1; n >= 0 && out.Content[n].Type != event.TypeImage {
		longer := event.Text(out.Content[n].Text + "\n\n" + text)
		longer.CachePrompt = out.Content[n].CachePrompt
		out.Content[n] = longer
		return &out
	}
	out.Content = append(out.Content, event.Text(text))
	return &out
}

// parameters are the lines of the parameters, sorted by their names.
func (p Plugin) parameters(indent string) string {
	var lines []string
	for name, raw := range p.Parameters {
		value := string(raw)
		var text string
		if json.Unmarshal(raw, &text) == nil {
			value = text
		}
		lines = append(lines, fmt.Sprintf("%s- %s: %s", indent, name, value))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
