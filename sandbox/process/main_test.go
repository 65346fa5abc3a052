package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/sandbox/sandboxtest"
)

// serveArg makes the test binary a small action server.
const serveArg = "test-server"

func TestMain(m *testing.M) {
	process.MaybeInit()
	sandboxtest.MaybeServe()
	if len(os.Args) > 1 && os.Args[1] == serveArg {
		serve()
	}
	// As all commands of deft do, see cmd/deft: a process that starts a sandbox need
	// not be dumpable.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// request is a command of the test server, answer its result.
type request struct {
	Argv  []string `json:",omitempty"`
	Stdin string   `json:",omitempty"`
	Act   string   `json:",omitempty"` // something the server itself does
}

type answer struct {
	Out  string
	Code int
}

// serve does an action server's work: answers on descriptor 3 and protects its
// memory.
func serve() {
	inherited = openFDs()
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	socket := os.NewFile(3, "listener")
	l, err := net.FileListener(socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ending := make(chan struct{})
	hangUp = sync.OnceValue(func() error {
		close(ending)
		return unix.Shutdown(int(socket.Fd()), unix.SHUT_RDWR)
	})
	for {
		c, err := l.Accept()
		if err != nil {
			select {
			case <-ending:
				// It runs on without a socket, until it is killed; select {} would be a deadlock,
				// which ends it.
				time.Sleep(math.MaxInt64)
			default:
				os.Exit(1)
			}
		}
		go func() {
			defer c.Close()
			var r request
			if json.NewDecoder(c).Decode(&r) == nil {
				_ = json.NewEncoder(c).Encode(r.do())
			}
		}()
	}
}

// hangUp makes the test server one that is ending.
var hangUp func() error

func (r request) do() answer {
	switch r.Act {
	case "hang up":
		return answer{Out: fmt.Sprint(hangUp())}
	case "pid":
		return answer{Out: fmt.Sprint(os.Getpid())}
	case "journal":
		_, err := os.NewFile(4, "journal").WriteString(r.Stdin)
		return answer{Out: fmt.Sprint(err)}
	case "fds":
		return answer{Out: strings.Join(inherited, " ")}
	case "refused":
		hosts, err := process.Refused(context.Background(), os.Environ(), time.Minute)
		if err != nil {
			return answer{Out: err.Error(), Code: 1}
		}
		return answer{Out: strings.Join(hosts, "\n")}
	case "nested":
		out, err := nested()
		if err != nil {
			return answer{Out: err.Error() + "\n" + out, Code: 1}
		}
		return answer{Out: out}
	case "":
	default:
		return answer{Out: "unknown act", Code: 1}
	}
	cmd := exec.Command(r.Argv[0], r.Argv[1:]...)
	if cmd.Err == nil {
		cmd.Path, cmd.Args = process.Command(cmd.Path, cmd.Args)
	}
	cmd.Stdin = strings.NewReader(r.Stdin)
	out, err := cmd.CombinedOutput()
	a := answer{Out: string(out)}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		a.Code = exit.ExitCode()
	case err != nil:
		a = answer{Out: err.Error(), Code: 127}
	}
	return a
}

// nested starts a sandbox inside a sandbox and describes it. UNIX sockets
// work on this level, so it can be asked.
func nested() (out string, err error) {
	ws, err := os.Getwd()
	if err != nil {
		return "", err
	}
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	p, err := process.New(process.Options{Dir: "/tmp/nested"})
	if err != nil {
		return "", err
	}
	defer p.Close()
	s, err := p.Start(context.Background(), sandbox.Spec{ID: "inner", Argv: []string{exe, serveArg}, Workspace: ws})
	if err != nil {
		return "", err
	}
	defer p.Remove(context.Background(), "inner")
	out = "level=" + s.Report().Level
	for _, m := range s.Report().Missing {
		out += "\nmissing=" + m.Feature + ": " + m.Reason
	}
	c, err := s.Dial(context.Background())
	if err != nil {
		return out, err
	}
	defer c.Close()
	script := `echo "answer=$(cat hello)"; touch /run/x 2>/dev/null || echo outside=denied`
	if err := json.NewEncoder(c).Encode(request{Argv: []string{"/bin/sh", "-c", script}}); err != nil {
		return out, err
	}
	var a answer
	err = json.NewDecoder(c).Decode(&a)
	return out + "\n" + a.Out, err
}

// inherited are the descriptors that the server was started with.
var inherited []string

// openFDs lists this process's descriptors, but for Go's own poller and the
// one it lists them with.
func openFDs() []string {
	entries, _ := os.ReadDir("/proc/self/fd")
	var all []string
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || strings.HasPrefix(target, "anon_inode:[event") || strings.HasPrefix(target, "/proc/") ||
			strings.HasPrefix(target, "/sys/fs/cgroup/") { // Go's runtime reads its CPU limit there
			continue
		}
		all = append(all, e.Name())
	}
	return all
}

