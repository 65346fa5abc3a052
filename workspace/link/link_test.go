package link_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/workspace"
	"github.com/deft-dev/deft/workspace/link"
	"github.com/deft-dev/deft/workspace/workspacetest"
)

// serverArg makes the test binary an action server for the directory that follows.
const serverArg = "test-action-server"

func TestMain(m *testing.M) {
	process.MaybeInit()
	// A conversation starts "action-server --workspace DIR …".
	if len(os.Args) > 3 && os.Args[1] == "action-server" {
		os.Args = []string{os.Args[0], serverArg, os.Args[3]}
	}
	if len(os.Args) == 3 && os.Args[1] == serverArg {
		if err := serve(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func serve(dir string) error {
	l, journal, err := actionserver.Inherited()
	if err != nil {
		return err
	}
	return actionserver.Serve(context.Background(), actionserver.Options{Listener: l, Journal: journal, Workspace: dir, OwnProcess: true})
}

// TestConformance runs the suite through an action server in a real sandbox.
func TestConformance(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	p, err := process.New(process.Options{Dir: filepath.Join(base, "sandboxes"), Home: t.TempDir()})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, p.Close()) })
	self, err := os.Executable()
	must.Succeed(t, err)
	workspacetest.Run(t, func(t *testing.T, dir string) workspace.Files {
		box, err := p.Start(t.Context(), sandbox.Spec{
			ID: "t" + strings.ReplaceAll(filepath.Base(filepath.Dir(filepath.Dir(dir)))+filepath.Base(filepath.Dir(dir)), "_", ""), Workspace: dir,
			Argv: []string{self, serverArg, dir}, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		})
		if fault.Is(err, fault.Unsupported) {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
		must.Succeed(t, err)
		rt, err := remote.New(remote.Options{Dial: box.Dial})
		must.Succeed(t, err)
		t.Cleanup(func() {
			must.Report(t, errors.Join(rt.Close(), p.Remove(context.WithoutCancel(t.Context()), box.ID())))
		})
		return link.New(dir, rt)
	})
}

// trip answers requests.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// to sends all requests to a handler.
func to(t *testing.T, h http.HandlerFunc) http.RoundTripper {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	at, err := url.Parse(srv.URL)
	must.Succeed(t, err)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return trip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.URL.Host = at.Host
		return transport.RoundTrip(r)
	})
}

// TestHostileServer gives a client answers that no honest server gives.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	ask := func(h http.HandlerFunc) (statErr, openErr, archiveErr error) {
		c := link.New("/ws", to(t, h))
		_, statErr = c.Stat(t.Context(), "x")
		_, openErr = c.Open(t.Context(), "x")
		_, archiveErr = c.Archive(t.Context(), "x", workspace.Archive{Format: workspace.TarGz}, io.Discard)
		return statErr, openErr, archiveErr
	}
	for name, h := range map[string]http.HandlerFunc{
		"nothing":      func(http.ResponseWriter, *http.Request) {},
		"no JSON":      func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"a bare error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"a cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		},
		"a bad header": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Deft-File", "e30K!")
			w.Header().Set("Trailer", "Deft-Archived")
			_, _ = io.WriteString(w, "[")
			w.Header().Set("Deft-Archived", "%%%")
		},
		"a long answer": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(w, io.LimitReader(zeros{}, 65<<20)) // the client stops reading
		},
	} {
		statErr, openErr, archiveErr := ask(h)
		if statErr == nil || openErr == nil || archiveErr == nil {
			t.Errorf("%s is taken: stat: %v, open: %v, archive: %v", name, statErr, openErr, archiveErr)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// TestSilentServer ends requests that are never answered.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := link.New("/ws", trip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}))
		_, statErr := c.Stat(t.Context(), "x")
		_, openErr := c.Open(t.Context(), "x")
		for _, err := range []error{statErr, openErr} {
			if !fault.Is(err, fault.Timeout) {
				t.Errorf("got %v, want a timeout", err)
			}
		}
	})
}

// TestChangedFile does not mix two contents.
func TestChangedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	must.Succeed(t, os.WriteFile(path, []byte("one and more"), 0o600))
	h := link.Handler(func() (workspace.Files, error) { return workspace.Open(dir) })
	f, err := link.New(dir, to(t, h.ServeHTTP)).Open(t.Context(), "f")
	must.Succeed(t, err)
	defer f.Close()
	must.Succeed(t, os.WriteFile(path, []byte("another text of another length"), 0o600))
	if _, err := f.Seek(4, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(f); !fault.Is(err, fault.Conflict) {
		t.Errorf("read %q, %v", b, err)
	}
}
