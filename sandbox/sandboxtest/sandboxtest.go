// Package sandboxtest is the conformance suite of [sandbox.Provider]: every
// implementation runs it.
//
//	func TestMain(m *testing.M) { …; sandboxtest.MaybeServe(); … }
//	func TestConformance(t *testing.T) { sandboxtest.Run(t, sandboxtest.Options{Open: open}) }
//
// The suite asserts no times.
package sandboxtest

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
	"github.com/deft-dev/deft/sandbox"
)

// Options configure the suite.
type Options struct {
	// Open returns a new provider on a directory: a second one on the same directory
	// finds the first one's sandboxes. It is closed by t.Cleanup. Required.
	Open func(t *testing.T, dir string) sandbox.Provider
	// Program is the binary that runs in the sandboxes, whose main calls MaybeServe;
	// default: the test binary. It must be static where an image may lack a C library.
	Program string
	// Container is the container of all Specs.
	Container sandbox.Container
	// OwnKernel says that the sandboxes have a kernel of their own, as in gVisor: its
	// devices and control groups are none of the host's, and a limit of the host may end
	// it.
	OwnKernel bool
	// WorkspaceOf is set for a provider whose workspaces are inside its sandboxes, on
	// another machine as far as it knows: it returns where the one of a sandbox is after
	// all, for the suite to look at it. Such a provider has no limits, bounds, numbers,
	// logs and exit codes to tell, and says so.
	WorkspaceOf func(t *testing.T, id string) string
}

// inside is the workspace where that is inside.
const inside = "/workspace"

// Run runs the suite.
func Run(t *testing.T, o Options) {
	for name, test := range map[string]func(*testing.T, *fixture){
		"commands":       commands,
		"starting again": startingAgain,
		"racing starts":  racingStarts,
		"listing":        listing,
		"pausing":        pausing,
		"stop":           stopping,
		"stop paused":    stopPaused,
		"journal":        journal,
		"exit":           exiting,
		"end is told":    endIsTold,
		"out of memory":  outOfMemory,
		"fork bomb":      forkBomb,
		"descriptors":    descriptors,
		"stats":          stats,
		"logs":           logs,
		"bounds":         bounds,
		"isolation":      isolation,
		"no network":     noNetwork,
		"signals":        signals,
		"kernel attacks": kernelAttacks,
		"escapes":        escapes,
		"conflicts":      conflicts,
		"other provider": otherProvider,
		"bad specs":      badSpecs,
		"unknown":        unknown,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, setUp(t, o))
		})
	}
}

// fixture is the start of each test.
type fixture struct {
	sandbox.Provider
	open        func(*testing.T, string) sandbox.Provider
	workspaceOf func(t *testing.T, id string) string // nil where it is the Spec's
	ownKernel   bool
	base, dir   string
	spec        sandbox.Spec
}

func setUp(t *testing.T, o Options) *fixture {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	f := &fixture{open: o.Open, workspaceOf: o.WorkspaceOf, ownKernel: o.OwnKernel, base: base, dir: filepath.Join(base, "provider")}
	ws := filepath.Join(base, "work")
	for path, text := range map[string]string{"work/hello": "hello", "beside/secret": "SECRET"} {
		path = filepath.Join(base, path)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	}
	f.Provider = f.open(t, f.dir)
	f.spec = sandbox.Spec{
		// Providers share an engine, whose names are the machine's.
		ID: "t" + strings.ToLower(strings.Map(alphanumeric, filepath.Base(filepath.Dir(base))+filepath.Base(base))), Argv: o.argv(t), Workspace: ws,
		Container: o.Container,
		Env:       []string{"PATH=/usr/local/bin:/usr/bin:/bin", "GIVEN=here"},
	}
	if f.workspaceOf != nil {
		f.spec.Workspace = inside
	}
	t.Cleanup(func() { must.Report(t, f.Remove(context.WithoutCancel(t.Context()), f.spec.ID)) })
	return f
}

