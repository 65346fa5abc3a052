package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/cli/doctor"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store has one conversation on each of two pages; the second is damaged, if damage
// is set.
type store struct{ list, damage error }

func (s store) List(_ context.Context, q eventstream.ListQuery) (eventstream.ListPage, error) {
	if q.PageID == "" {
		return eventstream.ListPage{Infos: []eventstream.Info{{ID: "one"}}, NextID: "two"}, s.list
	}
	return eventstream.ListPage{Infos: []eventstream.Info{{ID: "two"}}}, nil
}

func (s store) Read(_ context.Context, id event.ConversationID, _ eventstream.Seq) iter.Seq2[eventstream.Record, error] {
	return func(yield func(eventstream.Record, error) bool) {
		if id == "two" && s.damage != nil {
			yield(eventstream.Record{}, s.damage)
		}
	}
}

// tried is a sandbox whose answers are known.
type tried struct {
	report   sandbox.Report
	attempts []sandbox.Attempt
	err      error
	access   map[string]sandbox.Access
	accerr   error
}

func (s tried) Doctor(context.Context) (sandbox.Report, []sandbox.Attempt, error) {
	return s.report, s.attempts, s.err
}

func (s tried) Access(_ context.Context, paths []string) (all []sandbox.Access, err error) {
	for _, p := range paths {
		a := s.access[p]
		a.Path = p
		all = append(all, a)
	}
	return all, s.accerr
}

// layers are the layers of two workspaces.
type layers struct{ err error }

func (l layers) CacheLayers(context.Context) ([]sandbox.CacheLayer, error) {
	return []sandbox.CacheLayer{{Workspace: "/a", Dir: "/data/caches/1", Bytes: 3 << 20}, {Workspace: "/b", Dir: "/data/caches/2", Bytes: 2 << 20}}, l.err
}

// machine is a host on which all is well: a home with the program go and a cache.
func machine(t *testing.T) (h doctor.Host, env map[string]string) {
	t.Helper()
	home := t.TempDir()
	env = map[string]string{"HOME": home, "PATH": "relative:" + filepath.Join(home, "bin")}
	for name, text := range map[string]string{
		"bin/bash": "", "bin/git": "", "bin/rg": "", "bin/go": "", "go/pkg/mod/file": "",
		"sys/user/max_user_namespaces": "100\n", "sys/kernel/unprivileged_userns_clone": "1\n",
	} {
		write(t, filepath.Join(home, name), text)
	}
	isolated := tried{
		report:   sandbox.Report{Level: "namespaces", Features: []string{"seccomp", "net-open"}},
		attempts: []sandbox.Attempt{{Name: "write-outside", OK: true}, {Name: "mount", OK: true}},
		access: map[string]sandbox.Access{
			filepath.Join(home, "bin/go"): {Readable: true}, filepath.Join(home, "go/pkg/mod"): {Readable: true, Writable: true},
		},
	}
	return doctor.Host{
		Data: home, Store: store{}, Settings: filepath.Join(home, "sys"), Sandbox: isolated,
		Env:   func(name string) string { return env[name] },
		Model: doctor.Model{Name: "a/b", KeyVariables: []string{"LLM_API_KEY", "A_KEY"}, KeySet: "A_KEY"},
	}, env
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o700))
}

func check(t *testing.T, r doctor.Report, name string) doctor.Check {
	t.Helper()
	i := slices.IndexFunc(r.Checks, func(c doctor.Check) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no check %s: %+v", name, r.Checks)
	}
	return r.Checks[i]
}

