package bash_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/bash"
)

func TestCommandsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		name           string
		req            bash.Request
		code           int
		stdout, stderr string
	}{
		{"both streams", bash.Request{Command: "echo out; echo err >&2; exit 3"}, 3, "out\n", "err\n"},
		{"silent", bash.Request{Command: "true"}, 0, "<null>", "<null>"},
		{"directory", bash.Request{Command: "pwd", Cwd: dir}, 0, dir + "\n", "<null>"},
		{"no directory", bash.Request{Command: "pwd", Cwd: "/nonexistent"}, -1, "<null>", "Error executing command: [Errno 2] No such file or directory: '/nonexistent'"},
		{"NUL", bash.Request{Command: "a\x00b"}, -1, "<null>", "Error executing command: embedded null byte"},
		{"not UTF-8", bash.Request{Command: `printf 'a\377\376b\303\251'`}, 0, "a\uFFFD\uFFFDbé", "<null>"},
		{"cut character", bash.Request{Command: `printf '\303'; exec >&2; printf '\342\202'`}, 0, "\uFFFD", "\uFFFD"},
		{"no time", bash.Request{Command: "sleep 60", Timeout: -1}, -1, "<null>", "<null>"},
		{"killed", bash.Request{Command: "kill -9 $$"}, -9, "<null>", "<null>"},
		{"background", bash.Request{Command: "(read x < /dev/null; echo late) &"}, 0, "late\n", "<null>"},
		{"no input", bash.Request{Command: "cat; echo done"}, 0, "done\n", "<null>"},
		{"session", bash.Request{Command: `ps -o sid= -p $$ | tr -d ' ' | grep -qx $$ && echo leader`}, 0, "leader\n", "<null>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := run(t, open(t, bash.Options{}), c.req)
			if got.code() != c.code || str(got.Stdout) != c.stdout || str(got.Stderr) != c.stderr {
				t.Errorf("got %d %q %q, want %d %q %q", got.code(), str(got.Stdout), str(got.Stderr), c.code, c.stdout, c.stderr)
			}
		})
	}
}

func TestEnvironmentHasNoSecrets(t *testing.T) {
	t.Parallel()
	s := open(t, bash.Options{Environ: func() []string {
		return []string{
			"PATH=" + os.Getenv("PATH"), "PLAIN=kept", "OH_SECRET_KEY=hidden1", "OH_SESSION_API_KEYS_3=hidden2",
			"SESSION_API_KEY=hidden3", "OH_WEBHOOKS_0_HEADERS=hidden4", "LLM_API_KEY=hidden5", "OPENAI_API_KEY=hidden6",
			"OTEL_EXPORTER_OTLP_HEADERS=hidden7", "AWS_SECRET_ACCESS_KEY=hidden8", "OH_PREVIOUS_SECRET_KEYS=hidden9",
			"OH_PERSISTENCE_DIR=/kept", "AI_AGENT= ", "OH_GITHUB_TOKEN=hidden10", "DEFT_API_TOKEN=hidden11",
		}
	}})
	got := str(run(t, s, bash.Request{Command: "env"}).Stdout)
	for _, want := range []string{"PLAIN=kept", "OH_PERSISTENCE_DIR=/kept", "AI_AGENT=openhands"} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "hidden") {
		t.Errorf("a secret in\n%s", got)
	}
}

