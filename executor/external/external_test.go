package external_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/executor/external"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/program"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script writes an executor program in sh whose answer to init is first.
func script(t *testing.T, dir, body string) string {
	t.Helper()
	file := filepath.Join(dir, "executor.sh")
	must.Succeed(t, os.WriteFile(file, []byte("#!/bin/sh\n"+body), 0o700))
	return file
}

const (
	readInit = "read -r line\n"
	offer    = readInit + `echo '{"id":1,"result":{"protocol":1,"tools":[{"name":"deploy","description":"Deploys."}]}}'` + "\n"
)

func options(file, dir string) external.Options {
	env := append(os.Environ(), "DEPLOY_TARGET=x")
	return external.Options{
		Path: file, Workspace: dir, Env: env, Starter: program.New(program.Options{Env: env, Dir: dir}),
		Reserved: []string{"FinishAction"}, StartTimeout: 2 * time.Minute,
	}
}

// start starts a program that is closed with the test.
func start(t *testing.T, o external.Options) *external.Program {
	t.Helper()
	p, err := external.Start(t.Context(), o)
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, p.Close()) })
	return p
}

func call(t *testing.T, id, action string) tool.Call {
	t.Helper()
	a, err := event.UnmarshalAction([]byte(action))
	must.Succeed(t, err)
	return tool.Call{ID: event.ID(id), Action: a, Tool: "deploy", Progress: func(tool.Chunk) {}}
}

// execute runs an action and returns the observation's text and whether it failed.
func execute(t *testing.T, ctx context.Context, p *external.Program, c tool.Call) (string, bool) {
	t.Helper()
	obs, err := p.Execute(ctx, c)
	must.Succeed(t, err)
	return event.JoinText(obs.Result().Content), obs.Result().IsError
}

func TestProgramsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	answer := func(json string) string { return readInit + "cat <<'EOF'\n" + json + "\nEOF\nread -r line\n" }
	result := func(json string) string { return answer(`{"id":1,"result":` + json + `}`) }
	for name, c := range map[string]struct {
		body string
		kind fault.Kind
		says string
	}{
		"dies":             {"echo no licence >&2; exit 3\n", fault.Invalid, "it has ended, or closed its standard output; it wrote to standard error: no licence"},
		"garbage":          {readInit + "echo Loading model...\nread -r line\n", fault.Invalid, `that is no message: "Loading model...\n"`},
		"silent":           {"sleep 60\n", fault.Timeout, "has not answered init within 300ms"},
		"long line":        {"head -c 17000000 /dev/zero | tr '\\0' x\nread -r line\n", fault.Invalid, "a line of more than 16 MiB"},
		"refuses":          {answer(`{"id":1,"error":{"message":"the database is down"}}`), fault.Internal, "the program says: the database is down"},
		"neither":          {answer(`{"id":1}`), fault.Invalid, "not exactly one of result and error"},
		"other version":    {result(`{"protocol":2,"actions":["DeployAction"]}`), fault.Invalid, "it speaks version 2 of the protocol, this program version 1"},
		"no version":       {result(`{"actions":["DeployAction"]}`), fault.Invalid, "it speaks version 0"},
		"no action":        {result(`{"protocol":1}`), fault.Invalid, "it names no action"},
		"wrong form":       {result(`{"protocol":"one"}`), fault.Invalid, "its answer to init cannot be read"},
		"reserved":         {result(`{"protocol":1,"actions":["FinishAction"]}`), fault.Invalid, "it names FinishAction, which no executor gets"},
		"tool twice":       {result(`{"protocol":1,"tools":[{"name":"a","description":"d"},{"name":"a","description":"d"}]}`), fault.Invalid, "two tools called a"},
		"tool of ours":     {result(`{"protocol":1,"tools":[{"name":"a","description":"d","action":"TerminalAction"}]}`), fault.Invalid, "belongs to an action of Deft"},
		"no description":   {result(`{"protocol":1,"tools":[{"name":"a"}]}`), fault.Invalid, "it has no description"},
		"bad name":         {result(`{"protocol":1,"tools":[{"name":"a b","description":"d"}]}`), fault.Invalid, "a name begins with a letter"},
		"bad schema":       {result(`{"protocol":1,"tools":[{"name":"a","description":"d","parameters":[]}]}`), fault.Invalid, "parameters of tool a"},
		"hidden text":      {result(`{"protocol":1,"tools":[{"name":"a","description":"d\u202e"}]}`), fault.Invalid, "characters that cannot be seen"},
		"parameter \"kind": {result(`{"protocol":1,"tools":[{"name":"a","description":"d","parameters":{"type":"object","properties":{"kind":{"type":"string"}}}}]}`), fault.Invalid, `a parameter cannot be called "kind"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			o := options(script(t, dir, c.body), dir)
			if c.kind == fault.Timeout {
				o.StartTimeout = 300 * time.Millisecond
			}
			p, err := external.Start(t.Context(), o)
			if err == nil {
				t.Fatal("it started: ", p.Kinds(), p.Close())
			}
			if fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %v (%v), want %v with %q", err, fault.KindOf(err), c.kind, c.says)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	must.Succeed(t, os.WriteFile(plain, nil, 0o600))
	for path, want := range map[string]struct {
		kind fault.Kind
		says string
	}{
		"relative":                    {fault.Invalid, "must be an absolute path"},
		filepath.Join(dir, "missing"): {fault.NotFound, "does not exist"},
		dir:                           {fault.Invalid, "is not a file"},
		plain:                         {fault.Invalid, "is not executable"},
	} {
		if err := external.Check(path); fault.KindOf(err) != want.kind || !strings.Contains(err.Error(), want.says) {
			t.Errorf("%s: %v", path, err)
		}
	}
	must.Report(t, external.Check(script(t, dir, "")))
}

func TestActionsAndHooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := external.Start(t.Context(), options(script(t, dir, `read -r line
echo "$line" > init
echo '{"id":1,"result":{"protocol":1,"actions":["TerminalAction"],"tools":[{"name":"deploy-all","description":"Deploys.","annotations":{"readOnlyHint":true}}]}}'
read -r line
echo "$line" > execute
echo '{"method":"progress","params":{"id":"a1","text":"half"}}'
echo '{"id":2,"result":{"observation":{"content":[{"type":"text","text":"rolled out"}]}}}'
read -r line
echo "$line" > close
echo '{"id":3,"result":{}}'
`), dir))
	must.Succeed(t, err)
	if got := strings.Join(p.Kinds(), " "); got != "DeployAllAction TerminalAction" {
		t.Error("kinds:", got)
	}
	d := p.Tools()[0].Definition()
	if d.Name != "deploy-all" || d.ActionKind != "DeployAllAction" || d.ObservationKind != "DeployAllObservation" || d.Annotations.ReadOnly {
		t.Errorf("definition %+v", d)
	}
	var seen []string
	c := call(t, "a1", `{"service":"shop","kind":"DeployAllAction"}`)
	c.Progress = func(ch tool.Chunk) { seen = append(seen, ch.Text) }
	c.Secrets = tool.Secrets{"TOKEN": "t0ken-value"}
	obs, err := p.Execute(t.Context(), c)
	must.Succeed(t, err)
	if obs.Kind() != "DeployAllObservation" || event.JoinText(obs.Result().Content) != "rolled out" || strings.Join(seen, "") != "half" {
		t.Errorf("observation %s %+v, progress %q", obs.Kind(), obs.Result(), seen)
	}
	must.Report(t, p.Close())
	must.Report(t, p.Close())
	for file, want := range map[string]string{
		"init":    `{"id":1,"method":"init","params":{"protocol":1,"workspace":"` + dir + `","environment":[`,
		"execute": `{"id":2,"method":"execute","params":{"id":"a1","tool":"deploy","action":{"service":"shop","kind":"DeployAllAction"},"secrets":{"TOKEN":"t0ken-value"}}}`,
		"close":   `{"id":3,"method":"close","params":{}}`,
	} {
		raw, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.HasPrefix(string(raw), want) {
			t.Errorf("%s: %s %v, want %s", file, raw, err, want)
		}
		if file == "init" && !strings.Contains(string(raw), `"DEPLOY_TARGET"`) {
			t.Errorf("init names no variables: %s", raw)
		}
	}
}

func TestBadAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ answer, says string }{
		"refused":        {`{"id":2,"error":{"message":"no such service"}}`, "no such service"},
		"no observation": {`{"id":2,"result":{}}`, `without an "observation"`},
		"no object":      {`{"id":2,"result":{"observation":[]}}`, "not an object"},
		"no content":     {`{"id":2,"result":{"observation":{"revision":1}}}`, `no "content"`},
		"content":        {`{"id":2,"result":{"observation":{"content":"done"}}}`, "content that cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := start(t, options(script(t, dir, offer+"read -r line\ncat <<'EOF'\n"+c.answer+"\nEOF\nread -r line\necho '{\"id\":3,\"result\":{}}'\n"), dir))
			if text, failed := execute(t, t.Context(), p, call(t, "a1", `{"kind":"DeployAction"}`)); !failed || !strings.Contains(text, c.says) {
				t.Errorf("observation %q, failed %v", text, failed)
			}
		})
	}
}

// TestCrash ends the program in the middle of its first action: that is said, and
// the next action runs in a new one.
func TestCrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, options(script(t, dir, offer+`read -r line
if [ ! -e crashed ]; then touch crashed; echo "lost token-12345" >&2; exit 9; fi
echo '{"id":2,"result":{"observation":{"content":[{"type":"text","text":"again"}]}}}'
read -r line
echo '{"id":3,"result":{}}'
`), dir))
	c := call(t, "a1", `{"kind":"DeployAction"}`)
	c.Secrets = tool.Secrets{"TOKEN": "token-12345"}
	text, failed := execute(t, t.Context(), p, c)
	if !failed || !strings.Contains(text, "has ended while it ran this action") || !strings.Contains(text, "lost <secret-hidden>") {
		t.Errorf("observation %q, failed %v", text, failed)
	}
	if text, failed := execute(t, t.Context(), p, call(t, "a2", `{"kind":"DeployAction"}`)); failed || text != "again" {
		t.Errorf("observation %q, failed %v", text, failed)
	}
}

// TestInterruptIgnored ends a program that does not stop.
func TestInterruptIgnored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := options(script(t, dir, offer+"read -r line\nread -r line\necho \"$line\" > interrupt\nsleep 60\n"), dir)
	o.InterruptGrace = 100 * time.Millisecond
	p := start(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	text, failed := execute(t, ctx, p, call(t, "a1", `{"kind":"DeployAction"}`))
	if !failed || !strings.Contains(text, "it was interrupted and has not stopped within 100ms") {
		t.Errorf("observation %q, failed %v", text, failed)
	}
}

// TestPythonExample runs the example with the real interpreter.
func TestPythonExample(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	file, err := filepath.Abs("../../examples/executor-python/executor.py")
	must.Succeed(t, err)
	dir := t.TempDir()
	p := start(t, options(file, dir))
	run := func(ctx context.Context, id, sql string) (string, bool) {
		raw, err := json.Marshal(map[string]string{"file": "shop.db", "sql": sql, "kind": "SqlQueryAction"})
		must.Succeed(t, err)
		return execute(t, ctx, p, call(t, id, string(raw)))
	}
	for _, c := range []struct {
		sql, want string
		failed    bool
	}{
		{"CREATE TABLE t(name, n)", "0 rows changed", false},
		{"INSERT INTO t VALUES('ann', 3), ('bob', 4)", "2 rows changed", false},
		{"SELECT name, n FROM t ORDER BY n DESC", "name\tn\nbob\t4\nann\t3", false},
		{"SELECT x FROM t", "OperationalError: no such column: x", true},
	} {
		if text, failed := run(t.Context(), "a-"+c.sql[:3], c.sql); text != c.want || failed != c.failed {
			t.Errorf("%s: %q, failed %v", c.sql, text, failed)
		}
	}
	// A query without an end is interrupted, and the program goes on.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	text, failed := run(ctx, "endless", "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT count(*) FROM c")
	if !failed || text != "OperationalError: interrupted" {
		t.Errorf("interrupted: %q, failed %v", text, failed)
	}
	if text, _ := run(t.Context(), "last", "SELECT count(*) FROM t"); text != "count(*)\n2" {
		t.Errorf("after the interrupt: %q", text)
	}
}
