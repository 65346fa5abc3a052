package actionserver_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/waittest"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/pty"
)

// withPTYs serves terminals in a directory.
func withPTYs(t *testing.T, o pty.Options) *served {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	return serveWith(t, actionserver.Options{PTYs: pty.New(o)})
}

func openPTY(t *testing.T, rt tool.PTYs, script string) string {
	t.Helper()
	p, err := rt.OpenPTY(t.Context(), tool.PTYSpec{Argv: []string{"sh", "-c", script}})
	must.Succeed(t, err)
	return p.ID
}

func attachPTY(t *testing.T, rt tool.PTYs, id string, offset int64) tool.PTYConn {
	t.Helper()
	c, err := rt.AttachPTY(t.Context(), id, offset)
	must.Succeed(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// readUntil reads until the output has a text, and returns all of it.
func readUntil(t *testing.T, c io.Reader, want string) string {
	t.Helper()
	var got bytes.Buffer
	piece := make([]byte, 4096)
	for !strings.Contains(got.String(), want) {
		n, err := c.Read(piece)
		got.Write(piece[:n])
		if err != nil && !strings.Contains(got.String(), want) {
			t.Fatalf("%v after %q, without %q", err, got.String(), want)
		}
	}
	return got.String()
}

func TestPTY(t *testing.T) {
	t.Parallel()
	rt := connect(t, withPTYs(t, pty.Options{}))
	id := openPTY(t, rt, "stty size; read x; stty size; echo got-$x; exit 4")
	c := attachPTY(t, rt, id, 0)
	readUntil(t, c, "24 80")
	must.Succeed(t, rt.ResizePTY(t.Context(), id, 50, 132))
	if _, err := io.WriteString(c, "hello\n"); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(c)
	if err != nil || !strings.HasSuffix(string(rest), "50 132\r\ngot-hello\r\n") || c.ExitCode() != 4 {
		t.Errorf("%q, %v, exit code %d", rest, err, c.ExitCode())
	}
	list, err := rt.ListPTYs(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != id || *list[0].ExitCode != 4 {
		t.Errorf("%+v, %v", list, err)
	}
	must.Succeed(t, rt.ClosePTY(t.Context(), id))
	if _, err := rt.AttachPTY(t.Context(), id, 0); !fault.Is(err, fault.NotFound) {
		t.Errorf("attach after close: %v", err)
	}
}

// cutter dials connections that can be cut.
type cutter struct {
	dial func(context.Context) (net.Conn, error)

	mu   sync.Mutex
	open []net.Conn
}

func (c *cutter) Dial(ctx context.Context) (net.Conn, error) {
	conn, err := c.dial(ctx)
	if err == nil {
		c.mu.Lock()
		c.open = append(c.open, conn)
		c.mu.Unlock()
	}
	return conn, err
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		conn.Close()
	}
	c.open = nil
}

// TestPTYReattach loses the connection in the middle of the output and gets all of
// it, once.
func TestPTYReattach(t *testing.T) {
	t.Parallel()
	s := withPTYs(t, pty.Options{Scrollback: 4 << 20}) // all of it: the program goes on meanwhile
	link := &cutter{dial: s.dial}
	rt, err := remote.New(remote.Options{Dial: link.Dial})
	must.Succeed(t, err)
	defer rt.Close()
	const lines = 100_000 // more than the buffers on the way hold
	id := openPTY(t, rt, fmt.Sprintf("read x; seq 1 %d", lines))
	var got bytes.Buffer
	for try := 0; ; try++ {
		c, err := rt.AttachPTY(t.Context(), id, int64(got.Len()))
		must.Succeed(t, err)
		if c.Offset() != int64(got.Len()) {
			t.Fatalf("output begins at %d of %d", c.Offset(), got.Len())
		}
		if try == 0 {
			if _, err := io.WriteString(c, "\n"); err != nil {
				t.Fatal(err)
			}
		}
		if try < 5 {
			_, err := io.CopyN(&got, c, 10_000)
			must.Succeed(t, err)
			link.cut()
			for err == nil { // output that had arrived
				_, err = io.CopyN(&got, c, 1)
			}
			if !fault.Is(err, fault.Unavailable) {
				t.Fatalf("a lost connection gives %v", err)
			}
			continue
		}
		if _, err := io.Copy(&got, c); err != nil {
			t.Fatal(err)
		}
		break
	}
	text := strings.ReplaceAll(got.String(), "\r", "")
	for i, line := range strings.Split(strings.TrimSpace(strings.TrimLeft(text, "\n")), "\n") {
		if line != fmt.Sprint(i+1) {
			t.Fatalf("line %d is %q", i+1, line)
		}
	}
}

// TestPTYSlowReader holds a flood up without keeping it in memory.
func TestPTYSlowReader(t *testing.T) {
	dir := t.TempDir()
	s := withPTYs(t, pty.Options{Dir: dir, Scrollback: 128 << 10})
	rt := connect(t, s)
	id := openPTY(t, rt, "read go; head -c 50000000 /dev/zero | sh -c 'echo $$ > flood; exec tr \\\\0 x'; echo > done; echo end")
	c := attachPTY(t, rt, id, 0)
	_, err := io.WriteString(c, "\n") // without a reader the scrollback would let go of the beginning
	must.Succeed(t, err)
	begun := len(readUntil(t, c, "x"))
	var before, after goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&before)
	flood, err := os.ReadFile(filepath.Join(dir, "flood"))
	must.Succeed(t, err)
	waittest.Still(t, "the flood stands still", func() string {
		_, err := rt.ListPTYs(t.Context()) // other requests are answered meanwhile
		must.Succeed(t, err)
		written, _ := os.ReadFile("/proc/" + strings.TrimSpace(string(flood)) + "/io") // nothing if it has ended
		return string(written)
	})
	goruntime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if _, err := os.Stat(filepath.Join(dir, "done")); err == nil {
		t.Error("the flood did not wait for its reader")
	}
	n, err := io.Copy(io.Discard, c)
	if total := int64(begun) + n; err != nil || total < 50_000_000 {
		t.Errorf("%d bytes, %v", total, err)
	}
}

// TestPTYEndsWithServer tells the client, and leaves no process.
func TestPTYEndsWithServer(t *testing.T) {
	t.Parallel()
	s := withPTYs(t, pty.Options{})
	rt := connect(t, s)
	id := openPTY(t, rt, "echo pid $$; while :; do sleep 1; done")
	c := attachPTY(t, rt, id, 0)
	pid := strings.TrimSpace(strings.TrimPrefix(readUntil(t, c, "\r\n"), "pid "))
	must.Succeed(t, rt.Shutdown(t.Context()))
	<-s.ended
	if _, err := io.Copy(io.Discard, c); err == nil {
		t.Error("the end of the server looks like that of the program")
	}
	if _, err := os.Stat("/proc/" + pid); err == nil {
		t.Error("the program is left")
	}
}

// TestPTYBadRequests gets a status and its reason.
func TestPTYBadRequests(t *testing.T) {
	t.Parallel()
	s := withPTYs(t, pty.Options{Max: 1})
	rt := connect(t, s)
	id := openPTY(t, rt, "exec sleep 1000")
	for name, c := range map[string]struct {
		method, path, body string
		want               int
	}{
		"not JSON":           {"POST", "/v1/ptys", "{", 422},
		"wrong type":         {"POST", "/v1/ptys", `{"rows":"x"}`, 422},
		"too many":           {"POST", "/v1/ptys", `{}`, 429},
		"unknown":            {"DELETE", "/v1/ptys/none", "", 404},
		"no offset":          {"POST", "/v1/ptys/" + id + "/attach", "", 422},
		"negative offset":    {"POST", "/v1/ptys/" + id + "/attach?offset=-5", "", 422},
		"size of zero":       {"POST", "/v1/ptys/" + id + "/resize", `{"rows":0,"cols":0}`, 422},
		"nonsense as size":   {"POST", "/v1/ptys/" + id + "/resize", `{"rows":1e9,"cols":3}`, 422},
		"no size":            {"POST", "/v1/ptys/" + id + "/resize", ``, 422},
		"size of an unknown": {"POST", "/v1/ptys/none/resize", `{"rows":1,"cols":1}`, 404},
	} {
		conn, err := s.dial(t.Context())
		must.Succeed(t, err)
		fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", c.method, c.path, len(c.body), c.body)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != c.want || !strings.Contains(string(body), `"kind"`) {
			t.Errorf("%s: got %d %s, want %d", name, resp.StatusCode, body, c.want)
		}
		conn.Close()
	}
}

// TestPTYGarbage detaches a client that does not speak the protocol; the terminal
// goes on.
func TestPTYGarbage(t *testing.T) {
	t.Parallel()
	s := withPTYs(t, pty.Options{})
	rt := connect(t, s)
	id := openPTY(t, rt, "read x; echo got-$x")
	conn, err := s.dial(t.Context())
	must.Succeed(t, err)
	fmt.Fprintf(conn, "POST /v1/ptys/%s/attach?offset=0 HTTP/1.1\r\nHost: x\r\n\r\nzzzz not a chunk\r\n", id)
	if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, io.EOF) {
		t.Logf("the server closed with %v", err)
	}
	conn.Close()
	c := attachPTY(t, rt, id, 0)
	if _, err := io.WriteString(c, "real\n"); err != nil {
		t.Fatal(err)
	}
	readUntil(t, c, "got-real")
}

func TestNoPTYs(t *testing.T) {
	t.Parallel()
	rt := connect(t, serveWith(t, actionserver.Options{}))
	if _, err := rt.OpenPTY(t.Context(), tool.PTYSpec{}); !fault.Is(err, fault.Unsupported) {
		t.Errorf("got %v", err)
	}
}
