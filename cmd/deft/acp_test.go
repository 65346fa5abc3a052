package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
)

// editor is the SDK's client of a `deft acp`. It has no files and no terminals.
type editor struct {
	acp.Client
	*acp.ClientSideConnection
	dir string
	end func() error // closes the input and waits for the end

	mu    sync.Mutex
	lines []string // the updates; parts of a text are joined
	// progress are the texts of running calls, commands the commands of sessions.
	progress, commands []string

	answers []acp.PermissionOptionId
	asked   []acp.RequestPermissionRequest
}

func (b *bench) editor(t testing.TB, args ...string) *editor {
	t.Helper()
	cmd := b.command(t, append([]string{"acp"}, args...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must.Succeed(t, err)
	out, err := cmd.StdoutPipe()
	must.Succeed(t, err)
	must.Succeed(t, cmd.Start())
	e := &editor{dir: b.ws}
	e.ClientSideConnection = acp.NewClientSideConnection(e, in, out)
	e.end = sync.OnceValue(func() error {
		_ = in.Close() // it may have ended
		<-e.Done()     // all output is read
		return cmd.Wait()
	})
	t.Cleanup(func() { _ = e.end() })
	got, err := e.Initialize(t.Context(), acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber})
	must.Succeed(t, err)
	if c := got.AgentCapabilities; got.AgentInfo.Name != "deft" || !c.LoadSession || !c.PromptCapabilities.Image || c.SessionCapabilities.List == nil {
		t.Errorf("initialize: %+v", got)
	}
	return e
}

// SessionUpdate implements [acp.Client].
func (e *editor) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	u := n.Update
	add := func(kind, text string) {
		if last := len(e.lines) - 1; last >= 0 && strings.HasPrefix(e.lines[last], kind+": ") {
			e.lines[last] += text
			return
		}
		e.lines = append(e.lines, kind+": "+text)
	}
	switch {
	case u.AgentMessageChunk != nil:
		add("agent", u.AgentMessageChunk.Content.Text.Text)
	case u.AgentThoughtChunk != nil:
		add("thought", u.AgentThoughtChunk.Content.Text.Text)
	case u.UserMessageChunk != nil && u.UserMessageChunk.Content.Image != nil:
		e.lines = append(e.lines, "user: image of "+u.UserMessageChunk.Content.Image.MimeType)
	case u.UserMessageChunk != nil:
		add("user", u.UserMessageChunk.Content.Text.Text)
	case u.Plan != nil:
		line := "plan:"
		for _, p := range u.Plan.Entries {
			line += fmt.Sprintf(" %s (%s)", p.Content, p.Status)
		}
		e.lines = append(e.lines, line)
	case u.ToolCall != nil:
		line := fmt.Sprintf("call: %s [%s]", u.ToolCall.Title, u.ToolCall.Kind)
		for _, l := range u.ToolCall.Locations {
			line += " at " + filepath.Base(l.Path)
		}
		e.lines = append(e.lines, line)
	case u.AvailableCommandsUpdate != nil:
		for _, c := range u.AvailableCommandsUpdate.AvailableCommands {
			e.commands = append(e.commands, c.Name+": "+c.Description)
		}
	case u.ToolCallUpdate != nil && *u.ToolCallUpdate.Status == acp.ToolCallStatusInProgress:
		for _, c := range u.ToolCallUpdate.Content {
			e.progress = append(e.progress, c.Content.Content.Text.Text)
		}
	case u.ToolCallUpdate != nil:
		line := fmt.Sprintf("result: %s", *u.ToolCallUpdate.Status)
		for _, c := range u.ToolCallUpdate.Content {
			if c.Diff != nil {
				line += fmt.Sprintf(" %s: %v -> %q", filepath.Base(c.Diff.Path), c.Diff.OldText, c.Diff.NewText)
			} else if c.Content.Content.Text != nil {
				text, _, _ := strings.Cut(c.Content.Content.Text.Text, "\n[The command")
				line += " " + text
			}
		}
		e.lines = append(e.lines, line)
	}
	return nil
}

// RequestPermission implements [acp.Client].
func (e *editor) RequestPermission(ctx context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	e.mu.Lock()
	e.asked = append(e.asked, r)
	if len(e.answers) == 0 { // the prompt is canceled meanwhile
		e.mu.Unlock()
		<-ctx.Done()
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
	}
	answer := e.answers[0]
	e.answers = e.answers[1:]
	e.mu.Unlock()
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(answer)}, nil
}

// taken returns the updates since the last call.
func (e *editor) taken() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.lines
	e.lines = nil
	return out
}

