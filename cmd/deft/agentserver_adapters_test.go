package main

import (
	"log/slog"
	"testing"

	"github.com/deft-dev/deft/internal/agentserver/config"
	"github.com/deft-dev/deft/session/build"
)

// TestServerSandbox opens the backend with the sandbox that the flag and the
// environment choose: what the server says of isolation, and where it runs
// clients' commands, depends on it.
func TestServerSandbox(t *testing.T) {
	for name, c := range map[string]struct {
		flag, class string
		want        bool
	}{
		"neither":                 {"none", "", false},
		"the flag":                {"process", "", true},
		"none by the environment": {"process", build.NoSandbox, false},
		"one by the environment":  {"none", build.ProcessSandbox, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(build.SandboxClassVariable, c.class)
			dir := t.TempDir()
			cfg, err := config.Load([]string{"HOME=" + dir}, config.Flags{ConversationsPath: dir, Sandbox: c.flag})
			if err != nil {
				t.Fatal(err)
			}
			b, err := adapters{slog.New(slog.DiscardHandler)}.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if b.Sandboxed != c.want {
				t.Errorf("sandboxed: %v, want %v", b.Sandboxed, c.want)
			}
			if err := b.Lock.Close(); err != nil {
				t.Error(err)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