func TestTimeoutEndsTheGroup(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "held")
	s := open(t, bash.Options{})
	if got := run(t, s, bash.Request{Command: "mkfifo " + fifo}); got.code() != 0 {
		t.Fatal(str(got.Stderr))
	}
	// A child that ignores SIGTERM and holds the output and the fifo open.
	for timeout := 1; ; timeout *= 2 { // until it is long enough for the first line
		got := run(t, s, bash.Request{Command: "exec 3<>" + fifo + "; echo first; (trap '' TERM; while :; do sleep 100; done) & wait", Timeout: timeout})
		if got.code() != -1 {
			t.Fatalf("got %d %q", got.code(), str(got.Stdout))
		}
		if str(got.Stdout) == "first\n" {
			break
		}
	}
	// Nobody holds it any more: opening for writing without a reader fails.
	probe := run(t, s, bash.Request{Command: "timeout 1 sh -c 'echo x > " + fifo + "'"})
	if probe.code() != 124 {
		t.Errorf("the child lives on: probe ended with %d", probe.code())
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	s := open(t, bash.Options{})
	f, err := s.Subscribe(bash.FromNow)
	must.Succeed(t, err)
	defer f.Close()
	for _, c := range []struct {
		command string
		code    int
	}{
		{"trap 'echo cleaned; exit 7' TERM; echo ready; while :; do sleep 0.05; done", 7},
		{"echo ready; exec sleep 100", -15},
		{"trap '' TERM; echo ready; while :; do sleep 100; done", -9},
	} {
		cmd, err := s.Start(bash.Request{Command: c.command, Timeout: 60})
		must.Succeed(t, err)
		for last := (event{}); str(last.Stdout) != "ready\n"; { // streamed before the end
			last = next(t, f)
		}
		must.Succeed(t, s.Stop(t.Context(), cmd.ID))
		if err := s.Stop(t.Context(), cmd.ID); err != nil {
			t.Errorf("stop again: %v", err)
		}
		last := next(t, f)
		if last.code() != c.code || last.Order != 1 {
			t.Errorf("%s: ended with %d, order %d; want %d", c.command, last.code(), last.Order, c.code)
		}
	}
	if err := s.Stop(t.Context(), bash.ID{1}); !fault.Is(err, fault.NotFound) {
		t.Errorf("stop of an unknown command: %v", err)
	}
}

func TestCloseKills(t *testing.T) {
	t.Parallel()
	s := open(t, bash.Options{})
	cmd, err := s.Start(bash.Request{Command: "sleep 100", Timeout: 200})
	must.Succeed(t, err)
	must.Succeed(t, s.Close())
	events, _ := all(t, s, bash.Query{Command: &cmd.ID})
	if len(events) != 1 || events[0].code() >= 0 {
		t.Errorf("events after close: %+v", events)
	}
	if _, err := s.Start(bash.Request{Command: "true"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("start after close: %v", err)
	}
}

func TestOutputComesInChunks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, bash.Options{Dir: dir})
	const size = 5<<19 + 100 // 2.5 MiB and a bit, in three-byte characters
	got := run(t, s, bash.Request{Command: "yes € | tr -d '\\n' | head -c " + strconv.Itoa(size/3*3)})
	if want := strings.Repeat("€", size/3); str(got.Stdout) != want || got.code() != 0 || got.Order != 2 {
		t.Fatalf("got %d bytes, code %d, order %d", len(str(got.Stdout)), got.code(), got.Order)
	}
	after := 0
	outputs, _ := all(t, s, bash.Query{Kind: bash.KindOutput, OrderAfter: &after, Limit: 1})
	if len(outputs) != 2 || outputs[0].Order != 1 || outputs[1].code() != 0 {
		t.Errorf("after order 0: %d events", len(outputs))
	}
	if outputs[0].ExitCode != nil {
		t.Error("a chunk has an exit code")
	}
}

var fileName = regexp.MustCompile(`^\d{20}_(BashCommand|BashOutput_[0-9a-f]{32})_[0-9a-f]{32}$`)