func (e *editor) session(t testing.TB) acp.SessionId {
	t.Helper()
	s, err := e.NewSession(t.Context(), acp.NewSessionRequest{Cwd: e.dir, McpServers: []acp.McpServer{}})
	must.Succeed(t, err)
	return s.SessionId
}

func (e *editor) prompt(t testing.TB, id acp.SessionId, content ...acp.ContentBlock) acp.StopReason {
	t.Helper()
	got, err := e.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: content})
	must.Succeed(t, err)
	return got.StopReason
}

func equalLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestACP works in an editor: a prompt with text, an image and a file, whose steps, diffs and plan
// are shown while they happen; then another client lists and loads the session.
func TestACP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := newBench(t, strings.ReplaceAll(`
  - {match: {user: write it}, reply: {text: "I write it.", reasoning: "hm", tool_calls: [{name: task_tracker, arguments: {command: plan, task_list: [{title: write, status: in_progress}]}}]}}
  - {match: {user: write it}, reply: {tool_calls: [{name: file_editor, arguments: {command: create, path: "DIR/file", file_text: "hello"}}]}}
  - {match: {user: write it}, reply: {tool_calls: [{name: terminal, arguments: {command: "cat file"}}]}}
  - {match: {user: write it}, reply: {tool_calls: [{name: finish, arguments: {message: "Written."}}]}}
  - {match: {user: and now}, reply: {text: "Which one?"}}
  - {match: {user: resumed}, reply: {tool_calls: [{name: finish, arguments: {message: "Went on."}}]}}
`, "DIR", dir))
	b.ws = dir
	e := b.editor(t)
	id := e.session(t)
	text := acp.ResourceBlock(acp.EmbeddedResourceResource{TextResourceContents: &acp.TextResourceContents{Uri: "file:///notes.md", Text: "a note"}})
	if got := e.prompt(t, id, acp.TextBlock("write it"), text, acp.ImageBlock(onePixel, "image/png")); got != acp.StopReasonEndTurn {
		t.Errorf("ended by %s", got)
	}
	steps := []string{
		"thought: hm", "agent: I write it.", "plan: write (in_progress)",
		"call: ✎ create " + dir + "/file [edit] at file", `result: completed file: <nil> -> "hello"`,
		"call: $ cat file [execute]", "result: completed ```\nhello\n```",
		"agent: Written.",
	}
	equalLines(t, "steps", e.taken(), steps)
	if got := e.prompt(t, id, acp.TextBlock("and now")); got != acp.StopReasonEndTurn {
		t.Errorf("ended by %s", got)
	}
	equalLines(t, "a question", e.taken(), []string{"agent: Which one?"})
	if err := e.end(); err != nil {
		t.Errorf("the end: %v", err)
	}

	other := b.editor(t)
	list, err := other.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: &dir})
	must.Succeed(t, err)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionId != id || list.Sessions[0].Cwd != dir {
		t.Errorf("sessions: %+v", list.Sessions)
	}
	loaded, err := other.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: id, Cwd: dir, McpServers: []acp.McpServer{}})
	must.Succeed(t, err)
	if loaded.Modes.CurrentModeId != "risky" {
		t.Errorf("modes: %+v", loaded.Modes)
	}
	want := append([]string{"user: write it\n\nfile:///notes.md:\n```\na note\n```", "user: image of image/png"}, steps...)
	equalLines(t, "history", other.taken(), append(want, "user: and now", "agent: Which one?"))
	_, err = other.CloseSession(t.Context(), acp.CloseSessionRequest{SessionId: id})
	must.Succeed(t, err)
	b.run(t, 0, "run", "-q", "--resume", string(id), "resumed")
}

// onePixel is a PNG.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// TestACPRefuses answers requests that cannot be carried out with an error that says why.
func TestACPRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {match: {user: for ever}, reply: {tool_calls: [{name: terminal, arguments: {command: "touch began; while :; do sleep 0.05; done"}}]}}
  - {match: {user: resumed}, reply: {tool_calls: [{name: finish, arguments: {message: "Went on."}}]}}
