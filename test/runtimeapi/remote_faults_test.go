package runtimeapi_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	runtimeclient "github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/sandbox"
	sandboximage "github.com/deft-dev/deft/sandbox/image"
	"github.com/deft-dev/deft/tool"
)

// The faults of a faultyProxy, in their order: with the first and the third the API has
// carried out the request.
var faults = []string{"reset after", "bad gateway", "cut answer", "unavailable", "reset before"}

// faultyProxy stands between a client and a Runtime API with its runtimes. Of each kind of
// request two meet the next faults, then one passes.
type faultyProxy struct {
	*httptest.Server
	to func() string // the API

	mu    sync.Mutex
	seen  map[string]int // by kind of request
	met   map[string]int // by fault
	links []net.Conn     // of clients, open or not
}

func newFaultyProxy(t *testing.T) *faultyProxy {
	p := &faultyProxy{seen: map[string]int{}, met: map[string]int{}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.cut()
		p.Close()
	})
	return p
}

func (p *faultyProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := r.Method + " " + r.URL.Path
	if first, rest, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/"); ok {
		if kind = r.Method + " in a runtime: " + rest; first == "sessions" {
			kind = r.Method + " /sessions"
		}
	}
	p.mu.Lock()
	n := p.seen[kind]
	p.seen[kind]++
	what := ""
	if n%3 < 2 {
		what = faults[(n-n/3)%len(faults)]
		p.met[what]++
	}
	p.mu.Unlock()
	switch what {
	case "bad gateway":
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html>502 Bad Gateway</html>")
	case "unavailable":
		w.WriteHeader(http.StatusServiceUnavailable)
	case "reset before":
		panic(http.ErrAbortHandler)
	case "reset after":
		p.pass(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case "cut answer":
		said := httptest.NewRecorder()
		p.pass(said, r)
		w.Header().Set("Content-Length", fmt.Sprint(said.Body.Len()+1))
		w.WriteHeader(said.Code)
		_, _ = w.Write(said.Body.Bytes()[:said.Body.Len()/2])
		panic(http.ErrAbortHandler)
	default:
		p.pass(w, r)
	}
}

// pass lets a request through. One of a recorder cannot become a connection.
func (p *faultyProxy) pass(w http.ResponseWriter, r *http.Request) {
	to, err := url.Parse(p.to())
	if err != nil {
		panic(err)
	}
	if _, recorded := w.(*httptest.ResponseRecorder); recorded && r.Header.Get("Upgrade") != "" {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	t := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			p.mu.Lock()
			p.links = append(p.links, c)
			p.mu.Unlock()
		}
		return c, err
	}}
	proxy := httputil.ReverseProxy{Transport: t, Rewrite: func(pr *httputil.ProxyRequest) { pr.SetURL(to) }, FlushInterval: -1}
	proxy.ErrorLog = nil
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	proxy.ServeHTTP(w, r.WithContext(ctx))
}

// cut ends all connections that lead through the proxy.
func (p *faultyProxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.links {
		_ = c.Close() // most have ended
	}
	p.links = nil
}

// TestRemoteFaults: the connection between a client and the API fails in every way, for
// every kind of request, before and after the API has carried it out. A client sees none of
// it, and nothing happens twice.
func TestRemoteFaults(t *testing.T) {
	t.Parallel()
	between := newFaultyProxy(t)
	args := []string{"--sandbox", "docker", "--runtime-url", between.URL + "/{runtime_id}"}
	host := engine(t)
	s := openWith(t, host, args...)
	between.to = func() string { return s.url }
	through := &server{t: t, url: between.URL}
	dir := filepath.Join(t.TempDir(), "remote")
	p := through.provider(dir)
	spec := remoteSpec("faults")
	spec.Workspace = "/workspace/made/if/missing"
	spec.Argv[slices.Index(spec.Argv, "/workspace")] = spec.Workspace
	box := startRemote(t, p, spec)
	if got := inRemote(t, box, "one", `pwd; echo run >>ran; wc -l <ran`); got != spec.Workspace+"\n1" {
		t.Errorf("a command: %q", got)
	}

	// A command goes on when the connections are lost, and runs once.
	done := make(chan string, 1)
	rt, err := runtimeclient.New(runtimeclient.Options{Dial: box.Dial})
	must.Succeed(t, err)
	defer rt.Close()
	go func() {
		o, err := rt.Execute(t.Context(), tool.Request{Call: tool.Call{ID: "two", Action: &event.TerminalAction{
			Command: `echo run >>ran; touch began; until [ -e go ]; do sleep 0.05; done; wc -l <ran`,
		}}})
		if err != nil {
			done <- err.Error()
			return
		}
		done <- event.JoinText(o.(*event.TerminalObservation).Content)
	}()
	var began []string
	await(t, func() bool {
		began, err = filepath.Glob(filepath.Join(s.dir, "data/runtime-api/workspaces/*/workspace/made/if/missing/began"))
		return err == nil && len(began) == 1
	})
	between.cut()
	must.Succeed(t, os.WriteFile(filepath.Join(filepath.Dir(began[0]), "go"), nil, 0o600))
	if got := <-done; got != "2" {
		t.Errorf("through lost connections: %q", got)
	}
	select {
	case <-box.Done():
		t.Error("it counts as ended")
	default:
	}

	again := startRemote(t, through.provider(dir), spec)
	if !again.Reused() || inRemote(t, again, "four", "wc -l <ran") != "2" {
		t.Error("it was not found again")
	}
	for _, change := range []func(context.Context) error{box.Pause, box.Resume} {
		must.Report(t, change(t.Context()))
	}
	if list, err := p.List(t.Context()); err != nil || len(list) != 1 || list[0].State != sandbox.Running {
		t.Errorf("list %+v, %v", list, err)
	}
	must.Report(t, box.Stop(t.Context()))
	<-box.Done()
	if box = startRemote(t, p, spec); box.Reused() || inRemote(t, box, "five", "wc -l <ran") != "2" {
		t.Error("its files are gone")
	}
	var all struct{ Runtimes []runtime }
	if s.do("GET", "/list", key, nil, &all); len(all.Runtimes) != 1 {
		t.Errorf("runtimes: %+v", all.Runtimes)
	}
	must.Report(t, p.Remove(t.Context(), spec.ID))
	if s.do("GET", "/list", key, nil, &all); len(all.Runtimes) != 0 {
		t.Errorf("runtimes are left: %+v", all.Runtimes)
	}

	request := sandboximage.Request{Base: image, ExtraDeps: "echo " + rand.Text() + " >/added"}
	var log []string
	name, err := p.BuildImage(t.Context(), request, func(line string) { log = append(log, line) })
	must.Succeed(t, err)
	lock := name[:strings.LastIndex(name, "_")]
	for _, tag := range []string{name, lock, name[:strings.LastIndex(name, ":")] + ":v1_" + sandboximage.SafeTag(image)} {
		removeImage(t, host, tag)
	}
	if again, err := p.BuildImage(t.Context(), request, func(line string) { t.Errorf("built again: %s", line) }); again != name || err != nil {
		t.Errorf("%s, %v; want %s", again, err, name)
	}
	if !slices.ContainsFunc(log, func(line string) bool { return strings.Contains(line, "Successfully tagged") }) {
		t.Errorf("the log: %q", log)
	}

	between.mu.Lock()
	defer between.mu.Unlock()
	t.Logf("requests: %v; faults: %v", between.seen, between.met)
	for _, what := range faults {
		if between.met[what] < 5 {
			t.Errorf("%s was met %d times", what, between.met[what])
		}
	}
}
