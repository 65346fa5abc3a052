package runtimeapi_test

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/deft-dev/deft/internal/must"
)

// TestGivenSocket: WebSockets of a program of the client pass with the session key, in a
// header or, as browsers must, in the query, and the program does not get it.
func TestGivenSocket(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "server")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "./testdata/socket")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	for name, with := range map[string]struct {
		container bool
		args      []string
		ask       map[string]any
	}{
		"process": {false, []string{"--ignore", ignored}, nil},
		"docker":  {true, []string{"--sandbox", "docker"}, map[string]any{"image": image, "image_pull_policy": "Never"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docker := ""
			if with.container {
				docker = engine(t)
			}
			s := openWith(t, docker, with.args...)
			ask := map[string]any{
				"command": []string{"sh", "-c", "until [ -x server ]; do sleep 0.05; done; exec ./server"}, "session_id": "s",
				"working_dir": "/workspace", "environment": map[string]string{"PORT": "8080"},
			}
			maps.Copy(ask, with.ask)
			var r runtime
			if status := s.do("POST", "/start", key, ask, &r); status != http.StatusOK {
				t.Fatalf("start: %d, %+v", status, r)
			}
			if _, answer, err := r.socket(t, "/sockets/x", r.SessionKey); err == nil || answer.StatusCode != http.StatusBadGateway {
				t.Errorf("before it listens: %v, %v", answer, err)
			}
			workspace := filepath.Join(s.dir, "data/runtime-api/workspaces", r.ID, "workspace")
			put(t, program, filepath.Join(workspace, "server"))
			await(t, func() bool {
				c, _, err := r.socket(t, "/", r.SessionKey)
				if err == nil {
					err = c.CloseNow()
				}
				return err == nil
			})
			r.refusesSockets(t)
			r.talks(t)

			// It stays while the runtime is paused, and ends with this server.
			c, _, err := r.socket(t, "/", r.SessionKey)
			must.Succeed(t, err)
			hears(t, c, "/")
			s.do("POST", "/pause", key, map[string]any{"runtime_id": r.ID}, nil)
			if _, answer, err := r.socket(t, "/", r.SessionKey); err == nil || answer.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("paused: %v, %v", answer, err)
			}
			s.do("POST", "/resume", key, map[string]any{"runtime_id": r.ID}, nil)
			says(t, c, "still there")
			s.kill()
			if _, _, err := c.Read(t.Context()); err == nil {
				t.Error("it outlives the server that it leads through")
			}
			s.start(with.args...)
			if c, _, err = r.socket(t, "/", r.SessionKey); err != nil {
				t.Fatal(err)
			}
			hears(t, c, "/")
			says(t, c, "again")

			// The program's end is the connection's.
			must.Report(t, c.Write(t.Context(), websocket.MessageText, []byte("exit")))
			if _, _, err := c.Read(t.Context()); err == nil {
				t.Error("it outlives the program")
			}
			await(t, func() bool { status, _ := s.state("s"); return status == "stopped" })
			if _, reason := s.state("s"); reason != "unknown" && reason != "exited with code 3" {
				t.Errorf("the reason is %q", reason)
			}
		})
	}
}

// put makes a copy of a program, all at once.
func put(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to+".new", raw, 0o755)
	}
	if err == nil {
		err = os.Rename(to+".new", to)
	}
	must.Succeed(t, err)
}

// socket opens a WebSocket of a runtime's program.
func (r runtime) socket(t *testing.T, path, sessionKey string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := http.Header{}
	if sessionKey != "" {
		h.Set("X-Session-API-Key", sessionKey)
	}
	c, answer, err := websocket.Dial(ctx, strings.Replace(r.URL, "http", "ws", 1)+path, &websocket.DialOptions{HTTPHeader: h, Subprotocols: []string{"own"}})
	if err == nil {
		c.SetReadLimit(8 << 20)
		t.Cleanup(func() { _ = c.CloseNow() }) // it may have ended
	}
	return c, answer, err
}

func (r runtime) refusesSockets(t *testing.T) {
	t.Helper()
	for name, c := range map[string]struct{ path, key string }{
		"no key":             {"/sockets/x", ""},
		"another key":        {"/sockets/x", "x"},
		"the API's key":      {"/sockets/x", key},
		"an empty query":     {"/sockets/x?session_api_key=", ""},
		"another query":      {"/sockets/x?session_api_key=x", ""},
		"a wrong header":     {"/sockets/x?session_api_key=" + r.SessionKey, "x"},
		"the API's in query": {"/sockets/x?session_api_key=" + key, ""},
	} {
		if _, answer, err := r.socket(t, c.path, c.key); err == nil || answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %v, %v", name, answer, err)
		}
	}
	if status, _ := r.fetch(t, "/x?session_api_key="+r.SessionKey, ""); status != http.StatusUnauthorized {
		t.Errorf("the key in the query of a plain request: %d", status)
	}
}

// talks exchanges messages by both ways to show the key.
func (r runtime) talks(t *testing.T) {
	t.Helper()
	for _, how := range []struct{ path, key, seen string }{
		{"/sockets/x?a=1&b=%20", r.SessionKey, "/sockets/x?a=1&b=%20"},
		{"/sockets/x?a=1&session_api_key=" + r.SessionKey + "&b=%20", "", "/sockets/x?a=1&b=%20"},
		{"/sockets/x?session_api_key=" + r.SessionKey, r.SessionKey, "/sockets/x"},
	} {
		c, _, err := r.socket(t, how.path, how.key)
		if err != nil {
			t.Errorf("%s: %v", how.path, err)
			continue
		}
		if c.Subprotocol() != "own" {
			t.Errorf("the subprotocol is %q", c.Subprotocol())
		}
		if hello := hears(t, c, how.seen); strings.Contains(hello, r.SessionKey) {
			t.Errorf("the program has the session key: %s", hello)
		}
		says(t, c, "text")
		big := bytes.Repeat([]byte{0, 255}, 2<<20)
		must.Report(t, c.Write(t.Context(), websocket.MessageBinary, big))
		if kind, got, err := c.Read(t.Context()); kind != websocket.MessageBinary || !bytes.Equal(got, big) {
			t.Errorf("of 4 MB %d bytes came back: %v", len(got), err)
		}
		must.Report(t, c.Write(t.Context(), websocket.MessageText, []byte("close")))
		if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != 4001 {
			t.Errorf("closed with %v", err)
		}
	}
}

// hears reads the program's first words, and compares its request.
func hears(t *testing.T, c *websocket.Conn, uri string) string {
	t.Helper()
	_, raw, err := c.Read(t.Context())
	if err != nil || !strings.Contains(strings.ReplaceAll(string(raw), `\u0026`, "&"), `"uri":"`+uri+`"`) {
		t.Errorf("it says %s, %v; want %s", raw, err, uri)
	}
	return string(raw)
}

// says writes a text, which comes back.
func says(t *testing.T, c *websocket.Conn, text string) {
	t.Helper()
	err := c.Write(t.Context(), websocket.MessageText, []byte(text))
	must.Report(t, err)
	if _, got, err := c.Read(t.Context()); string(got) != text || err != nil {
		t.Errorf("%q: %q, %v", text, got, err)
	}
}