// TestSound wants everything to be named, and all to be well.
func TestSound(t *testing.T) {
	t.Parallel()
	h, _ := machine(t)
	r := doctor.Examine(t.Context(), h)
	var names []string
	for _, c := range r.Checks {
		names = append(names, c.Name)
		if c.State != doctor.OK {
			t.Errorf("%+v", c)
		}
	}
	want := []string{"data", "disk", "user namespaces", "model", "key", "bash", "git", "rg", "toolchains", "caches", "proxies", "sandbox"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if code := r.ExitCode(); code != fault.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestChecks changes one thing of a sound machine at a time.
func TestChecks(t *testing.T) {
	t.Parallel()
	refused := fault.New(fault.Unsupported, "this host cannot isolate commands").Hint("ask for none")
	for _, c := range []struct {
		name   string
		change func(t *testing.T, h *doctor.Host, env map[string]string)
		check  string
		state  doctor.State
		text   string // a part
		next   string // a part
		code   int
	}{
		{
			"store cannot be opened", func(_ *testing.T, h *doctor.Host, _ map[string]string) {
				h.Store, h.StoreError = nil, fault.New(fault.Invalid, "a part of its path is a file").Hint("name a directory")
			}, "data", doctor.Failed, "a part of its path is a file", "name a directory", fault.ExitUsage,
		},
		{
			"list damaged", func(_ *testing.T, h *doctor.Host, _ map[string]string) {
				h.Store = store{list: fault.New(fault.Corrupt, "the index is damaged")}
			}, "data", doctor.Failed, "the index is damaged", "", fault.ExitStorage,
		},
		{
			"conversation damaged", func(_ *testing.T, h *doctor.Host, _ map[string]string) {
				h.Store = store{damage: fault.New(fault.Corrupt, "event 3 is damaged").Hint("salvage it")}
			}, "data", doctor.Failed, "read conversation two: event 3 is damaged", "salvage it", fault.ExitStorage,
		},
		{
			"namespaces refused", func(t *testing.T, h *doctor.Host, _ map[string]string) {
				write(t, filepath.Join(h.Settings, "user/max_user_namespaces"), "0\n")
				write(t, filepath.Join(h.Settings, "kernel/apparmor_restrict_unprivileged_userns"), "1\n")
			}, "user namespaces", doctor.Warning,
			"refused: user.max_user_namespaces = 0, kernel.apparmor_restrict_unprivileged_userns = 1; the weaker level", "sysctl", 0,
		},
		{
			"namespaces refused to others", func(t *testing.T, h *doctor.Host, _ map[string]string) {
				h.Root = true
				write(t, filepath.Join(h.Settings, "kernel/unprivileged_userns_clone"), "0\n")
			}, "user namespaces", doctor.Warning, "refused to ordinary users: kernel.unprivileged_userns_clone = 0", "", 0,
		},
		{
			"namespaces not usable", func(_ *testing.T, h *doctor.Host, _ map[string]string) {
				s := h.Sandbox.(tried)
				s.report.Level, s.report.Missing = "landlock", []sandbox.Missing{{Feature: "namespaces", Reason: "clone: operation not permitted"}}
				h.Sandbox = s
			}, "user namespaces", doctor.Warning, "not usable: clone: operation not permitted", "container", 0,
		},
		{
			"model unknown", func(_ *testing.T, h *doctor.Host, _ map[string]string) {
				h.Model = doctor.Model{Name: "x", Err: fault.New(fault.Invalid, "the model x is not known")}
			}, "model", doctor.Failed, "the model x is not known", "", fault.ExitUsage,
		},
		{
			"no model", func(_ *testing.T, h *doctor.Host, _ map[string]string) { h.Model = doctor.Model{} },
			"model", doctor.Warning, "none is chosen", "LLM_MODEL", 0,
		},
		{
			"profile", func(_ *testing.T, h *doctor.Host, _ map[string]string) {
				h.Model = doctor.Model{Name: "m", Profile: "p"}
			},
			"model", doctor.OK, "m of the profile p", "", 0,
		},
		{
			"profile without its key", func(_ *testing.T, h *doctor.Host, _ map[string]string) {
				h.Model = doctor.Model{Profile: "p", Err: fault.New(fault.Auth, "profile p: no API key for m")}
			}, "model", doctor.Failed, "profile p: no API key for m", "", fault.ExitRefused,
		},
		{
			"key missing", func(_ *testing.T, h *doctor.Host, _ map[string]string) { h.Model.KeySet = "" },
			"key", doctor.Failed, "LLM_API_KEY and A_KEY are empty", "set LLM_API_KEY or A_KEY", fault.ExitRefused,
		},
		{
			"own server without a key", func(_ *testing.T, h *doctor.Host, _ map[string]string) { h.Model.KeySet, h.Model.OwnServer = "", true },
			"key", doctor.OK, "may need none", "", 0,
		},
		{
			"bash missing", func(t *testing.T, h *doctor.Host, _ map[string]string) { remove(t, h.Data, "bin/bash") },
			"bash", doctor.Failed, "not found", "install", fault.ExitError,
		},
		{
			"git missing", func(t *testing.T, h *doctor.Host, _ map[string]string) { remove(t, h.Data, "bin/git") },
			"git", doctor.Warning, "not found", "install", 0,
		},
		{
			"no toolchains", func(t *testing.T, h *doctor.Host, _ map[string]string) { remove(t, h.Data, "bin/go") },
			"toolchains", doctor.Warning, "none found", "", 0,
		},
		{
			"toolchain hidden", func(t *testing.T, h *doctor.Host, _ map[string]string) {
				write(t, filepath.Join(h.Data, "bin/mvn"), "")
			}, "toolchains", doctor.Warning, "go; hidden in the sandbox: ", "--read", 0,
		},
		{
			"access not tried", func(_ *testing.T, h *doctor.Host, _ map[string]string) {
				s := h.Sandbox.(tried)
				s.accerr = errors.New("no answer")
				h.Sandbox = s
			}, "toolchains", doctor.Warning, "could not be tried: no answer", "", 0,
		},
		{
			"cache writable", func(*testing.T, *doctor.Host, map[string]string) {},
			"caches", doctor.OK, "/go/pkg/mod (writable)", "", 0,
		},
		{
			"cache hidden", func(t *testing.T, h *doctor.Host, env map[string]string) {
				env["GOCACHE"] = filepath.Join(h.Data, "elsewhere")
				write(t, filepath.Join(env["GOCACHE"], "file"), "")
			}, "caches", doctor.OK, "/elsewhere (hidden), ", "--env GOCACHE", 0,
		},
		{
			"layers", func(_ *testing.T, h *doctor.Host, _ map[string]string) { h.Layers = layers{} },
			"caches", doctor.OK, "; private layers of workspaces: 2 with 5 MiB in /data/caches", "", 0,
		},
		{
			"layers not measured", func(_ *testing.T, h *doctor.Host, _ map[string]string) {
				h.Layers = layers{errors.New("no answer")}
			}, "caches", doctor.Warning, "could not be measured: no answer", "", 0,
		},
		{
			"no caches", func(t *testing.T, h *doctor.Host, _ map[string]string) { remove(t, h.Data, "go/pkg/mod") },
			"caches", doctor.OK, "none found", "", 0,
		},
		{
			"no sandbox", func(_ *testing.T, h *doctor.Host, _ map[string]string) { h.Sandbox, h.SandboxError = nil, refused },
			"sandbox", doctor.Failed, "cannot isolate", "ask for none", fault.ExitError,
		},
		{
			"sandbox does not start", func(_ *testing.T, h *doctor.Host, _ map[string]string) { h.Sandbox = tried{err: refused} },
			"sandbox", doctor.Failed, "cannot isolate", "ask for none", fault.ExitError,
		},
		{
			"something forbidden works", func(_ *testing.T, h *doctor.Host, _ map[string]string) {
				s := h.Sandbox.(tried)
				s.attempts = append(s.attempts, sandbox.Attempt{Name: "proc-root"})
				h.Sandbox = s
			}, "sandbox", doctor.Failed, "1 of 3 forbidden things worked: proc-root", "untrusted", fault.ExitError,
		},
		{
			"no isolation", func(_ *testing.T, h *doctor.Host, _ map[string]string) {
				h.Sandbox = tried{report: sandbox.Report{Level: "none"}, attempts: []sandbox.Attempt{{Name: "write-outside"}}}
			}, "sandbox", doctor.Warning, "all rights of the user", "leave out", 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, env := machine(t)
			c.change(t, &h, env)
			r := doctor.Examine(t.Context(), h)
			got := check(t, r, c.check)
			if got.State != c.state || !strings.Contains(got.Text, c.text) || !strings.Contains(got.Next, c.next) || got.Exit != c.code {
				t.Errorf("got %+v", got)
			}
			if code := r.ExitCode(); code != c.code {
				t.Errorf("exit code %d, want %d: %+v", code, c.code, r.Checks)
			}
		})
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	must.Succeed(t, os.RemoveAll(filepath.Join(dir, name)))
}

func TestExitCodeOfTheWorst(t *testing.T) {
	t.Parallel()
	file := doctor.Report{Checks: []doctor.Check{{State: doctor.Failed, Exit: fault.ExitStorage}, {Name: "data", State: doctor.Failed, Exit: fault.ExitUsage}}}
	if got := file.ExitCode(); got != fault.ExitUsage {
		t.Errorf("data directory that is a file: exit code %d", got)
	}
	var r doctor.Report
	for _, code := range []int{fault.ExitUsage, fault.ExitRefused, fault.ExitError, fault.ExitStorage} {
		r.Checks = append(r.Checks, doctor.Check{State: doctor.Failed, Exit: code})
		if got := r.ExitCode(); got != code {
			t.Errorf("exit code %d, want %d", got, code)
		}
	}
}

// TestProxies wants addresses, and never a password, however badly it is encoded.
func TestProxies(t *testing.T) {
	t.Parallel()
	const none = "set, but not a URL"
	for value, want := range map[string]string{
		"http://proxy.test:3128":            "http://proxy.test:3128",
		"http://proxy.test:3128/":           "http://proxy.test:3128",
		"socks5://me:s3cret@proxy.test:1":   "socks5://proxy.test:1",
		"me:s3cret@proxy.test:1":            "proxy.test:1",
		"proxy.test:1":                      "proxy.test:1",
		"http://me:s3@cret@[::1]:1":         "http://[::1]:1",
		"http://me:@s3cret@proxy.test":      "http://proxy.test",
		"http://me:s3/cret@proxy.test":      none,
		"http://me:8/s3cret@proxy.test":     none,
		"http://me:8#s3cret@proxy.test":     none,
		"http://me:8?s3cret@proxy.test":     none,
		"http://me:s3%cret@proxy.test":      none,
		"http://me:s3 cret@proxy.test":      none,
		"me:s3cret://proxy.test":            none,
		"http:me:s3cret@proxy.test":         "proxy.test",
		"http://me:s3cret@":                 none,
		"me:8/s3cret@proxy.test":            none,
		"http://proxy.test:1/path?t=s3cret": none,
	} {
		h, env := machine(t)
		env["https_proxy"] = value
		c := check(t, doctor.Examine(t.Context(), h), "proxies")
		if c.Text != "https_proxy="+want || !slices.Equal(c.Items, []doctor.Item{{Name: "https_proxy", Value: want}}) {
			t.Errorf("%s: %+v, want %s", value, c, want)
		}
		if warned := c.State == doctor.Warning; warned != (want == none) {
			t.Errorf("%s: %s", value, c.State)
		}
		if strings.Contains(c.Text+c.Next, "s3") || strings.Contains(c.Text, "cret") {
			t.Errorf("%s: the password is shown: %+v", value, c)
		}
	}
}

func TestNoProxy(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"localhost,.corp": "NO_PROXY=localhost,.corp", "me:s3cret@x": "NO_PROXY=set, but not a list of hosts"} {
		h, env := machine(t)
		env["NO_PROXY"] = value
		if c := check(t, doctor.Examine(t.Context(), h), "proxies"); c.Text != want {
			t.Errorf("%+v, want %s", c, want)
		}
	}
}

// TestPrint wants a mark and a name for each check, and nothing that controls the
// terminal.
func TestPrint(t *testing.T) {
	t.Parallel()
	r := doctor.Report{
		Checks: []doctor.Check{
			{Name: "disk", State: doctor.OK, Text: "9 MiB free"},
			{Name: "proxies", State: doctor.Warning, Text: "a\x1b[2Jb", Next: "mend it"},
			{Name: "sandbox", State: doctor.Failed, Text: "broken"},
		},
		Isolation: &sandbox.Report{
			Missing: []sandbox.Missing{{Feature: "cgroup-memory", Reason: "not allowed"}},
			Bounds:  []sandbox.Bound{{Resource: "memory", Value: "not bounded: not allowed"}, {Resource: "processes", Value: "1024 with their threads"}},
		},
		Attempts: []sandbox.Attempt{{Name: "mount", Detail: "mounted", OK: false}, {Name: "write", Detail: "refused", OK: true}},
	}
	var b strings.Builder
	must.Succeed(t, r.Print(&b, false))
	want := `✓ disk             9 MiB free
! proxies          a�[2Jb
                   → mend it
✗ sandbox          broken
  cgroup-memory    not in force: not allowed
  a sandbox may use, without --memory, --pids and --cpus:
  - memory               not bounded: not allowed
  - processes            1024 with their threads
  tried 2 forbidden things inside:
  ✗ mount                mounted
  ✓ write                refused
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestJSON keeps the names that scripts read.
func TestJSON(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(doctor.Report{
		Checks: []doctor.Check{{
			Name: "proxies", State: doctor.Failed, Text: "t", Next: "n", Exit: 7,
			Items: []doctor.Item{{Name: "HTTP_PROXY", Value: "v", Sandbox: "hidden"}},
		}},
		Isolation: &sandbox.Report{Level: "none", Features: []string{}}, Attempts: []sandbox.Attempt{{Name: "mount", Detail: "d", OK: true}}, TriedMS: 1.5,
	})
	must.Succeed(t, err)
	want := `{"checks":[{"name":"proxies","state":"failed","text":"t","next":"n","items":[{"name":"HTTP_PROXY","value":"v","in_sandbox":"hidden"}],"exit_code":7}],` +
		`"sandbox":{"level":"none","features":[]},"attempts":[{"name":"mount","detail":"d","ok":true}],"tried_ms":1.5}`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