// workspace is where the suite sees the workspace of a sandbox that was started.
func (f *fixture) workspace(t *testing.T, s sandbox.Spec) string {
	t.Helper()
	if f.workspaceOf == nil {
		return s.Workspace
	}
	return f.workspaceOf(t, s.ID)
}

func alphanumeric(r rune) rune {
	if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return -1
}

func (f *fixture) start(t *testing.T) sandbox.Sandbox {
	t.Helper()
	s, err := f.Start(t.Context(), f.spec)
	must.Succeed(t, err)
	if f.workspaceOf != nil {
		must.Succeed(t, os.WriteFile(filepath.Join(f.workspace(t, f.spec), "hello"), []byte("hello"), 0o644))
	}
	return s
}

// startLimited starts a sandbox with limits. Where there cannot be any, they are refused by
// name, and the rest of the test is skipped.
func (f *fixture) startLimited(t *testing.T, l sandbox.Limits) sandbox.Sandbox {
	t.Helper()
	f.spec.Limits = l
	if f.workspaceOf == nil {
		return f.start(t)
	}
	if s, err := f.Start(t.Context(), f.spec); !fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), "limits") {
		t.Fatalf("limits: %v, %v", s, err)
	}
	t.Skip("the provider sets no limits")
	return nil
}

func status(t *testing.T, s sandbox.Sandbox) sandbox.Status {
	t.Helper()
	st, err := s.Status(t.Context())
	must.Succeed(t, err)
	return st
}

func stop(t *testing.T, s sandbox.Sandbox) {
	t.Helper()
	must.Succeed(t, s.Stop(t.Context()))
	<-s.Done()
}

// commands run in the workspace, which is the user's own, with the given variables.
func commands(t *testing.T, f *fixture) {
	s := f.start(t)
	if s.ID() != f.spec.ID || s.Reused() {
		t.Errorf("id %q, reused %v", s.ID(), s.Reused())
	}
	if got := Shell(t, s, `pwd; cat hello; echo; echo $GIVEN; echo new >made; umask`); !strings.HasPrefix(got, f.spec.Workspace+"\nhello\nhere\n") {
		t.Errorf("inside: %q", got)
	}
	raw, err := os.ReadFile(filepath.Join(f.workspace(t, f.spec), "made"))
	if err != nil || string(raw) != "new\n" {
		t.Errorf("outside: %q, %v", raw, err)
	}
	if level := s.Report().Level; level == "" {
		t.Error("the report names no level")
	}
}

func startingAgain(t *testing.T, f *fixture) {
	first := Shell(t, f.start(t), `echo $$ >${TMPDIR:-/tmp}/mark; cat ${TMPDIR:-/tmp}/mark`)
	again := f.start(t)
	if !again.Reused() || Shell(t, again, `cat ${TMPDIR:-/tmp}/mark`) != first {
		t.Error("not the same sandbox")
	}
	stop(t, again)
	if third := f.start(t); third.Reused() {
		t.Error("a stopped sandbox was reused")
	}
}

