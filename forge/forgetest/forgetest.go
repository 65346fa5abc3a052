// Package forgetest is the conformance suite of the adapters of Git hosts. All of them pass
// it, against answers in the form of the hosts' documents.
//
// # Usage
//
//	forgetest.Run(t, "testdata/exchanges.json", func(e exchange.Endpoint) forge.Host { return github.New(e) })
//
// The file is a list of requests with their answers. All files describe the same account:
// octocat with the organisation acme, three repositories on two pages, and so on.
//
// # Failure
//
// A request that is not in the file fails the test, and so does a token in a URL.
package forgetest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/exchange"
	"github.com/deft-dev/deft/internal/must"
)

// Token is the one that the host takes.
const Token = "tok-0123456789abcdef"

// Exchange is a request with its answer.
type Exchange struct {
	// Request is a method and a path with a query, whose parameters may have any order.
	Request string `json:"request"`
	// Contains are texts in the request's body.
	Contains []string          `json:"contains"`
	Status   int               `json:"status"` // 200 if it is 0
	Header   map[string]string `json:"header"` // {base} is the server's URL
	Body     json.RawMessage   `json:"body"`   // a JSON string is sent as plain text
}

// Server replays exchanges.
type Server struct {
	*httptest.Server
	t   *testing.T
	all []Exchange

	mu    sync.Mutex
	Asked []string // requests, in their order
	// Check is told of each request that an exchange answers.
	Check func(line string, body []byte)
	// Answer takes the place of the exchanges, if it is set and returns true.
	Answer func(w http.ResponseWriter, r *http.Request) bool
}

// Serve starts a server with the exchanges of a file.
func Serve(t *testing.T, file string) *Server {
	t.Helper()
	return Replay(t, Exchanges(t, file))
}

// Exchanges reads the exchanges of a file.
func Exchanges(t *testing.T, file string) (all []Exchange) {
	t.Helper()
	readJSON(t, file, &all)
	return all
}

