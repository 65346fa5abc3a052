package socketio_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/server/socketio"
)

// needed skips the test for a reason, or fails it in CI.
func needed(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s; run make deps", reason)
	}
	t.Skipf("%s; run make deps", reason)
}

// published runs the published client against a server and returns what it prints.
func published(t *testing.T, url, conversation string) []string {
	t.Helper()
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(home, ".cache")
	}
	dir := filepath.Join(cache, "deft-deps", "socketio")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "socket.io-client")); err != nil {
		needed(t, "socket.io-client is not installed")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		needed(t, "node is not installed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "testdata/client.mjs", dir, url, conversation)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// dropping loses the connection when its client asks for it.
type dropping struct {
	ask chan string
	got chan string
}

func (d *dropping) Run(ctx context.Context, emit socketio.Emit) error {
	for {
		select {
		case text := <-d.got:
			if err := emit("oh_event", []byte(text)); err != nil {
				return err
			}
		case name := <-d.ask:
			if name == "end" {
				return nil
			}
			return context.DeadlineExceeded
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *dropping) Event(ctx context.Context, _ socketio.Emit, name string, args []json.RawMessage) {
	to, text := d.ask, name
	switch name {
	case "nothing":
		return
	case "oh_user_action":
		to, text = d.got, string(args[0])
	}
	select {
	case to <- text:
	case <-ctx.Done():
	}
}

func TestPublishedClient(t *testing.T) {
	t.Parallel()
	s := start(t, socketio.Options{Connect: func(r *http.Request) (socketio.Session, error) {
		if r.URL.Query().Get("conversation_id") != "known" {
			return nil, &socketio.Refused{Message: "refused", Data: map[string]string{"msg_id": "CONVERSATION$NOT_FOUND"}}
		}
		return &dropping{make(chan string), make(chan string)}, nil
	}}, nil)
	message := `["oh_event",{"action":"message","args":{"content":"é"}}]`
	want := []string{
		`["connect",1]`, message, `["acknowledged",0]`, `["disconnect","transport close"]`,
		`["connect",2]`, message, `["acknowledged",0]`, `["disconnect","io server disconnect"]`,
	}
	if diff := cmp.Diff(want, published(t, s.URL, "known")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want = []string{`["connect_error","refused",{"msg_id":"CONVERSATION$NOT_FOUND"}]`}
	if diff := cmp.Diff(want, published(t, s.URL, "other")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