// racingStarts of two providers make one sandbox.
func racingStarts(t *testing.T, f *fixture) {
	var wg sync.WaitGroup
	made := make(chan bool, 8)
	both := []sandbox.Provider{f, f.open(t, f.dir)}
	for i := range cap(made) {
		wg.Go(func() {
			s, err := both[i%2].Start(t.Context(), f.spec)
			if err != nil {
				t.Error(err)
				return
			}
			made <- !s.Reused()
		})
	}
	wg.Wait()
	close(made)
	n := 0
	for m := range made {
		if m {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of 8 starts made a sandbox", n)
	}
}

func listing(t *testing.T, f *fixture) {
	find := func() []sandbox.Status {
		list, err := f.List(t.Context())
		must.Succeed(t, err)
		return slices.DeleteFunc(list, func(s sandbox.Status) bool { return s.ID != f.spec.ID })
	}
	if l := find(); len(l) != 0 {
		t.Errorf("before: %v", l)
	}
	s := f.start(t)
	if l := find(); len(l) != 1 || l[0].State != sandbox.Running || l[0].Workspace != f.spec.Workspace || l[0].Started.IsZero() {
		t.Errorf("running: %+v", l)
	}
	must.Succeed(t, s.Pause(t.Context()))
	if l := find(); len(l) != 1 || l[0].State != sandbox.Paused {
		t.Errorf("paused: %+v", l)
	}
	got, err := f.Get(t.Context(), f.spec.ID)
	if err != nil || got.ID() != f.spec.ID {
		t.Errorf("Get: %v, %v", got, err)
	}
	stop(t, s)
	if l := find(); len(l) != 0 {
		t.Errorf("stopped: %v", l)
	}
	if _, err := f.Get(t.Context(), f.spec.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("Get of a stopped one: %v", err)
	}
	if st := status(t, s); st.State != sandbox.Ended {
		t.Errorf("status of a stopped one: %+v", st)
	}
}

// counter starts a process that writes without end, and waits for its first byte.
func counter(t *testing.T, f *fixture, s sandbox.Sandbox) (size func() int64) {
	t.Helper()
	Shell(t, s, `mkfifo started; (echo >started; while :; do echo x >>count; done) >/dev/null 2>&1 & read line <started`)
	count := filepath.Join(f.workspace(t, f.spec), "count")
	return func() int64 {
		fi, err := os.Stat(count)
		if err != nil {
			return 0
		}
		return fi.Size()
	}
}

// work takes longer than a process that runs needs to write a line.
func work(t *testing.T) {
	t.Helper()
	for range 20 {
		must.Succeed(t, exec.CommandContext(t.Context(), "/bin/true").Run())
	}
}

func pausing(t *testing.T, f *fixture) {
	s := f.start(t)
	size := counter(t, f, s)
	for range 2 { // a second time does nothing
		must.Succeed(t, s.Pause(t.Context()))
	}
	if st := status(t, s); st.State != sandbox.Paused {
		t.Errorf("status %+v", st)
	}
	before := size()
	work(t)
	if after := size(); after != before {
		t.Errorf("a paused process wrote %d bytes", after-before)
	}
	for range 2 {
		must.Succeed(t, s.Resume(t.Context()))
	}
	if st := status(t, s); st.State != sandbox.Running {
		t.Errorf("status %+v", st)
	}
	Shell(t, s, `wc -c <count >seen; while [ "$(wc -c <count)" = "$(cat seen)" ]; do :; done`)
	must.Succeed(t, s.Pause(t.Context()))
	again := f.start(t)
	if !again.Reused() {
		t.Error("Start has made another one")
	}
	// Docker may hear of the pause after the start, and of the start after that.
	waittest.Until(t, "the sandbox runs", func() bool { return status(t, again).State == sandbox.Running })
	Shell(t, again, `true`)
}

// stopping ends everything, and Done tells.
func stopping(t *testing.T, f *fixture) {
	s := f.start(t)
	size := counter(t, f, s)
	stop(t, s)
	before := size()
	work(t)
	if size() != before {
		t.Error("a process runs on")
	}
	if _, err := s.Dial(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Dial: %v", err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
	if err := s.Pause(t.Context()); !fault.Is(err, fault.NotFound) {
		t.Errorf("Pause: %v", err)
	}
}

func stopPaused(t *testing.T, f *fixture) {
	s := f.start(t)
	counter(t, f, s)
	must.Succeed(t, s.Pause(t.Context()))
	stop(t, s)
	if again := f.start(t); again.Reused() {
		t.Error("a stopped sandbox was reused")
	}
}

// journal outlives the sandbox until it is removed, and has no path inside.
func journal(t *testing.T, f *fixture) {
	s := f.start(t)
	ask(t, s, request{Journal: "one "})
	stop(t, s)
	s = f.start(t)
	ask(t, s, request{Journal: "two"})
	if got := ask(t, s, request{Read: true}).Out; got != "one two" {
		t.Errorf("journal %q", got)
	}
	must.Succeed(t, f.Remove(t.Context(), f.spec.ID))
	<-s.Done()
	if got := ask(t, f.start(t), request{Read: true}).Out; got != "" {
		t.Errorf("after Remove: %q", got)
	}
}

func exiting(t *testing.T, f *fixture) {
	s := f.start(t)
	code := 3
	if a, err := exchange(t.Context(), s, request{Exit: &code}); err == nil {
		t.Errorf("answer %+v of a program that has ended", a)
	}
	<-s.Done()
	want := sandbox.Reason{Cause: sandbox.CauseExited, ExitCode: 3}
	st := status(t, s)
	if f.workspaceOf != nil { // it has heard of the reason only
		want = sandbox.Reason{Cause: sandbox.CauseUnknown, Message: "exited with code 3"}
	}
	if st.State != sandbox.Ended || st.Reason != want {
		t.Errorf("status %+v, want %+v", st, want)
	}
}

// endIsTold: whoever knows a sandbox hears that it has ended, and why, also if another
// provider started it, stopped it or removed it.
func endIsTold(t *testing.T, f *fixture) {
	for name, end := range map[string]func(sandbox.Sandbox, sandbox.Provider) error{
		"stop":   func(s sandbox.Sandbox, _ sandbox.Provider) error { return s.Stop(t.Context()) },
		"remove": func(_ sandbox.Sandbox, p sandbox.Provider) error { return p.Remove(t.Context(), f.spec.ID) },
	} {
		started := f.start(t)
		other := f.open(t, f.dir)
		found, err := other.Get(t.Context(), f.spec.ID)
		must.Succeed(t, err)
		if err := end(found, other); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for who, s := range map[string]sandbox.Sandbox{"who started it": started, "who ended it": found} {
			<-s.Done()
			if st := status(t, s); st.State != sandbox.Ended || st.Reason.Cause == "" || s == found && name == "stop" && st.Reason.Cause != sandbox.CauseKilled {
				t.Errorf("%s, %s: %+v", name, who, st)
			}
		}
	}
}

// outOfMemory: a command that uses too much ends, not the machine, and if the
// program itself dies the status says why.
func outOfMemory(t *testing.T, f *fixture) {
	s := f.startLimited(t, sandbox.Limits{MemoryBytes: 96 << 20})
	for _, m := range s.Report().Missing {
		if m.Feature == "cgroup-memory" {
			if os.Getenv("CI") == "true" && os.Getuid() == 0 {
				t.Fatal(m.Reason)
			}
			t.Skip(m.Reason)
		}
	}
	a, err := exchange(t.Context(), s, request{Argv: []string{"/bin/sh", "-c", `head -c 300000000 /dev/zero | tail -c 250000000 | wc -c`}})
	if err != nil { // the program died, and not the command
		<-s.Done()
		if st := status(t, s); st.Reason.Cause != sandbox.CauseOutOfMemory {
			t.Errorf("status %+v", st)
		}
		return
	}
	if strings.Contains(a.Out, "250000000") {
		t.Errorf("250 MB were held with a limit of 96: %+v", a)
	}
}

// forkBomb: processes are bounded, and the program survives commands that take all.
func forkBomb(t *testing.T, f *fixture) {
	s := f.startLimited(t, sandbox.Limits{PIDs: 60})
	if !slices.Contains(s.Report().Features, "cgroup-pids") {
		if os.Getenv("CI") == "true" && os.Getuid() == 0 {
			t.Fatalf("root gets no control group: %+v", s.Report())
		}
		t.Skip("the host gives no control group")
	}
	a, err := exchange(t.Context(), s, request{Argv: []string{"/bin/sh", "-c", `i=0; while [ $i -lt 200 ]; do sleep 1000 >/dev/null 2>&1 & i=$((i+1)); done; echo all`}})
	if strings.Contains(a.Out, "all") {
		t.Error("200 processes were made with a limit of 60")
	}
	if err != nil && f.ownKernel { // it has threads of the host for its processes, and ended
		<-s.Done()
		return
	}
	must.Succeed(t, err)
	if a := ask(t, s, request{Journal: "on"}); a.Code != 0 {
		t.Errorf("then: %+v", a)
	}
	stop(t, s)
}

// descriptors are bounded for each process, and there are no core dumps.
func descriptors(t *testing.T, f *fixture) {
	s := f.start(t)
	if s.Report().Level == "none" {
		t.Skip("the provider does not isolate")
	}
	got := strings.Fields(Shell(t, s, `ulimit -Hn; ulimit -Hc`))
	if len(got) != 2 || got[1] != "0" {
		t.Fatalf("limits %q", got)
	}
	if n, err := strconv.Atoi(got[0]); err != nil || n > 65536 {
		t.Errorf("%s descriptors of a process, %v", got[0], err)
	}
}

func stats(t *testing.T, f *fixture) {
	s := f.start(t)
	Shell(t, s, `i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done`)
	got, err := s.Stats(t.Context())
	if f.workspaceOf != nil {
		if !fault.Is(err, fault.Unsupported) {
			t.Errorf("stats %+v, %v", got, err)
		}
		return
	}
	if err != nil || got.Processes < 1 || got.MemoryBytes < 1<<20 || got.CPU <= 0 {
		t.Errorf("stats %+v, %v", got, err)
	}
	stop(t, s)
	if _, err := s.Stats(t.Context()); !fault.Is(err, fault.NotFound) {
		t.Errorf("of a stopped one: %v", err)
	}
}

func logs(t *testing.T, f *fixture) {
	s := f.start(t)
	ask(t, s, request{Log: "first line"})
	ask(t, s, request{Log: "second line"})
	all, err := s.Logs(t.Context(), 1<<20, true)
	if f.workspaceOf != nil {
		if !fault.Is(err, fault.Unsupported) {
			t.Errorf("logs %v, %v", all, err)
		}
		return
	}
	must.Succeed(t, err)
	defer all.Close()
	lines := bufio.NewScanner(all)
	expect := func(want string) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() == want {
				return
			}
		}
		t.Errorf("no %q: %v", want, lines.Err())
	}
	expect("first line")
	expect("second line")
	ask(t, s, request{Log: "third line"})
	expect("third line")

	end, err := s.Logs(t.Context(), int64(len("second line\nthird line\n")), false)
	must.Succeed(t, err)
	defer end.Close()
	if raw, err := io.ReadAll(end); err != nil || string(raw) != "second line\nthird line\n" {
		t.Errorf("the end of the log: %q, %v", raw, err)
	}
	stop(t, s)
	for lines.Scan() { // until its end
		t.Errorf("one more line: %q", lines.Text())
	}
	if lines.Err() != nil {
		t.Error(lines.Err())
	}
}

