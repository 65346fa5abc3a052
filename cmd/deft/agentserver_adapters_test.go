package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/session/build"
)

// TestServerSandbox opens the backend with the sandbox that the flag and the
// environment choose: the server's report of isolation, and the place of clients'
// commands, depend on it.
func TestServerSandbox(t *testing.T) {
	for name, c := range map[string]struct {
		flag, class string
		want        bool
	}{
		"neither":                 {"none", "", false},
		"the flag":                {"process", "", true},
		"none by the environment": {"process", "none", false},
		"one by the environment":  {"none", "process", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(build.SandboxClassVariable, c.class)
			dir := t.TempDir()
			cfg, err := config.Load([]string{"HOME=" + dir}, config.Flags{ConversationsPath: dir, Sandbox: c.flag, Classes: build.StandardClasses().Sandboxes})
			must.Succeed(t, err)
			b, err := adapters{log: slog.New(slog.DiscardHandler), classes: build.StandardClasses()}.Open(t.Context(), cfg)
			must.Succeed(t, err)
			if b.Sandboxed != c.want {
				t.Errorf("sandboxed: %v, want %v", b.Sandboxed, c.want)
			}
			must.Report(t, b.Lock.Close())
			must.Report(t, b.Close())
		})
	}
}

// TestForeignWorktrees: a directory of worktrees of another user, such as the default
// one in /tmp, does not keep the server from its work.
func TestForeignWorktrees(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := "/usr" // root's
	if os.Geteuid() == 0 {
		root = filepath.Join(dir, "worktrees")
		must.Succeed(t, os.Mkdir(root, 0o700))
		must.Succeed(t, os.Chown(root, 65534, 65534))
	}
	cfg, err := config.Load([]string{"HOME=" + dir, "OH_CONVERSATION_WORKTREE_ROOT=" + root, "OH_BASH_EVENTS_DIR=" + dir + "/bash"},
		config.Flags{Classes: build.StandardClasses().Sandboxes, ConversationsPath: filepath.Join(dir, "conversations"), WorkspacePath: filepath.Join(dir, "project")})
	must.Succeed(t, err)
	var log strings.Builder
	must.Succeed(t, makeHidden(cfg, slog.New(slog.NewTextHandler(&log, nil))))
	if !strings.Contains(log.String(), root+" belongs to another user") || !strings.Contains(log.String(), "OH_CONVERSATION_WORKTREE_ROOT") {
		t.Errorf("log: %s", log.String())
	}
}
