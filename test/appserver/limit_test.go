package appserver_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/internal/postgrestest"
)

// blocked is an agent whose command ends when its conversation does.
const blocked = `
by_history: true
turns:
  - reply: {tool_calls: [{name: terminal, arguments: {command: "mkfifo never; read x <never"}}]}
`

// TestLimitOfUser: of starts in the same instant, at one server or at two, no more succeed than
// a user may have at work, and a replay too many leaves nothing.
func TestLimitOfUser(t *testing.T) {
	t.Parallel()
	args := []string{"--max-per-user", "2"}
	for name, servers := range map[string]func(t *testing.T) []deployment{
		"sqlite": func(t *testing.T) []deployment {
			return []deployment{deploy(t, blocked, options{args: args})}
		},
		"postgres": func(t *testing.T) []deployment {
			o := options{database: postgrestest.URL(t), args: args}
			d := deploy(t, blocked, o)
			return []deployment{d, d.again(t, o)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := servers(t)
			d := all[0]
			const starts = 12
			begin, answers := make(chan struct{}), make(chan string, starts)
			var sent sync.WaitGroup
			for i := range starts {
				sent.Go(func() {
					<-begin
					answers <- all[i%len(all)].tryStart(t)
				})
			}
			close(begin)
			sent.Wait()
			close(answers)
			begun := 0
			for answer := range answers {
				if answer == "200" {
					begun++
				} else if !strings.HasPrefix(answer, "429") || !strings.Contains(answer, "at work") {
					t.Errorf("a start: %s", answer)
				}
			}
			if begun != 2 {
				t.Errorf("%d conversations were started", begun)
			}

			status, answer := d.owner.sendRaw(t, d.url+"/api/v1/app-conversations/replay", bytes.NewReader(interrupted(t)))
			if status != http.StatusTooManyRequests {
				t.Errorf("a replay: %d %s", status, answer)
			}
			if after := d.workspaces(t); len(after) > 2 {
				t.Errorf("the replay has left a workspace: %q", after)
			}
		})
	}
}

// tryStart starts a conversation and returns the status, with the text of an error.
func (d deployment) tryStart(t *testing.T) string {
	body := strings.NewReader(`{"initial_message": {"role": "user", "run": true, "content": [{"type": "text", "text": "wait"}]}}`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+"/api/v1/app-conversations", body)
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	got, err := d.owner.http.Do(r)
	if err != nil {
		return err.Error()
	}
	defer got.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(got.Body); err != nil || got.StatusCode == http.StatusOK {
		return fmt.Sprint(got.StatusCode)
	}
	return fmt.Sprint(got.StatusCode, " ", text.String())
}

// workspaces are the workspaces of all sandboxes.
func (d deployment) workspaces(t *testing.T) (names []string) {
	t.Helper()
	found, err := os.ReadDir(filepath.Join(d.data, "events", "app", "workspaces"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range found {
		names = append(names, e.Name())
	}
	return names
}