func readJSON(t *testing.T, file string, out any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	must.Succeed(t, err)
	if err := json.Unmarshal(raw, out); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// Replay starts a server with exchanges.
func Replay(t *testing.T, all []Exchange) *Server {
	t.Helper()
	s := &Server{t: t, all: all}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// normal is a request line with its parameters in order.
func normal(line string) string {
	path, query, _ := strings.Cut(line, "?")
	q, err := url.ParseQuery(query)
	if err != nil || len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	must.Report(s.t, err)
	line := normal(r.Method + " " + r.URL.RequestURI())
	s.Asked = append(s.Asked, line)
	if strings.Contains(line, Token) {
		s.t.Errorf("the token is in the URL: %s", line)
	}
	if s.Answer != nil && s.Answer(w, r) {
		return
	}
	if !strings.HasSuffix(r.Header.Get("Authorization"), " "+Token) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"message": "Bad credentials `+r.Header.Get("Authorization")+`"}`)
		return
	}
	i := slices.IndexFunc(s.all, func(e Exchange) bool {
		return normal(e.Request) == line && !slices.ContainsFunc(e.Contains, func(text string) bool { return !strings.Contains(string(body), text) })
	})
	if i < 0 {
		s.t.Errorf("nothing answers %s %s", line, body)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	e := s.all[i]
	if s.Check != nil {
		s.Check(line, body)
	}
	for name, value := range e.Header {
		w.Header().Set(name, strings.ReplaceAll(value, "{base}", s.URL))
	}
	if e.Status != 0 {
		w.WriteHeader(e.Status)
	}
	var text string
	if json.Unmarshal(e.Body, &text) == nil {
		_, _ = io.WriteString(w, text)
		return
	}
	_, _ = w.Write([]byte(strings.ReplaceAll(string(e.Body), "{base}", s.URL)))
}

// Open returns the host with an account's token.
func (s *Server) Open(open func(exchange.Endpoint) forge.Host, token string) forge.Host {
	base, err := url.Parse(s.URL)
	must.Succeed(s.t, err)
	return open(exchange.Endpoint{Web: base, Token: token, HTTP: s.Client(), Limits: &exchange.Limits{}})
}

// Run tests the behaviour that all adapters share.
func Run(t *testing.T, file string, open func(exchange.Endpoint) forge.Host) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, forge.Host){
		"user": user, "repositories": repositories, "branches": branches, "tasks": tasks, "propose": propose,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, Serve(t, file).Open(open, Token))
		})
	}
	t.Run("faults", func(t *testing.T) {
		t.Parallel()
		faults(t, file, open)
	})
}

// equal compares, and fails on an error.
func equal[T any](t *testing.T, what string, want, got T, err error) {
	t.Helper()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%s: %v (-want +got)\n%s", what, err, diff)
	}
}

func user(t *testing.T, h forge.Host) {
	u, err := h.User(t.Context())
	equal(t, "login", "octocat", u.Login, err)
	if u.ID == "" || u.AvatarURL == "" || u.Name != "The Octocat" {
		t.Errorf("%+v", u)
	}
	accounts, err := h.Accounts(t.Context())
	equal(t, "accounts", []string{"octocat", "acme"}, accounts, err)
}

func names(l forge.List[forge.Repository]) (out []string) {
	for _, r := range l.Items {
		out = append(out, r.FullName)
	}
	return out
}

func repositories(t *testing.T, h forge.Host) {
	ctx := t.Context()
	var all []string
	pages := 0
	for p := (forge.Page{Size: 2}); pages < 9; pages++ {
		l, err := h.Repositories(ctx, forge.RepositoryQuery{Sort: forge.ByPush, Page: p})
		must.Succeed(t, err)
		all = append(all, names(l)...)
		if p = (forge.Page{Token: l.Next, Size: 7}); l.Next == "" { // pages keep the size of the first
			break
		}
	}
	equal(t, "all pages", []string{"octocat/hello", "acme/api", "acme/web"}, all, nil)
	if pages == 0 {
		t.Error("there is one page")
	}
	found, err := h.Repositories(ctx, forge.RepositoryQuery{Text: "we", Page: forge.Page{Size: 5}})
	equal(t, "search", []string{"acme/web"}, names(found), err)
	of, err := h.Repositories(ctx, forge.RepositoryQuery{Account: "acme", Page: forge.Page{Size: 100}})
	equal(t, "those of acme", []string{"acme/api", "acme/web"}, names(of), err)
	one, err := h.Repository(ctx, "acme/api")
	if one.ID == "" || one.FullName != "acme/api" || one.Public || one.MainBranch != "main" || !strings.HasPrefix(one.PushedAt, "2026-11-0") || err != nil {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err = h.Repository(ctx, "acme/none"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a repository that does not exist: %v", err)
	}
	for _, bad := range []string{"acme", "", "a/../b", "a b/c", "/x", "x/", "a/b?c=d"} {
		if _, err = h.Repository(ctx, bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	at, name, password := h.Clone("acme/api")
	if !strings.HasSuffix(at, "/acme/api.git") || name == "" || password != Token {
		t.Errorf("clone from %s as %s", at, name)
	}
}

func branches(t *testing.T, h forge.Host) {
	ctx := t.Context()
	all, err := forge.All(func(p forge.Page) (forge.List[forge.Branch], error) {
		return h.Branches(ctx, "acme/api", "", forge.Page{Token: p.Token, Size: 2})
	})
	var got []string
	for _, b := range all {
		got = append(got, b.Name+" "+b.Commit[:4])
	}
	equal(t, "branches", []string{"feature/login c3d0", "fix-typo 7fd1", "main c5b9"}, got, err)
	found, err := h.Branches(ctx, "acme/api", "log", forge.Page{Size: 10})
	if len(found.Items) != 1 || found.Items[0].Name != "feature/login" || err != nil {
		t.Errorf("search: %+v, %v", found, err)
	}
	if _, err = h.Branches(ctx, "acme/none", "", forge.Page{Size: 2}); !fault.Is(err, fault.NotFound) {
		t.Errorf("branches of nothing: %v", err)
	}
	if _, err = h.Branches(ctx, "acme/api", "", forge.Page{Token: "x"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a page that does not exist: %v", err)
	}
}

func tasks(t *testing.T, h forge.Host) {
	got, err := h.Tasks(t.Context())
	want := []forge.Task{
		{Type: forge.MergeConflicts, Repository: "acme/api", Number: 7, Title: "Log in by e-mail"},
		{Type: forge.FailingChecks, Repository: "acme/web", Number: 3, Title: "New footer"},
		{Type: forge.UnresolvedComments, Repository: "octocat/hello", Number: 2, Title: "Say goodbye"},
	}
	if h.Provider() != forge.Bitbucket { // it lists the issues of one repository only
		want = append(want, forge.Task{Type: forge.OpenIssue, Repository: "acme/api", Number: 4, Title: "Crash on empty input"})
	}
	equal(t, "tasks", want, got, err)
}

func propose(t *testing.T, h forge.Host) {
	p := forge.Proposal{Repository: "acme/api", Source: "feature/login", Target: "main", Title: "Log in by e-mail", Description: "It works.", Draft: true, Labels: []string{"bug"}}
	got, err := h.Propose(t.Context(), p)
	if got.Number != 7 || !strings.HasPrefix(got.URL, "https://") || (got.Warning != "") != (h.Provider() == forge.Bitbucket) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	p.Source, p.Labels = "none", nil
	if _, err = h.Propose(t.Context(), p); err == nil || fault.KindOf(err) == fault.Internal {
		t.Errorf("from a branch that does not exist: %v", err)
	}
}

// faults are the ways in which hosts fail their clients.
func faults(t *testing.T, file string, open func(exchange.Endpoint) forge.Host) {
	s := Serve(t, file)
	if _, err := s.Open(open, "wrong-token-0815").User(t.Context()); !fault.Is(err, fault.Auth) || strings.Contains(err.Error(), "0815") {
		t.Errorf("with a wrong token: %v", err)
	}
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		kind   fault.Kind // "" for success
		asked  int        // requests
	}{
		{"busy once", always(http.StatusTooManyRequests, "Retry-After", "0"), "", 2},
		{"down for a moment", always(http.StatusBadGateway), "", 2},
		{"busy for long", always(http.StatusTooManyRequests, "Retry-After", "3600"), fault.RateLimit, 1},
		{"no requests left", always(http.StatusForbidden, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "99999999999"), fault.RateLimit, 1},
		{"forbidden", always(http.StatusForbidden), fault.Denied, 1},
		{"down", always(http.StatusServiceUnavailable, "Retry-After", "600"), fault.Unavailable, 1},
		{"no JSON", text("<html>sign in</html>"), fault.Unavailable, 1},
		{"endless", text(strings.Repeat(" ", 9<<20)), fault.Unavailable, 1},
		{"elsewhere", always(http.StatusFound, "Location", "http://127.0.0.2:1/steal"), fault.Unavailable, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := Serve(t, file)
			s.Answer = func(w http.ResponseWriter, r *http.Request) bool {
				if c.kind == "" && len(s.Asked) > 1 {
					return false
				}
				c.answer(w, r)
				return true
			}
			h := s.Open(open, Token)
			_, err := h.User(t.Context())
			if c.kind == "" && err != nil || c.kind != "" && !fault.Is(err, c.kind) || err != nil && strings.Contains(err.Error(), Token) {
				t.Errorf("%v, of kind %s", err, fault.KindOf(err))
			}
			if c.kind == fault.RateLimit { // later requests are not sent
				if _, err = h.User(t.Context()); !fault.Is(err, fault.RateLimit) {
					t.Errorf("again: %v", err)
				}
			}
			if len(s.Asked) != c.asked {
				t.Errorf("%d requests: %q", len(s.Asked), s.Asked)
			}
		})
	}
}

func always(status int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"message": "no `+Token+`"}`)
	}
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
}