`)
	e := b.editor(t)
	id := e.session(t)
	for what, c := range map[string]struct {
		call func() error
		says string
	}{
		"another session": {func() error {
			_, err := e.Prompt(t.Context(), acp.PromptRequest{SessionId: "nothing", Prompt: []acp.ContentBlock{acp.TextBlock("x")}})
			return err
		}, "there is no such session"},
		"an empty prompt": {func() error {
			_, err := e.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(" ")}})
			return err
		}, "the prompt is empty"},
		"a sound": {func() error {
			_, err := e.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.AudioBlock("AA==", "audio/wav")}})
			return err
		}, "text, images and texts of files"},
		"no directory": {func() error {
			_, err := e.NewSession(t.Context(), acp.NewSessionRequest{Cwd: filepath.Join(b.ws, "gone"), McpServers: []acp.McpServer{}})
			return err
		}, "gone"},
		"a relative directory": {func() error {
			_, err := e.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "sub", McpServers: []acp.McpServer{}})
			return err
		}, "is not absolute"},
		"a mode": {func() error {
			_, err := e.SetSessionMode(t.Context(), acp.SetSessionModeRequest{SessionId: id, ModeId: "yolo"})
			return err
		}, "there is no mode yolo"},
		"a session that was not begun": {func() error {
			_, err := e.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: "5b2c1a00-0000-4000-8000-000000000001", Cwd: b.ws, McpServers: []acp.McpServer{}})
			return err
		}, "there is no such session"},
	} {
		if err := c.call(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if list, err := e.ListSessions(t.Context(), acp.ListSessionsRequest{}); err != nil || len(list.Sessions) != 0 {
		t.Errorf("a session without a prompt is listed: %+v, %v", list, err)
	}

	// The editor goes away while a command runs.
	began := filepath.Join(b.ws, "began")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = e.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock("for ever")}}) // the connection ends
	}()
	waittest.Until(t, "the command runs", func() bool { _, err := os.Stat(began); return err == nil })
	if err := e.end(); err != nil {
		t.Errorf("the end: %v", err)
	}
	<-ended
	b.run(t, 0, "run", "-q", "--resume", string(id), "resumed")
}

// TestACPPermissions asks for permissions by the modes of the session: one is refused, the others
// of its kind are allowed at once.
func TestACPPermissions(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {match: {user: list}, reply: {tool_calls: [{name: terminal, arguments: {command: "echo one"}}]}}
  - {match: {user: list}, reply: {tool_calls: [{name: terminal, arguments: {command: "echo two"}}]}}
  - {match: {user: list}, reply: {tool_calls: [{name: terminal, arguments: {command: "echo two"}}]}}
  - {match: {user: list}, reply: {text: "Done."}}
  - {match: {user: again}, reply: {tool_calls: [{name: terminal, arguments: {command: "echo three"}}]}}
  - {match: {user: other}, reply: {text: "Other."}}
`)
	e := b.editor(t)
	id := e.session(t)
	_, err := e.SetSessionMode(t.Context(), acp.SetSessionModeRequest{SessionId: id, ModeId: "always"})
	must.Succeed(t, err)
	e.answers = []acp.PermissionOptionId{"reject", "always"}
	if got := e.prompt(t, id, acp.TextBlock("list")); got != acp.StopReasonEndTurn {
		t.Errorf("ended by %s", got)
	}
	equalLines(t, "permissions", e.taken(), []string{
		"call: $ echo one [execute]", "result: failed The user has refused the action.",
		"call: $ echo two [execute]", "result: completed ```\ntwo\n```",
		"call: $ echo two [execute]", "result: completed ```\ntwo\n```", "agent: Done.",
	})
	if r := e.asked[0]; len(e.asked) != 2 || *r.ToolCall.Title != "Run a command: echo one" || len(r.Options) != 3 {
		t.Errorf("asked: %+v", e.asked)
	}

	// A prompt that is canceled while its question is open, and another one after it.
	done := make(chan acp.StopReason)
	go func() { done <- e.prompt(t, id, acp.TextBlock("again")) }()
	waittest.Until(t, "the question", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return len(e.asked) == 3 })
	must.Succeed(t, e.Cancel(t.Context(), acp.CancelNotification{SessionId: id}))
	if got := <-done; got != acp.StopReasonCancelled {
		t.Errorf("ended by %s", got)
	}
	equalLines(t, "canceled", e.taken(), []string{"call: $ echo three [execute]"})
	if got := e.prompt(t, id, acp.TextBlock("other")); got != acp.StopReasonEndTurn {
		t.Errorf("ended by %s", got)
	}
	equalLines(t, "another", e.taken(), []string{"result: failed The user has given another task.", "agent: Other."})
}