func TestFilesAreTheReferences(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const command, output = "20261121162818772038_BashCommand_ef2c2bc82aca44a6b2ac014ab16e00a8",
		"20261121162818774978_BashOutput_ef2c2bc82aca44a6b2ac014ab16e00a8_74653d8bb493487cbe04bffd127aa664"
	for name, text := range map[string]string{
		command: "{\n  \"command\": \"x\",\n  \"cwd\": null,\n  \"timeout\": 300,\n  \"id\": \"ef2c2bc82aca44a6b2ac014ab16e00a8\",\n  \"timestamp\": \"2026-11-21T16:28:18.772038Z\",\n  \"kind\": \"BashCommand\"\n}",
		output:  "{\n  \"id\": \"74653d8bb493487cbe04bffd127aa664\",\n  \"timestamp\": \"2026-11-21T16:28:18.774978Z\",\n  \"command_id\": \"ef2c2bc82aca44a6b2ac014ab16e00a8\",\n  \"order\": 4,\n  \"exit_code\": 3,\n  \"stdout\": \"h\\u00e9\",\n  \"stderr\": null,\n  \"kind\": \"BashOutput\"\n}",
		"20261121162818774979_BashOutput_ef2c2bc82aca44a6b2ac014ab16e00a8_84653d8bb493487cbe04bffd127aa664": "{ broken",
		"README":         "not an event",
		command + ".tmp": "half",
	} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	s := open(t, bash.Options{Dir: dir})
	order := 3
	events, _ := all(t, s, bash.Query{OrderAfter: &order})
	if len(events) != 2 || events[1].Order != 4 || str(events[1].Stdout) != "hé" {
		t.Fatalf("events of the reference: %+v", events)
	}
	run(t, s, bash.Request{Command: "echo"})
	if _, err := os.Stat(filepath.Join(dir, command+".tmp")); !os.IsNotExist(err) {
		t.Error("a half-written file stays")
	}
	names, err := filepath.Glob(filepath.Join(dir, "2*"))
	if err != nil || len(names) != 5 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, n := range names {
		if !fileName.MatchString(filepath.Base(n)) {
			t.Errorf("file %s", n)
		}
		st, err := os.Stat(n)
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", n, st.Mode(), err)
		}
	}
	if n, err := s.Clear(); n != 5 || err != nil {
		t.Errorf("cleared %d, %v", n, err)
	}
	if left, _ := all(t, s, bash.Query{}); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, bash.Options{Dir: dir})
	for range 5 {
		run(t, s, bash.Request{Command: "echo x"})
	}
	s = open(t, bash.Options{Dir: dir}) // as after a restart
	up, pages := all(t, s, bash.Query{Limit: 3})
	if len(up) != 10 || pages != 4 {
		t.Fatalf("%d events on %d pages", len(up), pages)
	}
	down, _ := all(t, s, bash.Query{Limit: 3, Descending: true})
	for i := range down {
		if down[i].ID != up[len(up)-1-i].ID {
			t.Errorf("descending differs at %d", i)
		}
		if i > 0 && up[i].Timestamp <= up[i-1].Timestamp {
			t.Errorf("%s comes after %s", up[i].Timestamp, up[i-1].Timestamp)
		}
	}
	if commands, pages := all(t, s, bash.Query{Kind: bash.KindCommand, Limit: 5}); len(commands) != 5 || pages != 1 {
		t.Errorf("%d commands on %d pages", len(commands), pages)
	}
	id, _ := bash.ParseID(up[2].ID)
	if of, _ := all(t, s, bash.Query{Command: &id}); len(of) != 1 || of[0].CommandID != up[2].ID {
		t.Errorf("outputs of one command: %+v", of)
	}
	from, err := time.Parse(time.RFC3339Nano, up[4].Timestamp)
	must.Succeed(t, err)
	to := from.Add(time.Microsecond).In(time.FixedZone("", 7200))
	if one, _ := all(t, s, bash.Query{From: &from, To: &to}); len(one) != 1 || one[0].ID != up[4].ID {
		t.Errorf("between two times: %+v", one)
	}
	if again, _ := all(t, s, bash.Query{Page: "unknown"}); len(again) != 10 {
		t.Errorf("unknown page: %d events", len(again))
	}
	if one, err := s.Get(id); err != nil || parse(t, one).ID != up[2].ID {
		t.Errorf("get: %s %v", one, err)
	}
	if _, err := s.Get(bash.ID{9}); !fault.Is(err, fault.NotFound) {
		t.Errorf("get an unknown event: %v", err)
	}
}