// bounds: the report says of each resource how much there is of it, or that the disk's,
// the machine's or the user's share is not bounded.
func bounds(t *testing.T, f *fixture) {
	s := f.start(t)
	if f.workspaceOf != nil {
		if r := s.Report(); len(r.Bounds) > 0 || !slices.ContainsFunc(r.Missing, func(m sandbox.Missing) bool { return m.Feature == "known-isolation" }) {
			t.Errorf("report %+v", r)
		}
		return
	}
	said := map[string]string{}
	for _, b := range s.Report().Bounds {
		said[b.Resource] = b.Value
	}
	for _, resource := range []string{"memory", "processes", "processors", "private files", "descriptors", "inotify", "workspace"} {
		if said[resource] == "" {
			t.Errorf("the report does not say how much of %s there is: %q", resource, said)
		}
	}
}

// signals: no command ends or stops the sandbox's program.
func signals(t *testing.T, f *fixture) {
	s := f.start(t)
	if level := s.Report().Level; level == "landlock" || level == "none" {
		t.Skip("the program is a process as its commands are")
	}
	a := ask(t, s, request{Argv: []string{"/bin/sh", "-c", `for p in 1 $PPID; do kill -KILL $p; kill -STOP $p; done 2>&1; kill -KILL -1; true`}})
	if a := ask(t, s, request{Journal: "on"}); a.Code != 0 {
		t.Errorf("then: %+v", a)
	}
	if st := status(t, s); st.State != sandbox.Running {
		t.Errorf("status %+v after %+v", st, a)
	}
}

