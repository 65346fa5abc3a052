package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/session/build"
)

// FuzzLoad loads any file and any variables: no panic, errors with a kind, and
// never a key in them.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"webhooks": [{"base_url": "http://a"}]}`), "OH_WEBHOOKS_0_HEADERS={}")
	f.Add([]byte(`{"session_api_keys": null}`), "OH_SESSION_API_KEYS=[\"a\"]\nOH_WEBHOOKS=3\nOH_WEBHOOKS_1=null")
	f.Add([]byte(`{"telemetry": {"salt": 1e999}}`), "OH={\"web_url\":\"x\"}\nOH_TELEMETRY_IS_NONE=1")
	f.Add([]byte(`[]`), "OH_REGISTERED_MARKETPLACES_0_AUTO_LOAD=7")
	f.Fuzz(func(t *testing.T, file []byte, vars string) {
		name := filepath.Join(t.TempDir(), "config.json")
		must.Succeed(t, os.WriteFile(name, file, 0o600))
		const secret = "zq9-not-to-be-told"
		environ := append(strings.Split(vars, "\n"), "HOME=/nowhere", "OH_SECRET_KEY="+secret)
		l, err := config.Load(environ, config.Flags{Config: name, Classes: build.StandardClasses().Sandboxes})
		if err != nil {
			if fault.KindOf(err) == fault.Internal || strings.Contains(err.Error(), secret) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if !config.Private(l.Host) && len(l.Keys()) == 0 && !l.DeferredInit {
			t.Fatalf("listens on %s without a key", l.Host)
		}
		if l.MaxConcurrentRuns < 1 || strings.Contains(strings.Join(l.Warnings, " "), secret) {
			t.Fatalf("%d runs, warnings %q", l.MaxConcurrentRuns, l.Warnings)
		}
	})
}