func TestRetention(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := "20200101000000000000_BashCommand_ef2c2bc82aca44a6b2ac014ab16e00a8"
	must.Succeed(t, os.WriteFile(filepath.Join(dir, old), []byte("{}"), 0o600))
	s := open(t, bash.Options{Dir: dir, Retention: time.Hour})
	id := run(t, s, bash.Request{Command: "true"}).CommandID
	if err := s.Close(); err != nil { // waits for the first look
		t.Fatal(err)
	}
	events, _ := all(t, open(t, bash.Options{Dir: dir}), bash.Query{})
	if len(events) != 2 || events[0].ID != id {
		t.Errorf("left: %+v", events)
	}
}

func TestFullDiskStillEnds(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "events")
	s := open(t, bash.Options{Dir: dir})
	// The directory of events becomes a file while the command runs.
	got := run(t, s, bash.Request{Command: "rm -r " + dir + "; echo > " + dir + "; echo lost"})
	if got.code() != 0 || !strings.Contains(str(got.Stderr), "could not be stored") {
		t.Errorf("got %d %q", got.code(), str(got.Stderr))
	}
	if _, err := s.Start(bash.Request{Command: "true"}); err == nil {
		t.Error("a command started that could not be stored")
	}
}

func next(t *testing.T, f *bash.Follower) event {
	t.Helper()
	raw, err := f.Next(t.Context())
	must.Succeed(t, err)
	return parse(t, raw)
}

func TestFollow(t *testing.T) {
	t.Parallel()
	s := open(t, bash.Options{MaxFollowers: 2})
	first := run(t, s, bash.Request{Command: "echo before"})
	history, err := s.Subscribe(bash.FromStart)
	must.Succeed(t, err)
	live, err := s.Subscribe(bash.FromNow)
	must.Succeed(t, err)
	if _, err := s.Subscribe(bash.FromNow); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a follower too many: %v", err)
	}
	fifo := filepath.Join(t.TempDir(), "go")
	cmd, err := s.Start(bash.Request{Command: "mkfifo " + fifo + "; echo early; read x < " + fifo + "; echo late", Timeout: 60})
	must.Succeed(t, err)
	if c := next(t, live); c.ID != cmd.ID.String() {
		t.Errorf("first live event: %+v", c)
	}
	if o := next(t, live); str(o.Stdout) != "early\n" || o.ExitCode != nil || o.Order != 0 {
		t.Errorf("what is printed early: %+v", o)
	}
	must.Succeed(t, os.WriteFile(fifo, []byte("\n"), 0))
	if o := next(t, live); str(o.Stdout) != "late\n" || o.code() != 0 || o.Order != 1 {
		t.Errorf("the end: %+v", o)
	}
	live.Close()
	live.Close()
	var b bytes.Buffer
	if err := s.WriteOutput(&b, cmd.ID); err != nil || str(parse(t, b.Bytes()).Stdout) != "early\nlate\n" {
		t.Errorf("joined: %s %v", b.Bytes(), err)
	}
	ids := map[string]bool{}
	for range 5 {
		ids[next(t, history).ID] = true
	}
	if len(ids) != 5 || !ids[first.CommandID] {
		t.Errorf("history: %v", ids)
	}
	must.Succeed(t, s.Close())
	if _, err := history.Next(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("next after close: %v", err)
	}
	history.Close()
}

func FuzzParseRequest(f *testing.F) {
	for _, seed := range []string{`{"command":"x"}`, `{"command":1,"timeout":1e99}`, `null`, `[]`, `{"timeout":"7"}`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		req, err := bash.ParseRequest(raw)
		if err == nil && !json.Valid(raw) {
			t.Errorf("%q was taken as %+v", raw, req)
		}
	})
}