// isolation: things that were not given are not there.
func isolation(t *testing.T, f *fixture) {
	s := f.start(t)
	if s.Report().Level == "none" {
		t.Skip("the provider does not isolate")
	}
	beside := filepath.Join(f.base, "beside/secret")
	got := Shell(t, s, `cat `+beside+` 2>/dev/null; ls `+f.dir+` 2>/dev/null; cat /proc/1/environ 2>/dev/null | grep SECRET; true`)
	if got != "" {
		t.Errorf("inside: %q", got)
	}
	if got := Shell(t, s, `(echo >/usr/made) 2>/dev/null && echo wrote; grep CapEff /proc/self/status`); !strings.HasSuffix(got, "0000000000000000") {
		t.Errorf("capabilities: %q", got)
	}
	if _, err := os.Stat("/usr/made"); err == nil {
		t.Error("a command wrote outside")
	}
}

// conflicts: a running sandbox is not taken for another one.
func conflicts(t *testing.T, f *fixture) {
	f.spec.EnvMark = "one"
	s := f.start(t)
	other := f.spec
	other.EnvMark = "two"
	if _, err := f.Start(t.Context(), other); !fault.Is(err, fault.Conflict) {
		t.Errorf("another environment: %v", err)
	}
	other = f.spec
	other.Workspace = t.TempDir()
	if _, err := f.Start(t.Context(), other); !fault.Is(err, fault.Conflict) {
		t.Errorf("another workspace: %v", err)
	}
	if Shell(t, s, `echo lives`) != "lives" {
		t.Error("the first one has ended")
	}
}

