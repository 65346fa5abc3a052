package link_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/workspace"
)

// conversation is one whose workspace is inside a real sandbox.
type conversation struct {
	session.Resources
	id        event.ConversationID
	dir       string
	sandboxes sandbox.Provider
}

// converse builds a conversation. project is called with its files before its agent is
// made, unless it is nil.
func converse(t *testing.T, project func(ctx context.Context, p sandbox.Provider, files workspace.Files) error) conversation {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	dir := filepath.Join(base, "ws")
	must.Succeed(t, os.Mkdir(dir, 0o700))
	must.Succeed(t, os.WriteFile(dir+"/AGENTS.md", []byte("Always say please."), 0o600))
	p, err := process.New(process.Options{Dir: filepath.Join(base, "sandboxes"), Home: t.TempDir()})
	must.Succeed(t, err)
	classes := build.StandardClasses()
	classes.Sandboxes = classes.Sandboxes.With(sandbox.Class{Name: "inside", Inside: "/workspace", New: func(sandbox.Config) (sandbox.Provider, error) {
		return p, nil
	}})
	b, err := build.New(build.Options{Dir: filepath.Join(base, "data"), Classes: classes, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}})
	must.Succeed(t, err)
	r := session.BuildRequest{ID: event.NewConversationID(), Workspace: dir, Agent: &spec.Agent{}, Placement: session.Placement{SandboxClass: "inside"}}
	if project != nil {
		r.Project = func(ctx context.Context, files workspace.Files, _ *session.BuildRequest) error {
			return project(ctx, p, files)
		}
	}
	res, err := b.Build(t.Context(), r)
	if err == nil {
		t.Cleanup(func() { must.Report(t, errors.Join(res.Close(context.WithoutCancel(t.Context()), false), p.Close())) })
		err = res.Ready(t.Context())
	}
	if fault.Is(err, fault.Unsupported) {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	must.Succeed(t, err)
	return conversation{res, r.ID, dir, p}
}

// TestConversation reads the project before the agent is made, and the sandbox that was
// started for that is the one that the conversation works in.
func TestConversation(t *testing.T) {
	t.Parallel()
	var started []sandbox.Status
	c := converse(t, func(ctx context.Context, p sandbox.Provider, files workspace.Files) error {
		found, _, err := files.Skills(ctx)
		if err != nil || len(found) != 1 || !strings.Contains(found[0].Content, "please") {
			t.Errorf("skills: %v %v", found, err)
		}
		started, err = p.List(ctx)
		return err
	})
	if _, err := c.Files().Write(t.Context(), "made", strings.NewReader("through the link")); err != nil {
		t.Fatal(err)
	}
	f, err := c.Files().Open(t.Context(), "made")
	must.Succeed(t, err)
	defer f.Close()
	if text, err := io.ReadAll(f); string(text) != "through the link" || err != nil {
		t.Errorf("read %q %v", text, err)
	}
	now, err := c.sandboxes.List(t.Context())
	if err != nil || len(now) != 1 || len(started) != 1 || now[0].Started != started[0].Started {
		t.Errorf("sandboxes: first %v, then %v %v", started, now, err)
	}
}

// stop ends the sandbox, which the conversation is not told.
func (c conversation) stop(t *testing.T) {
	t.Helper()
	box, err := c.sandboxes.Get(t.Context(), c.id.Hex())
	must.Succeed(t, err)
	must.Succeed(t, box.Stop(t.Context()))
}

// TestServerEnds uses files through a sandbox that has ended: a new one is started, and
// a request is sent whole.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	c := converse(t, nil)
	for _, text := range []string{"one", "two"} {
		c.stop(t)
		if n, err := c.Files().Write(t.Context(), text, strings.NewReader(text)); n != 3 || err != nil {
			t.Errorf("write: %d %v", n, err)
		}
		got, err := os.ReadFile(filepath.Join(c.dir, text))
		if string(got) != text || err != nil {
			t.Errorf("written: %q %v", got, err)
		}
		c.stop(t)
		if st, err := c.Files().Stat(t.Context(), text); err != nil || st.Size() != 3 {
			t.Errorf("described: %v %v", st, err)
		}
		c.stop(t)
		f, err := c.Files().Open(t.Context(), text)
		must.Succeed(t, err)
		if b, err := io.ReadAll(f); string(b) != text || errors.Join(err, f.Close()) != nil {
			t.Errorf("read %q %v", b, err)
		}
	}
}
