package acpagent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/spec"
)

// TestTurn holds what a turn becomes: messages, calls, permissions, plans, files and terminals.
func TestTurn(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	file := filepath.Join(c.dir, "sub", "a.txt")
	got := c.turn("think Hm.", "say Looking.", "plan Look|Fix it", "run echo hi; exit 3", "write "+file+" hello", "read "+file, "garbage", "say  Done.", "cost 0.5")
	if want := `a.txt has "hello\n" Done.`; got != want {
		t.Errorf("the last message is %q, want %q", got, want)
	}
	want := []string{
		"agent: Looking.",
		"plan: Look (in_progress) Fix it (todo)",
		"call: `echo hi; exit 3` [execute] pending",
		"may run: echo hi; exit 3",
		"call: `echo hi; exit 3` [execute] completed " + `[{"terminal_id":"term-1","type":"terminal"},{"content":{"text":"hi\n","type":"text"},"type":"content"}]`,
		`agent: it said "hi" (3)`,
		"call: Write a.txt [edit] pending " + `[{"new_text":"hello\n","path":"DIR/sub/a.txt","type":"diff"}]`,
		"may create: a.txt",
		"call: Write a.txt [edit] completed " + `[{"new_text":"hello\n","path":"DIR/sub/a.txt","type":"diff"}]`,
		`finish: a.txt has "hello\n" Done.`,
	}
	if d := cmp.Diff(want, c.log()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !strings.HasPrefix(c.deltas.String(), "Looking.it said") {
		t.Errorf("streamed %q", c.deltas.String())
	}
	if s := c.state(); len(s.Tasks) != 2 || s.Tasks[1].Title != "Fix it" {
		t.Errorf("tasks %+v", s.Tasks)
	}
	if len(c.spent) != 1 || c.spent[0].Response.Cost != 0.5 || c.spent[0].Response.Usage.Prompt != 10 || c.spent[0].Info.Name != "small" || c.spent[0].Info.ContextWindow != 1000 {
		t.Errorf("spent %+v", c.spent)
	}
	if c.turn("cost 0.25"); len(c.spent) != 2 || c.spent[1].Response.Cost != 0.25 {
		t.Errorf("spent %+v", c.spent)
	}
}

// TestRefusals holds that the program is told no, and why where the user says it.
func TestRefusals(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.allow = func(*event.ActionEvent) string { return " " } // no reason
	if got := c.turn("run touch x", "ask the page", "say over"); got != "the page allowed: falseover" {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "x")); err == nil {
		t.Error("the command ran")
	}
	c.allow = func(*event.ActionEvent) string { return "prompt use make" }
	if got := c.turn("run touch x"); got != "use make" && !strings.Contains(got, "message") {
		t.Errorf("%q", got)
	}
	c.allow = func(*event.ActionEvent) string { return "" }
	if got := c.turn("history"); !strings.Contains(got, "The user has refused:\n- `touch x`: prompt use make") {
		t.Errorf("%q", got)
	}
}

// TestOutside holds that files and terminals are of the workspace alone.
func TestOutside(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	for _, path := range []string{"/etc/passwd", c.dir + "/../x", "relative", filepath.Join(c.dir, "none")} {
		if got := c.turn("read " + path); !strings.HasPrefix(got, "cannot read: ") {
			t.Errorf("%s: %q", path, got)
		}
	}
	outside := filepath.Join(t.TempDir(), "x")
	c.turn("write " + outside + " text")
	if _, err := os.Stat(outside); err == nil {
		t.Error("a file outside was written")
	}
	var opened []string
	for range 33 {
		opened = append(opened, "open sleep 600")
	}
	if got := c.turn(opened...); !strings.Contains(got, "there are 32 terminals already") {
		t.Errorf("%q", got)
	}
}