// otherProvider: sandboxes outlive the provider that started them.
func otherProvider(t *testing.T, f *fixture) {
	first := f.start(t)
	Shell(t, first, `echo first >${TMPDIR:-/tmp}/mark`)
	second := f.open(t, f.dir)
	s, err := second.Start(t.Context(), f.spec)
	must.Succeed(t, err)
	if !s.Reused() || Shell(t, s, `cat ${TMPDIR:-/tmp}/mark`) != "first" {
		t.Error("it is another sandbox")
	}
	must.Succeed(t, s.Pause(t.Context()))
	if st := status(t, first); st.State != sandbox.Paused {
		t.Errorf("the first provider says %+v", st)
	}
	must.Succeed(t, first.Resume(t.Context()))
	stop(t, s)
	<-first.Done()
}

func badSpecs(t *testing.T, f *fixture) {
	bad := map[string]func(*sandbox.Spec){
		"no id":              func(s *sandbox.Spec) { s.ID = "" },
		"id is a path":       func(s *sandbox.Spec) { s.ID = "../x" },
		"no program":         func(s *sandbox.Spec) { s.Argv = nil },
		"relative workspace": func(s *sandbox.Spec) { s.Workspace = "work" },
		"no such workspace":  func(s *sandbox.Spec) { s.Workspace += "/none" },
		"a file":             func(s *sandbox.Spec) { s.Workspace += "/hello" },
		"the root":           func(s *sandbox.Spec) { s.Workspace = "/" },
		"no such network":    func(s *sandbox.Spec) { s.Network = "-" },
		"no such program":    func(s *sandbox.Spec) { s.Argv = []string{"/no/such/program"} },
	}
	if f.workspaceOf != nil { // directories are made there, programs are not this machine's, and networks are refused as such
		for _, name := range []string{"no such workspace", "a file", "no such network", "no such program"} {
			delete(bad, name)
		}
	}
	for name, change := range bad {
		spec := f.spec
		change(&spec)
		if s, err := f.Start(t.Context(), spec); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v, %v; want an error of kind invalid", name, s, err)
		}
	}
}

func unknown(t *testing.T, f *fixture) {
	if _, err := f.Get(t.Context(), "nosuch"); !fault.Is(err, fault.NotFound) {
		t.Errorf("Get: %v", err)
	}
	if err := f.Remove(t.Context(), "nosuch"); err != nil {
		t.Errorf("Remove: %v", err)
	}
}