// bench is the start of each test.
type bench struct {
	*process.Provider
	dir, ws, home string
	spec          sandbox.Spec
	env           []string // the user's; this process's without
}

// levels are the two that isolate; tests run at both where both promise it.
var levels = []string{process.LevelNamespaces, process.LevelLandlock}

// setup makes a provider with a home that holds secrets. Level "" is auto.
func setup(t testing.TB, level string) *bench {
	t.Helper()
	base := t.TempDir()
	b := &bench{dir: filepath.Join(base, "state"), ws: filepath.Join(base, "work"), home: filepath.Join(base, "home")}
	for path, text := range map[string]string{
		"home/.ssh/id_ed25519":         "SECRET",
		"home/.aws/credentials":        "SECRET",
		"home/.netrc":                  "SECRET",
		"home/.bashrc":                 "export KEY=SECRET",
		"home/.cargo/credentials.toml": "SECRET",
		"home/.cargo/bin/tool":         "tool",
		"home/.config/gh/hosts.yml":    "SECRET",
		"home/.config/git/config":      "[user]",
		"home/.local/share/deft/data":  "SECRET",
		"home/.gitconfig":              "[core]\n\tpager = cat\n[credential]\n\thelper = SECRET\n[http]\n\textraheader = SECRET\n[user]\n\tname = Me\n",
		"home/.cargo/config.toml":      "[build]\njobs = 3\n[registries.own]\ntoken = \"SECRET\"\nindex = \"https://SECRET@host/x\"\n",
		"home/.config/go/env":          "GOPROXY=https://SECRET@host",
		"home/go/bin/tool":             "tool",
		"home/notes.txt":               "SECRET",
		"home/other/.env":              "SECRET",
		"outside/file":                 "outside",
		"work/hello":                   "hello",
		"work/private/key":             "SECRET",
	} {
		write(t, filepath.Join(base, path), text)
	}
	b.spec = sandbox.Spec{
		ID: "one", Argv: []string{executable(t), serveArg}, Workspace: b.ws,
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + b.home, "DEFT_TEST_SECRET=hunter2"},
	}
	b.Provider = b.provider(t, level)
	return b
}

func (b *bench) provider(t testing.TB, level string) *process.Provider {
	t.Helper()
	p, err := process.New(process.Options{Dir: b.dir, Level: level, Home: b.home, Env: b.env, TmpBytes: 64 << 20})
	must.Succeed(t, err)
	t.Cleanup(func() {
		list, err := p.List(context.Background())
		must.Report(t, err)
		for _, s := range list {
			must.Report(t, p.Remove(context.Background(), s.ID))
		}
		must.Report(t, p.Close())
	})
	return p
}

// start starts the spec, and skips where the host cannot isolate like that.
func (b *bench) start(t testing.TB) sandbox.Sandbox {
	t.Helper()
	s, err := b.Start(t.Context(), b.spec)
	if err != nil {
		missing(t, err)
	}
	return s
}

// missing skips the test, or fails it where everything must be there.
func missing(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" || !strings.Contains(fmt.Sprint(err), "cannot isolate") {
		t.Fatal(err)
	}
	t.Skip("this host does not allow it: ", err)
}

// ask has the sandbox's server do something.
func ask(t testing.TB, s sandbox.Sandbox, r request) answer {
	t.Helper()
	c, err := s.Dial(t.Context())
	must.Succeed(t, err)
	defer c.Close()
	var a answer
	must.Succeed(t, json.NewEncoder(c).Encode(r))
	if err := json.NewDecoder(bufio.NewReader(c)).Decode(&a); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return a
}

// sh runs a shell line inside.
func sh(t testing.TB, s sandbox.Sandbox, script string, args ...string) answer {
	t.Helper()
	return ask(t, s, request{Argv: append([]string{"/bin/sh", "-c", script, "sh"}, args...)})
}

func executable(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	must.Succeed(t, err)
	return exe
}

func write(t testing.TB, path, text string) {
	t.Helper()
	must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o644))
}

func whoami(t testing.TB) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		return fmt.Sprint(os.Getuid())
	}
	return u.Username
}