// TestFailures holds what users are told of programs that do not do as they should, and that the
// conversation goes on with the next message.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args, send []string
		change     func(*talk)
		code       string
		says       []string
	}{
		"missing":         {change: func(c *talk) { c.cfg.Fields.Command = []string{"no-such-agent"} }, code: "ACPSpawnError", says: []string{"no-such-agent"}},
		"garbage":         {args: []string{"-start", "garbage"}, send: []string{"say hi"}},
		"flood":           {args: []string{"-start", "flood"}, send: []string{"say hi"}},
		"no protocol":     {change: func(c *talk) { c.cfg.Fields.Command = []string{"echo", "s3cret usage: agent [options]"} }, code: "ACPInitError", says: []string{"has ended before it was ready", "it said last: <secret-hidden> usage"}},
		"silent":          {args: []string{"-start", "hang"}, change: func(c *talk) { c.cfg.Fields.StartupTimeout = 0.2 }, code: "ACPStartupTimeout", says: []string{"was not ready within 200ms"}},
		"dies at once":    {args: []string{"-start", "die"}, code: "ACPInitError", says: []string{"cannot find my configuration"}},
		"version":         {args: []string{"-start", "version"}, code: "ACPInitError", says: []string{"speaks version 7"}},
		"wants a login":   {args: []string{"-auth"}, code: "ACPAuthRequired", says: []string{"wants a login"}},
		"dies":            {send: []string{"say half", "die"}, code: "ACPPromptError", says: []string{"ended in the middle", "out of cheese"}},
		"refuses":         {send: []string{"fail the model is overloaded"}, code: "ACPPromptError", says: []string{"overloaded"}},
		"key":             {send: []string{"fail 401 Unauthorized s3cret"}, code: "ACPAuthRequired", says: []string{"401 Unauthorized <secret-hidden>"}},
		"hangs":           {send: []string{"say half", "deaf"}, change: func(c *talk) { c.cfg.Fields.PromptTimeout = 0.2 }, code: "ACPPromptError", says: []string{"has been silent for 200ms"}},
		"call unanswered": {send: []string{"leave something", "die"}, code: "ACPPromptError", says: []string{"ended in the middle"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTalk(t, tt.args...)
			good := *c.cfg.Fields
			good.Command = good.Command[:1]
			if tt.change != nil {
				tt.change(c)
			}
			if tt.send == nil {
				tt.send = []string{"say hi"}
			}
			c.send(tt.send...)
			got, err := c.run(t.Context())
			if tt.code == "" {
				if err != nil || got != "hi" {
					t.Errorf("%q, %v", got, err)
				}
				return
			}
			var f *agent.Failure
			if !errors.As(err, &f) || f.Code != tt.code {
				t.Fatalf("%q, %+v", got, err)
			}
			for _, part := range tt.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not say %q", err, part)
				}
			}
			log := strings.Join(c.log(), "\n")
			if tt.send[0] == "say half" && !strings.Contains(log, "agent: half") || tt.send[0] == "leave something" && !strings.Contains(log, "call: something [other] failed") {
				t.Errorf("what came of the turn is lost:\n%s", log)
			}
			*c.cfg.Fields = good // the user has mended it
			if got := c.turn("say better"); got != "hibetter" && got != "better" {
				t.Errorf("the next message: %q", got)
			}
		})
	}
}

