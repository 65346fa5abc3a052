package hostile_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/binary"
)

// zeros is a body without an end of its own.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

// TestHugeBodies sends 100 MB to several routes at once.
func TestHugeBodies(t *testing.T) {
	t.Parallel()
	const size = 100 << 20
	v := start(t, "a-key-of-the-test")
	id := v.conversation(t)
	var all sync.WaitGroup
	for _, route := range []string{
		"POST /api/conversations", "POST /api/conversations/" + id + "/events", "PATCH /api/settings",
		"POST /api/conversations/" + id + "/secrets", "POST /api/bash/execute_bash_command", "POST /v1/chat/completions",
	} {
		for _, known := range []bool{true, false} {
			all.Go(func() {
				method, path, _ := strings.Cut(route, " ")
				body := io.MultiReader(strings.NewReader(`{"a":"`), io.LimitReader(zeros{}, size))
				r, err := http.NewRequestWithContext(t.Context(), method, v.url+path, body)
				if err != nil {
					t.Error(err)
					return
				}
				if known {
					r.ContentLength = size + 6
				}
				r.Header.Set("X-Session-API-Key", v.key)
				r.Header.Set("Authorization", "Bearer "+v.key)
				r.Header.Set("Expect", "100-continue") // so that the answer is not lost with the connection
				resp, err := client.Do(r)
				if err != nil {
					// The server may close a connection that states no length.
					if known || !closed(err) {
						t.Errorf("%s: %v", route, err)
					}
					return
				}
				defer resp.Body.Close()
				answer, _ := io.ReadAll(resp.Body) // may be cut off with the connection
				if resp.StatusCode != http.StatusRequestEntityTooLarge {
					t.Errorf("%s: %s %.200s", route, resp.Status, answer)
				}
			})
		}
	}
	all.Wait()
	v.within(t, 2*mostMemory) // a third of the bodies; how many are read at once is the machine's affair
}

// closed reports whether an error comes from a connection that the server has
// closed.
func closed(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF)
}

// TestSlow sends heads and bodies that never come to an end.
func TestSlow(t *testing.T) {
	t.Parallel()
	v := start(t, "")
	v.alive(t)
	before := v.files(t)
	var all sync.WaitGroup
	for i := range 200 {
		sent := "POST /api/conversations HTTP/1.1\r\nHost: " + v.host + "\r\nX-Slow"
		if i%2 == 0 {
			sent += ": 1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
		}
		all.Go(func() {
			var d net.Dialer
			c, err := d.DialContext(t.Context(), "tcp", v.host)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			if _, err := io.WriteString(c, sent); err != nil {
				t.Error(err)
				return
			}
			answer, _ := io.ReadAll(c) // until the server closes, which resets some
			if bytes.Contains(answer, []byte(" 500 ")) {
				t.Errorf("answered %.200s", answer)
			}
		})
	}
	for range 50 { // the others are served meanwhile
		v.alive(t)
	}
	all.Wait()
	v.back(t, before+2)
	v.small(t)
}

func (v *victim) dial(t *testing.T, path string, header http.Header) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	return websocket.Dial(ctx, "ws://"+v.host+path, &websocket.DialOptions{HTTPHeader: header})
}

// TestDeaf has followers that read nothing while many events are published.
func TestDeaf(t *testing.T) {
	t.Parallel()
	v := start(t, "a-key-of-the-test")
	id := v.conversation(t)
	key := http.Header{"X-Session-Api-Key": {v.key}}
	for _, path := range []string{"/sockets/events/" + id + "?resend_all=true", "/sockets/session/" + id + "?after_seq=0"} {
		for range 5 {
			c, _, err := v.dial(t, path, key)
			must.Succeed(t, err)
			defer c.CloseNow()
		}
	}
	text := strings.Repeat("much ado about nothing ", 5000) // 115 KB
	for range 200 {
		status, raw := v.do(t, "POST", "/api/conversations/"+id+"/events", map[string]any{
			"role": "user", "content": []any{map[string]any{"type": "text", "text": text}},
		})
		if status != http.StatusOK {
			t.Fatalf("send: %d %.200s", status, raw)
		}
	}
	v.small(t)
}

// TestReconnects connects and disconnects a thousand times without a leak.
func TestReconnects(t *testing.T) {
	t.Parallel()
	v := start(t, "a-key-of-the-test")
	id := v.conversation(t)
	key := http.Header{"X-Session-Api-Key": {v.key}}
	visit := func(i int) {
		path := []string{"/sockets/events/" + id, "/sockets/session/" + id, "/sockets/bash-events"}[i%3]
		c, _, err := v.dial(t, path, key)
		if err != nil {
			t.Error(err)
			return
		}
		if i%2 == 0 {
			_ = c.CloseNow() // who leaves without a word
			return
		}
		_ = c.Close(websocket.StatusNormalClosure, "")
	}
	visit(0)
	visit(1)
	v.alive(t)
	before := v.files(t)
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 125 {
				visit(w + i)
			}
		})
	}
	all.Wait()
	v.back(t, before+2) // connections that are kept for the next request
	v.small(t)
}