// TestACPAnalyzer has a service rate the actions of a session, also after a change of its mode.
func TestACPAnalyzer(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {match: {user: rated}, reply: {tool_calls: [{name: terminal, arguments: {command: "echo one"}}]}}
  - {match: {user: rated}, reply: {text: "Done."}}
  - {match: {user: again}, reply: {tool_calls: [{name: terminal, arguments: {command: "echo two"}}]}}
  - {match: {user: again}, reply: {text: "Done again."}}
`)
	rater := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"risk": "HIGH", "reason": "a harmless command"}`)
	}))
	t.Cleanup(rater.Close)
	file := filepath.Join(t.TempDir(), "rater.json")
	must.Succeed(t, os.WriteFile(file, fmt.Appendf(nil, `{"kind": "HTTPSecurityAnalyzer", "url": %q}`, rater.URL), 0o600))
	e := b.editor(t, "--analyzer", file)
	id := e.session(t)
	e.answers = []acp.PermissionOptionId{"once", "reject"}
	e.prompt(t, id, acp.TextBlock("rated"))
	for _, mode := range []acp.SessionModeId{"never", "risky"} {
		_, err := e.SetSessionMode(t.Context(), acp.SetSessionModeRequest{SessionId: id, ModeId: mode})
		must.Succeed(t, err)
	}
	e.prompt(t, id, acp.TextBlock("again"))
	equalLines(t, "steps", e.taken(), []string{
		"call: $ echo one [execute]", "result: completed ```\none\n```", "agent: Done.",
		"call: $ echo two [execute]", "result: failed The user has refused the action.", "agent: Done again.",
	})
	if len(e.asked) != 2 {
		t.Errorf("asked: %+v", e.asked)
	}
}

// TestACPProgress shows the output of a command and the work of a sub-agent before they end, and the
// commands of the project's skills.
func TestACPProgress(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {match: {user: show me}, reply: {tool_calls: [{name: terminal, arguments: {command: "echo first; until [ -e go ]; do sleep 0.05; done; echo last"}}]}}
  - {match: {user: show me}, reply: {tool_calls: [{name: task, arguments: {description: look, prompt: "look around"}}]}}
  - {match: {user: look around}, reply: {tool_calls: [{name: terminal, arguments: {command: "echo inner; until [ -e on ]; do sleep 0.05; done"}}]}}
  - {match: {user: look around}, reply: {text: "Looked."}}
  - {match: {user: show me}, reply: {text: "Done."}}
`)
	must.Succeed(t, os.MkdirAll(filepath.Join(b.ws, ".agents", "skills"), 0o700))
	must.Succeed(t, os.WriteFile(filepath.Join(b.ws, ".agents", "skills", "review.md"), []byte("---\nname: review\ndescription: Reviews a change.\ntriggers: [/review]\n---\nReview it.\n"), 0o600))
	e := b.editor(t, "--confirm", "never")
	id := e.session(t)
	waittest.Until(t, "the commands", func() bool { e.mu.Lock(); defer e.mu.Unlock(); return len(e.commands) > 0 })
	done := make(chan acp.StopReason)
	go func() { done <- e.prompt(t, id, acp.TextBlock("show me")) }()
	shown := func(text string) func() bool {
		return func() bool {
			e.mu.Lock()
			defer e.mu.Unlock()
			return slices.ContainsFunc(e.progress, func(one string) bool { return strings.Contains(one, text) && !strings.Contains(one, "last") })
		}
	}
	waittest.Until(t, "the output", shown("first"))
	must.Succeed(t, os.WriteFile(filepath.Join(b.ws, "go"), nil, 0o600))
	waittest.Until(t, "the sub-agent's work", shown("$ echo inner"))
	must.Succeed(t, os.WriteFile(filepath.Join(b.ws, "on"), nil, 0o600))
	if got := <-done; got != acp.StopReasonEndTurn {
		t.Errorf("ended by %s", got)
	}
	if d := cmp.Diff([]string{"review: Reviews a change."}, e.commands); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	lines := e.taken()
	if len(lines) != 5 || lines[1] != "result: completed ```\nfirst\nlast\n```" || lines[4] != "agent: Done." {
		t.Errorf("%s", strings.Join(lines, "\n"))
	}
}

// BenchmarkACPTurn is a prompt that the model answers at once: the whole turn, with the model's
// HTTP, in an editor's session.
func BenchmarkACPTurn(b *testing.B) {
	script, err := llmtest.Parse([]byte("turns: [{repeat: forever, reply: {text: fine}}]"))
	if err != nil {
		b.Fatal(err)
	}
	r := &bench{ws: b.TempDir(), home: b.TempDir(), llm: llmtest.Start(b, script)}
	e := r.editor(b)
	id := e.session(b)
	e.prompt(b, id, acp.TextBlock("begin"))
	for b.Loop() {
		e.prompt(b, id, acp.TextBlock("go on"))
	}
}