// TestStop holds that a turn that is interrupted ends, that nothing of it is lost, and that the next
// one continues.
func TestStop(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.send("say half", "leave something", "wait")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	emit := make(chan struct{}, 100)
	go func() {
		_, err := c.a.Step(ctx, agent.Turn{State: c.state(), Delta: noDelta, Spend: func(agent.Spending) {}, Emit: func(evs ...event.Event) error {
			defer func() { emit <- struct{}{} }()
			return c.add(evs...)
		}})
		done <- err
	}()
	for !strings.Contains(strings.Join(c.log(), "\n"), "call: something") {
		<-emit
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if d := cmp.Diff([]string{"agent: half", "call: something [other] pending", "call: something [other] failed"}, c.log()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	got, err := c.run(t.Context())
	if err != nil || got != "half" && !strings.Contains(got, "without a message") {
		t.Errorf("%q %v", got, err)
	}
	if got := c.turn("history"); !strings.Contains(got, "You were interrupted. Go on") || strings.Count(got, "say half") != 1 {
		t.Errorf("%q", got)
	}
}

// TestCostLimit ends a program at the limit of costs: one that ignores a cancel would go on, and cost more.
func TestCostLimit(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.limit = 0.4
	c.send("say half", "leave something", "cost 0.5", "ignore", "cost 5", "deaf")
	if _, err := c.run(t.Context()); !fault.Is(err, fault.Limit) {
		t.Errorf("%v", err)
	}
	if d := cmp.Diff([]string{"agent: half", "call: something [other] pending", "call: something [other] failed"}, c.log()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(c.spent) != 1 || c.spent[0].Response.Cost != 0.5 {
		t.Errorf("spent %+v", c.spent)
	}
	c.limit = 9
	if got := c.turn("say better"); got != "better" {
		t.Errorf("with another limit: %q", got)
	}
}

// TestNewMessage holds that a message takes the place of a question that waits.
func TestNewMessage(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	c.send("run touch x", "say over")
	evs, err := c.step(t.Context())
	must.Succeed(t, err)
	must.Succeed(t, c.add(evs...))
	asked := c.state().Pending
	if len(asked) != 1 || asked[0].Action.(*event.TerminalAction).Command != "touch x" {
		t.Fatalf("%+v", asked)
	}
	must.Succeed(t, c.add(&event.UserRejectObservation{Base: event.NewBase(event.SourceEnvironment), ActionID: asked[0].ID, ToolCallID: asked[0].ToolCallID, RejectionReason: "Superseded"}))
	if got := c.turn("say other"); got != "other" {
		t.Errorf("%q", got)
	}
	log := strings.Join(c.log(), "\n")
	if !strings.Contains(log, "call: `touch x` [execute] failed") || strings.Contains(log, "over") {
		t.Errorf("%s", log)
	}
}

// TestSessions holds that a program that is started again knows the conversation: by its session, or
// else by text, which the user is told.
func TestSessions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args    []string
		resumes bool
	}{
		"load": {[]string{"-sessions"}, true}, "resume": {[]string{"-resume", "-sessions"}, true}, "none": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := tt.args
			if args != nil {
				args = append(args, t.TempDir())
			}
			c := newTalk(t, args...)
			c.turn("say the code is 42")
			must.Succeed(t, c.a.Close())
			c.start()
			got := c.turn("history")
			if tt.resumes != strings.HasPrefix(got, "before: say the code is 42") {
				t.Errorf("%q", got)
			}
			told := strings.Contains(strings.Join(c.log(), "\n"), "cannot resume its session")
			if told == tt.resumes || strings.Contains(got, "of the history") {
				t.Errorf("told %v: %q", told, got)
			}
			if got = c.turn("history"); !tt.resumes && !strings.Contains(got, "This is the conversation so far") {
				t.Errorf("%q", got)
			}
			// A fork has the same notes, and must not write into the session.
			c.cfg.Conversation = event.NewConversationID()
			c.start()
			if got := c.turn("say fork"); got != "fork" || !strings.Contains(strings.Join(c.log(), "\n"), "has taken another way") {
				t.Errorf("%q\n%s", got, strings.Join(c.log(), "\n"))
			}
		})
	}
}

// TestChoices holds that the program gets the model, the mode, the secrets and files of secrets.
func TestChoices(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	large, auto := "large", "auto"
	c.cfg.Fields.Model, c.cfg.Fields.SessionMode = &large, &auto
	c.cfg.Suffix = "say suffix"
	c.cfg.Secrets = func(context.Context) map[string]string { return map[string]string{"TOKEN": "v1"} }
	c.start()
	if got := c.turn("model", "env TOKEN", "history"); got != "model large mode autoTOKEN is v1before: suffix" {
		t.Errorf("%q", got)
	}
	must.Succeed(t, c.a.SetModel(t.Context(), "small"))
	if got := c.turn("model"); got != "model small mode auto" {
		t.Errorf("%q", got)
	}
	if err := c.a.SetModel(t.Context(), "huge"); err == nil {
		t.Error("no error for a model that is not there")
	}
	if got := c.turn("many 20000", "stop refusal"); len(got) < 20000 || !strings.Contains(got, "its model refuses") {
		t.Errorf("%d bytes", len(got))
	}
}