// TestKeys shows no key, a wrong one, and another server's.
func TestKeys(t *testing.T) {
	t.Parallel()
	v, other := start(t, "a-key-of-the-test"), start(t, "a-key-of-another")
	id := v.conversation(t)
	for _, key := range []string{"", "x", other.key, v.key[:len(v.key)-1], v.key + "x", strings.ToUpper(v.key), "\xff"} {
		for _, op := range []string{
			"GET /api/conversations/" + id, "GET /api/conversations/search", "DELETE /api/conversations/" + id, "POST /api/conversations",
			"GET /api/settings", "POST /api/bash/execute_bash_command", "GET /v1/models", "GET /api/no/such/route",
		} {
			method, path, _ := strings.Cut(op, " ")
			r, err := http.NewRequestWithContext(t.Context(), method, v.url+path, strings.NewReader("{}"))
			must.Succeed(t, err)
			r.Header.Set("X-Session-API-Key", key)
			r.Header.Set("Authorization", "Bearer "+key)
			r.AddCookie(&http.Cookie{Name: "oh_workspace_session_key", Value: key})
			resp, err := client.Do(r)
			must.Succeed(t, err)
			var body map[string]any
			err = json.NewDecoder(resp.Body).Decode(&body)
			resp.Body.Close()
			want := http.StatusUnauthorized
			if strings.Contains(path, "no/such") {
				want = http.StatusNotFound
			}
			if resp.StatusCode != want || err != nil || body["detail"] == nil && body["error"] == nil {
				t.Errorf("%s with %q: %s %v %v", op, key, resp.Status, body, err)
			}
		}
		if key == "" {
			continue // then the first frame is to bring it
		}
		for _, path := range []string{"/sockets/events/" + id, "/sockets/session/" + id, "/sockets/bash-events"} {
			if c, resp, err := v.dial(t, path, http.Header{"X-Session-Api-Key": {key}}); err == nil {
				_ = c.CloseNow()
				t.Errorf("%s opens to %q", path, key)
			} else if resp == nil || resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s with %q: %v", path, key, err)
			}
		}
	}
	for _, frame := range []string{`{"type":"auth","session_api_key":"` + other.key + `"}`, `{"type":"auth"}`, "{", "[]", "\x00"} {
		c, _, err := v.dial(t, "/sockets/events/"+id, nil)
		must.Succeed(t, err)
		must.Report(t, c.Write(t.Context(), websocket.MessageText, []byte(frame)))
		if _, got, err := c.Read(t.Context()); err == nil {
			t.Errorf("after %q the socket says %s", frame, got)
		}
		_ = c.CloseNow()
	}
}

// TestOrigin checks that a page of another origin cannot use a server that has no
// keys.
func TestOrigin(t *testing.T) {
	t.Parallel()
	v := start(t, "")
	id := v.conversation(t)
	for _, origin := range []string{"https://evil.example", "http://localhost.evil.example", "http://127.0.0.1.evil.example:80", "null"} {
		for _, path := range []string{"/sockets/events/" + id, "/sockets/session/" + id, "/sockets/bash-events"} {
			c, resp, err := v.dial(t, path, http.Header{"Origin": {origin}})
			if err == nil {
				_ = c.CloseNow()
				t.Errorf("%s opens to a page of %s", path, origin)
			} else if resp == nil || resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s to a page of %s: %v", path, origin, err)
			}
		}
		r, err := http.NewRequestWithContext(t.Context(), "POST", v.url+"/api/conversations/"+id+"/pause", nil)
		must.Succeed(t, err)
		r.Header.Set("Origin", origin)
		resp, err := client.Do(r)
		must.Succeed(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("a page of %s may pause: %s", origin, resp.Status)
		}
		if got := resp.Header.Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("a page of %s may read: %s", origin, got)
		}
	}
	// A name that was pointed at this machine is refused too.
	r, err := http.NewRequestWithContext(t.Context(), "GET", v.url+"/api/conversations/search", nil)
	must.Succeed(t, err)
	r.Host = "evil.example"
	resp, err := client.Do(r)
	must.Succeed(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("reached as evil.example: %s", resp.Status)
	}
}

// TestPublicAddress checks that a server without keys refuses to listen where
// others can reach it.
func TestPublicAddress(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"0.0.0.0", "::", "192.0.2.1"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		out, err := binary.AgentServer(ctx, t.TempDir(), "--host", host, "--port", "0").CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || ctx.Err() != nil || exit.ExitCode() <= 0 {
			t.Errorf("--host %s without keys: %v\n%s", host, err, out)
		}
		if !strings.Contains(string(out), "key") {
			t.Errorf("--host %s does not say what is missing: %s", host, out)
		}
	}
}
