package session_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings/permission"
)

// answered are the answers of one owner.
type answered struct{ *permission.Store }

func (a answered) Answer(_ context.Context, _ identity.Tenant, q permission.Question) (permission.Answer, error) {
	return a.Store.Answer(q)
}

func (a answered) KeepAnswer(ctx context.Context, _ identity.Tenant, q permission.Question, got permission.Answer) error {
	return a.Keep(ctx, q, got)
}

// programs are resources whose programs end with exit code 2, or by a signal where they are named so, and are noted.
type programs struct {
	session.Resources
	mu  *sync.Mutex
	ran *[]string
}

func (p programs) RunProgram(_ context.Context, q session.Program) (session.ProgramResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*p.ran = append(*p.ran, q.Argv[len(q.Argv)-1])
	if q.Argv[len(q.Argv)-1] == "./killed" {
		return session.ProgramResult{ExitCode: -1}, nil
	}
	return session.ProgramResult{ExitCode: 2, Stderr: "not to main"}, nil
}

// TestProjectHooks runs the hooks of a project once its owner has allowed their content, in this
// conversation and in the next ones.
func TestProjectHooks(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var ran []string
	h := setup(t, inTurn(shell("push"), says("pushed"), shell("push"), says("stopped"), shell("push"), says("stopped"), shell("push"), says("pushed")),
		func(o *session.Options) { o.Permissions = answered{permission.Open(t.TempDir(), nil)} })
	h.extend = func(r session.Resources) session.Resources { return programs{r, &mu, &ran} }
	ranNow := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(ran)
	}
	file := filepath.Join(h.work, ".openhands", "hooks.json")
	must.Succeed(t, os.Mkdir(filepath.Dir(file), 0o755))
	must.Succeed(t, os.WriteFile(file, []byte(`{"hooks":{"PreToolUse":[{"matcher":"terminal","hooks":[{"command":"./no-push"}]}]}}`), 0o600))
	asked := func(c *session.Conversation) (f session.HooksFile) {
		t.Helper()
		s, err := c.State(t.Context())
		must.Succeed(t, err)
		if raw := s.Fields["project_hooks"]; raw != nil {
			must.Succeed(t, json.Unmarshal(raw, &f))
		}
		return f
	}

	c := h.begin(t, "")
	send(t, c, "push it")
	settle(t, c)
	if got := ranNow(); got != nil {
		t.Fatalf("hooks that nobody has allowed ran: %q", got)
	}
	q := asked(c)
	if q.Answer != permission.None || q.Hooks == nil || q.SHA256 == "" || q.File != ".openhands/hooks.json" {
		t.Fatalf("the question: %+v", q)
	}
	if err := c.ProjectHooks().Answer(t.Context(), "another", true); !fault.Is(err, fault.Conflict) {
		t.Errorf("an answer about another content: %v, want Conflict", err)
	}
	must.Succeed(t, c.ProjectHooks().Answer(t.Context(), q.SHA256, true))
	if got := asked(c).Answer; got != permission.Allowed {
		t.Errorf("the answer: %q", got)
	}
	send(t, c, "push it again")
	settle(t, c)
	if got := ranNow(); !slices.Equal(got, []string{"./no-push"}) {
		t.Fatalf("after a yes ran %q", got)
	}

	// The agent changes the file: the rule stays, and the new content is asked about.
	must.Succeed(t, os.WriteFile(file, []byte(`{"hooks":{"Stop":[{"hooks":[{"command":"true"}]}]}}`), 0o600))
	if in, err := c.ProjectHooks().InForce(); err != nil || len(in.PreToolUse) != 1 {
		t.Errorf("in force after a change: %+v, %v", in, err)
	}
	now, err := c.ProjectHooks().File(t.Context())
	if err != nil || now.Answer != permission.None || now.SHA256 == q.SHA256 {
		t.Errorf("the changed file: %+v, %v", now, err)
	}
	if err := c.ProjectHooks().Answer(t.Context(), q.SHA256, true); !fault.Is(err, fault.Conflict) {
		t.Errorf("an answer about the content before: %v, want Conflict", err)
	}
	must.Succeed(t, os.WriteFile(file, []byte(`{"hooks":{"PreToolUse":[{"matcher":"terminal","hooks":[{"command":"./no-push"}]}]}}`), 0o600))

	// The next conversation has the answer.
	next := h.begin(t, "")
	send(t, next, "push it")
	settle(t, next)
	if got := ranNow(); len(got) != 2 {
		t.Errorf("in the next conversation ran %q", got)
	}
	must.Succeed(t, next.ProjectHooks().Answer(t.Context(), q.SHA256, false))
	send(t, next, "push it now")
	settle(t, next)
	if got := ranNow(); len(got) != 2 {
		t.Errorf("after a no ran %q", got)
	}
	if in, err := next.ProjectHooks().InForce(); err != nil || in != nil {
		t.Errorf("in force after a no: %+v, %v", in, err)
	}
	rejected := 0
	for rec, err := range h.o.Store.Read(t.Context(), next.ID(), 0) {
		must.Succeed(t, err)
		ev, err := rec.Event()
		must.Succeed(t, err)
		if no, ok := ev.(*event.UserRejectObservation); ok && strings.Contains(no.RejectionReason, "not to main") {
			rejected++
		}
	}
	if rejected != 1 {
		t.Errorf("%d calls were refused, want 1", rejected)
	}
}

