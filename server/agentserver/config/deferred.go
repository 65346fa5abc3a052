package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Deferred are the settings that POST /api/init may bring (docs/openhands/sdk-wire.md
// section 3, docs/openhands/sdk-wire-1.58.md section D).
var Deferred = []string{
	"session_api_keys", "secret_key", "previous_secret_keys", "conversations_path", "bash_events_dir",
	"conversation_worktree_root", "webhooks", "web_url", "allow_cors_origins", "max_concurrent_runs", "telemetry",
}

// With returns the configuration of a server that waited for the rest of it. Names
// are names of [Deferred], values are decoded JSON; null leaves a setting
// unchanged. It has the errors of [Load]: a server that others can reach must get
// a key.
func (l *Loaded) With(given map[string]any) (*Loaded, error) {
	c, out := *l.Config, *l
	var d decoder
	v := reflect.ValueOf(&c).Elem()
	all := maps.Collect(fields(v.Type()))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if given[name] == nil || !slices.Contains(Deferred, name) {
			continue
		}
		if name == "secret_key" {
			if key, ok := given[name].(string); ok && strings.TrimSpace(key) == "" {
				continue
			}
		}
		f := all[name]
		field := reflect.New(f.Type).Elem()
		if err := d.into(field, given[name], name); err != nil {
			return nil, err
		}
		if err := inRange(field, f.Tag, name); err != nil {
			return nil, err
		}
		v.FieldByIndex(f.Index).Set(field)
	}
	c.SessionAPIKeys = slices.DeleteFunc(slices.Clone(c.SessionAPIKeys), blank)
	if c.SecretKey == "" && given["session_api_keys"] != nil && len(c.SessionAPIKeys) > 0 {
		c.SecretKey = c.SessionAPIKeys[0]
	}
	c.DeferredInit = false
	out.Config, out.Warnings = &c, append(d.warnings, c.ineffective()...)
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := out.applyHost(); err != nil {
		return nil, err
	}
	return &out, nil
}
