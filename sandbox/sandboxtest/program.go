package sandboxtest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
)

// programArg makes the test binary the program of a sandbox.
const programArg = "sandboxtest-program"

// MaybeServe must be called by the main of the program that runs in the sandboxes,
// or by TestMain, after the calls that the provider's own stages need.
func MaybeServe() {
	switch {
	case len(os.Args) == 3 && os.Args[1] == attackArg:
		attack(os.Args[2])
	case len(os.Args) > 2 && os.Args[1] == reachArg:
		reach(os.Args[2:])
	case len(os.Args) < 2 || os.Args[1] != programArg:
		return
	}
	fmt.Fprintln(os.Stderr, serve())
	os.Exit(1)
}

// argv runs the program.
func (o Options) argv(t testing.TB) []string {
	t.Helper()
	self, err := os.Executable()
	must.Succeed(t, err)
	if o.WorkspaceOf != nil { // a Runtime API knows Deft's programs only, and takes this for one
		return []string{cmp.Or(o.Program, self), "action-server", "--workspace", inside}
	}
	return []string{cmp.Or(o.Program, self), programArg}
}

// request is a request to the program: to run a command, or to do something
// itself.
type request struct {
	Argv    []string `json:",omitempty"`
	Self    []string `json:",omitempty"` // run the program itself with these arguments
	Exit    *int     `json:",omitempty"` // end with this code
	Journal string   `json:",omitempty"` // append this
	Log     string   `json:",omitempty"` // write this to standard error
	Read    bool     `json:",omitempty"` // answer with the journal
	Get     string   `json:",omitempty"` // ask this URL
	Direct  bool     `json:",omitempty"` // and not through the proxy that HTTP_PROXY names
}

type answer struct {
	Out  string
	Code int
}

// serve does an action server's work: it protects its memory, keeps its descriptors from
// commands, and answers requests. It only returns on failure.
func serve() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	return Serve(l)
}

// Serve answers requests, for programs whose listener is not descriptor 3. Descriptor 4 is
// their journal. It returns when the listener fails.
func Serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go answerOn(c)
	}
}

func answerOn(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	if start, err := r.Peek(5); err == nil && string(start) == "POST " { // /v1/shutdown of runtime/protocol
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		os.Exit(0)
	}
	var q request
	if err := json.NewDecoder(r).Decode(&q); err != nil {
		return // whoever asked has gone
	}
	_ = json.NewEncoder(c).Encode(q.do())
}

func (q request) do() answer {
	journal := os.NewFile(4, "journal")
	switch {
	case q.Exit != nil:
		os.Exit(*q.Exit)
	case q.Log != "":
		fmt.Fprintln(os.Stderr, q.Log)
		return answer{}
	case q.Journal != "":
		_, err := journal.Seek(0, io.SeekEnd)
		if err == nil {
			_, err = journal.WriteString(q.Journal)
		}
		return failed(err)
	case q.Get != "":
		return q.get()
	case q.Self != nil:
		self, err := os.Executable()
		if err != nil {
			return failed(err)
		}
		q.Argv = append([]string{self}, q.Self...)
	case q.Read:
		raw, err := io.ReadAll(io.NewSectionReader(journal, 0, 1<<20))
		if err != nil {
			return failed(err)
		}
		return answer{Out: string(raw)}
	}
	cmd := exec.Command(q.Argv[0], q.Argv[1:]...) //nolint:noctx // ends with the sandbox
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return answer{Out: out.String(), Code: exit.ExitCode()}
	}
	if err != nil {
		return failed(err)
	}
	return answer{Out: out.String()}
}

func (q request) get() answer {
	t := &http.Transport{}
	if proxy, err := url.Parse(os.Getenv("HTTP_PROXY")); err == nil && proxy.Host != "" && !q.Direct {
		t.Proxy = http.ProxyURL(proxy) // for loopback, too
	}
	r, err := (&http.Client{Transport: t, Timeout: getTimeout}).Get(q.Get) //nolint:noctx // it has a timeout
	if err != nil {
		return answer{Out: err.Error()}
	}
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return failed(err)
	}
	return answer{Out: r.Status + "\n" + string(raw)}
}

const getTimeout = 5 * time.Second

func failed(err error) answer {
	if err == nil {
		return answer{}
	}
	return answer{Out: err.Error(), Code: 127}
}

// ask returns the program's answer.
func ask(t *testing.T, s sandbox.Sandbox, q request) answer {
	t.Helper()
	a, err := exchange(t.Context(), s, q)
	must.Succeed(t, err)
	return a
}

func exchange(ctx context.Context, s sandbox.Sandbox, q request) (a answer, err error) {
	c, err := s.Dial(ctx)
	if err != nil {
		return a, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := json.NewEncoder(c).Encode(q); err != nil {
		return a, err
	}
	return a, json.NewDecoder(c).Decode(&a)
}

// Shell runs a script in a sandbox that runs the program, and returns its output.
func Shell(t *testing.T, s sandbox.Sandbox, script string) string {
	t.Helper()
	a := ask(t, s, request{Argv: []string{"/bin/sh", "-c", script}})
	if a.Code != 0 {
		t.Fatalf("%s: code %d, %s", script, a.Code, a.Out)
	}
	return strings.TrimSpace(a.Out)
}

// Get asks a URL from inside a sandbox that runs the program, through the proxy that
// its environment names or, with direct, not. It returns the status and the body, or
// the error.
func Get(t *testing.T, s sandbox.Sandbox, address string, direct bool) string {
	t.Helper()
	return ask(t, s, request{Get: address, Direct: direct}).Out
}