// TestLateSessionStart runs a hook of the session's start that is allowed during the session, once, and names its mistakes.
func TestLateSessionStart(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var ran []string
	h := setup(t, inTurn(says("a"), says("b"), says("c")), func(o *session.Options) { o.Permissions = answered{permission.Open(t.TempDir(), nil)} })
	h.extend = func(r session.Resources) session.Resources { return programs{r, &mu, &ran} }
	testtree.Write(t, h.work, map[string]string{".openhands/hooks.json": `{"SessionStart":[{"hooks":[{"command":"./late","timeout":-4}]}]}`})
	c := h.begin(t, `"hook_config":{"SessionStart":[{"hooks":[{"command":"./own"}]}]}`)
	say := func(text string, want ...string) {
		t.Helper()
		send(t, c, text)
		settle(t, c)
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(ran, want) {
			t.Errorf("%s: hooks ran: %q, want %q", text, ran, want)
		}
	}
	say("one", "./own")
	f, err := c.ProjectHooks().File(t.Context())
	must.Succeed(t, err)
	must.Succeed(t, c.ProjectHooks().Answer(t.Context(), f.SHA256, true))
	say("two", "./own", "./late")
	say("three", "./own", "./late")
	warnings := eventsOf[*event.ConversationStateUpdateEvent](t, h, c.ID())
	if !slices.ContainsFunc(warnings, func(u *event.ConversationStateUpdateEvent) bool {
		return u.Key == "warnings" && strings.Contains(string(u.Value), "the timeout of ./late is -4")
	}) {
		t.Error("nobody says that the timeout is none")
	}
}

// TestProjectHooksUnusable says why a file of hooks is not used, and the conversation works.
func TestProjectHooksUnusable(t *testing.T) {
	t.Parallel()
	for name, mk := range map[string]func(file string) error{
		"broken":      func(file string) error { return os.WriteFile(file, []byte(`{"PreToolUse":`), 0o600) },
		"unknown":     func(file string) error { return os.WriteFile(file, []byte(`{"Moon":[]}`), 0o600) },
		"a directory": func(file string) error { return os.Mkdir(file, 0o700) },
		"too large":   func(file string) error { return os.WriteFile(file, make([]byte, 2<<20), 0o600) },
		"a link out":  func(file string) error { return os.Symlink("/etc/passwd", file) },
		"Claude Code's": func(file string) error {
			file = filepath.Join(filepath.Dir(filepath.Dir(file)), ".claude", "settings.json")
			must.Succeed(t, os.Mkdir(filepath.Dir(file), 0o755))
			return os.WriteFile(file, []byte(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}`), 0o600)
		},
		"no JSON": func(file string) error { return os.WriteFile(file, []byte("\xff\xfe\x00"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, inTurn(says("hello")), func(o *session.Options) { o.Permissions = answered{permission.Open(t.TempDir(), nil)} })
			file := filepath.Join(h.work, ".openhands", "hooks.json")
			must.Succeed(t, os.Mkdir(filepath.Dir(file), 0o755))
			must.Succeed(t, mk(file))
			c := h.begin(t, "")
			send(t, c, "hello")
			settle(t, c)
			s, err := c.State(t.Context())
			must.Succeed(t, err)
			var f session.HooksFile
			must.Succeed(t, json.Unmarshal(s.Fields["project_hooks"], &f))
			if f.Problem == "" || f.Hooks != nil {
				t.Errorf("%+v, want a problem", f)
			}
			if err := c.ProjectHooks().Answer(t.Context(), f.SHA256, true); err == nil {
				t.Error("it can be allowed")
			}
		})
	}
}

// TestDeletedSessionEnd runs the hooks of the session's end when the conversation is deleted, while its sandbox is there.
func TestDeletedSessionEnd(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var ran []string
	h := setup(t, inTurn(says("a")), nil)
	h.extend = func(r session.Resources) session.Resources { return programs{r, &mu, &ran} }
	c := h.begin(t, `"hook_config":{"SessionEnd":[{"hooks":[{"command":"./end"}]}]}`)
	send(t, c, "hello")
	settle(t, c)
	_, err := h.Delete(t.Context(), c.ID())
	must.Succeed(t, err)
	if !slices.Equal(ran, []string{"./end"}) {
		t.Errorf("at the end of a deleted conversation ran %q", ran)
	}
}

// TestKilledHook says of a hook that a signal has ended why it has failed.
func TestKilledHook(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var ran []string
	h := setup(t, inTurn(says("a")), nil)
	h.extend = func(r session.Resources) session.Resources { return programs{r, &mu, &ran} }
	c := h.begin(t, `"hook_config":{"UserPromptSubmit":[{"hooks":[{"command":"./killed"}]}]}`)
	send(t, c, "hello")
	settle(t, c)
	for rec, err := range h.o.Store.Read(t.Context(), c.ID(), 0) {
		must.Succeed(t, err)
		ev, err := rec.Event()
		must.Succeed(t, err)
		if got, ok := ev.(*event.HookExecutionEvent); ok && (got.Success || got.Error == nil || *got.Error != "it was ended by a signal") {
			t.Errorf("%+v", got)
		}
	}
}
