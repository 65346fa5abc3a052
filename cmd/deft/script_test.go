package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/deft-dev/deft/internal/llmtest"
)

// key is the API key that no script may find anywhere.
const key = "sk-deft-secret-0123456789"

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Defer(func() { stopServers(env.WorkDir) })
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("DEFT_DATA", filepath.Join(env.WorkDir, "data"))
			env.Setenv("NO_COLOR", "1")
			env.Setenv("DEFT_TEST_DOCKER", os.Getenv("DEFT_TEST_DOCKER"))
			env.Setenv("KEY", key)
			env.Setenv("UID", strconv.Itoa(os.Getuid()))
			for name, value := range toolchain() {
				env.Setenv(name, value)
			}
			return os.Mkdir(filepath.Join(env.WorkDir, "home"), 0o700)
		},
		Condition: func(cond string) (bool, error) {
			switch {
			case cond == "root":
				return os.Getuid() == 0, nil
			case cond == "docker":
				return hasDocker()
			case cond == "kernel":
				return hasKernel()
			case cond == "gvisor":
				return hasGVisor()
			case cond == "dockerd":
				return canOwnEngine()
			case strings.HasPrefix(cond, "has:"):
				return has(strings.TrimPrefix(cond, "has:"))
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"llm": cmdLLM, "server": cmdServer, "calls": cmdCalls, "exit": cmdExit, "jsonlines": cmdJSONLines, "tmpfs": cmdTmpfs,
			"critic": cmdCritic, "rater": cmdRater, "nobody": cmdNobody, "flip": cmdFlip, "html": cmdHTML, "large": cmdLarge,
			"docker": cmdDocker, "chromium": cmdChromium, "kernel": cmdKernel, "index": cmdIndex, "agentserver": cmdAgentServer, "dockerd": cmdDockerd, "killcontainers": cmdKillContainers,
		},
	})
}

// toolchain has the variables that scripts need to build Deft again: they have a
// home of their own.
var toolchain = sync.OnceValue(func() map[string]string {
	source, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	vars := map[string]string{"SOURCE": source}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			panic(err)
		}
		vars[name] = strings.TrimSpace(string(out))
	}
	return vars
})

// has reports whether an outside program is there. Where everything is
// installed on purpose, only the shells that nobody needs may be missing.
func has(program string) (bool, error) {
	_, err := exec.LookPath(program)
	if err != nil && os.Getenv("CI") == "true" && program != "zsh" && program != "fish" {
		return false, err
	}
	return err == nil, nil
}

// servers holds the LLM of each script, by its work directory.
var servers sync.Map

// cmdLLM serves a script of turns and sets the LLM_* variables:
// llm turns.yaml [model].
func cmdLLM(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: llm turns.yaml [model]")
	}
	s := serve(ts, args[0])
	name := "openai/scripted"
	if len(args) > 1 {
		name = args[1]
	}
	ts.Setenv("LLM_MODEL", name)
	ts.Setenv("LLM_BASE_URL", s.URL+"/v1")
	ts.Setenv("LLM_API_KEY", key)
	servers.Store(ts.Getenv("WORK"), s)
}

// cmdServer serves another script and sets a variable to its address:
// server turns.yaml NAME. calls counts those at NAME with a second argument.
func cmdServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: server turns.yaml NAME")
	}
	s := serve(ts, args[0])
	ts.Setenv(args[1], s.URL)
	servers.Store(ts.Getenv("WORK")+args[1], s)
}

// serve serves a script until the test ends.
func serve(ts *testscript.TestScript, file string) *llmtest.Server {
	script, err := llmtest.Load(ts.MkAbs(file))
	ts.Check(err)
	s, err := llmtest.New(script, llmtest.Options{})
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	ln, err := s.Listen(ctx, "127.0.0.1:0")
	ts.Check(err)
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	ts.Defer(func() {
		cancel()
		if err := <-done; err != nil {
			ts.Logf("llm: %v", err)
		}
	})
	return s
}

// cmdCalls wants so many requests at the LLM so far: calls 3, or calls 3 NAME
// for one of server.
func cmdCalls(ts *testscript.TestScript, neg bool, args []string) {
	name := ""
	if len(args) == 2 {
		name = args[1]
	}
	s, ok := servers.Load(ts.Getenv("WORK") + name)
	if neg || !ok || len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: calls n [NAME], after llm or server")
	}
	if got := strconv.Itoa(s.(*llmtest.Server).Count()); got != args[0] {
		ts.Fatalf("the model was called %s times, want %s", got, args[0])
	}
}

// cmdExit wants an exit code: exit 3 deft run ….
func cmdExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit code command…")
	}
	wantExit(ts, args[0], ts.Exec(args[1], args[2:]...))
}

func wantExit(ts *testscript.TestScript, want string, err error) {
	got := "0"
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = strconv.Itoa(exit.ExitCode())
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %s, want %s", got, want)
	}
}

// cmdJSONLines wants JSON objects, one a line: jsonlines file.
func cmdJSONLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: jsonlines file")
	}
	lines := strings.Split(strings.TrimSpace(ts.ReadFile(args[0])), "\n")
	for i, l := range lines {
		var v map[string]any
		if err := json.Unmarshal([]byte(l), &v); err != nil || len(v) == 0 {
			ts.Fatalf("line %d is no JSON object: %v: %s", i+1, err, l)
		}
	}
}

// cmdTmpfs mounts a small file system: tmpfs dir 1m.
func cmdTmpfs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tmpfs dir size")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(syscall.Mount("deft-test", dir, "tmpfs", 0, "size="+args[1]))
	ts.Defer(func() { ts.Check(syscall.Unmount(dir, syscall.MNT_DETACH)) })
}

// cmdNobody runs a command without root's rights: nobody 5 deft run ….
func cmdNobody(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: nobody code command…")
	}
	argv := append([]string{"--reuid=65534", "--regid=65534", "--clear-groups"}, args[1:]...)
	if os.Getuid() != 0 {
		wantExit(ts, args[0], ts.Exec(args[1], args[2:]...))
		return
	}
	// The way to the work directory and to the binary is root's alone.
	deft, err := exec.LookPath("deft")
	ts.Check(err)
	for _, path := range []string{ts.Getenv("WORK"), filepath.Dir(deft)} {
		ts.Check(os.Chmod(path, 0o755))
		ts.Check(os.Chmod(filepath.Dir(path), 0o755))
	}
	wantExit(ts, args[0], ts.Exec("setpriv", argv...))
}

// cmdFlip inverts bytes in the middle of a file: flip file offset count.
func cmdFlip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: flip file offset count")
	}
	b := []byte(ts.ReadFile(args[0]))
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	if at+n > len(b) {
		ts.Fatalf("%s has %d bytes only", args[0], len(b))
	}
	for i := range n {
		b[at+i] ^= 0xff
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o600))
}

// cmdHTML serves a web page where an LLM should be, and sets the LLM_*
// variables; with the argument "gone" nothing listens there.
func cmdHTML(ts *testscript.TestScript, neg bool, args []string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><html><body>Welcome to the router</body></html>")
	}))
	if len(args) > 0 && args[0] == "gone" {
		s.Close()
	} else {
		ts.Defer(s.Close)
	}
	ts.Setenv("LLM_MODEL", "openai/scripted")
	ts.Setenv("LLM_BASE_URL", s.URL+"/v1")
	ts.Setenv("LLM_API_KEY", key)
}

// cmdLarge writes a file of so many bytes: large file 2000000.
func cmdLarge(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: large file bytes")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat("a", n)), 0o600))
}