// TestFilesOfSecrets holds that a program finds a secret as a file, and not as a variable; and that
// its data has a directory of its own if the settings want that.
func TestFilesOfSecrets(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	codex := "codex"
	c.cfg.Fields.Server, c.cfg.Fields.IsolateDataDir = &codex, true
	c.cfg.Fields.FileSecrets = []spec.FileSecret{
		{Secret: "CODEX_AUTH_JSON", File: "auth.json", Variable: "CODEX_HOME", Dir: "codex", PointsTo: "dir"},
		{Secret: "OWN_JSON", File: "own.json", Variable: "OWN_FILE", Dir: "own", PointsTo: "file"},
		{Secret: "PI_AUTH_JSON", File: "auth.json", Variable: "PI_CODING_AGENT_DIR", Dir: "pi", PointsTo: "dir"},
	}
	c.cfg.Secrets = func(context.Context) map[string]string {
		return map[string]string{"CODEX_AUTH_JSON": `{"a": "$HOME 'x'"}`, "OWN_JSON": "own", "PI_AUTH_JSON": "pi"}
	}
	c.start()
	root := "/tmp/acp-" + c.cfg.Conversation.Hex()
	t.Cleanup(func() { must.Report(t, os.RemoveAll(root)) })
	want := "CODEX_HOME is " + root + "/codexOWN_FILE is " + root + "/own/own.jsonPI_CODING_AGENT_DIR is CODEX_AUTH_JSON is DEFT_ACP_FILE_0 is "
	if got := c.turn("env CODEX_HOME", "env OWN_FILE", "env PI_CODING_AGENT_DIR", "env CODEX_AUTH_JSON", "env DEFT_ACP_FILE_0"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, err := os.ReadFile(root + "/codex/auth.json"); err != nil || string(got) != `{"a": "$HOME 'x'"}` {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := os.Stat(root + "/own/own.json"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	must.Succeed(t, os.WriteFile(root+"/codex/auth.json", []byte("renewed"), 0o600))
	must.Succeed(t, c.a.Close())
	if got, err := os.ReadFile(root + "/codex/auth.json"); err != nil || string(got) != "renewed" {
		t.Errorf("a renewed login is %q at the end, %v", got, err)
	}
	if _, err := os.Stat(root + "/own/own.json"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a secret is left: %v", err)
	}
}

// TestAsk holds that the program's history is its own affair.
func TestAsk(t *testing.T) {
	t.Parallel()
	c := newTalk(t)
	if _, err := c.a.Ask(t.Context(), nil, c.state(), "", "what?"); !fault.Is(err, fault.Unsupported) {
		t.Errorf("%v", err)
	}
	must.Succeed(t, c.add(&event.CondensationRequest{Base: event.NewBase(event.SourceEnvironment)}))
	if _, err := c.step(t.Context()); !fault.Is(err, fault.Unsupported) {
		t.Errorf("%v", err)
	}
}

// BenchmarkTurn is the cost of a turn beside the program's own work and the store: at most 5 ms.
func BenchmarkTurn(b *testing.B) {
	c := newTalk(b)
	c.turn("say begin")
	for b.Loop() {
		c.events = c.events[:0] // their encoding is not measured
		c.turn("say hi")
	}
}

// TestDiscover asks a program for its models, and one that wants a login.
func TestDiscover(t *testing.T) {
	t.Parallel()
	got, err := newTalk(t).a.Discover(t.Context())
	must.Succeed(t, err)
	name, version, model := "scripted", "1", "small"
	want := spec.ACPDiscovery{
		Name: &name, Version: &version, Models: []spec.ACPModelInfo{{ID: "small", Name: "Small"}, {ID: "large", Name: "Large"}}, Model: &model, Switches: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = newTalk(t, "-auth").a.Discover(t.Context())
	if f, ok := errors.AsType[*agent.Failure](err); !ok || f.Code != "ACPAuthRequired" {
		t.Errorf("without a login: %v", err)
	}
}
