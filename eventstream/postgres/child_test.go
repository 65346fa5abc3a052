package postgres_test

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream/postgres"
	"github.com/deft-dev/deft/internal/must"
)

// child is the role of the test binary when it is started as another process.
func child(mode, url string, ids []string) int {
	s, err := postgres.Open(context.Background(), url, postgres.Options{})
	if err == nil {
		switch mode {
		case "append":
			err = appendForever(s, ids)
		case "lock":
			err = lockForever(s, ids)
		default:
			err = fmt.Errorf("unknown mode %q", mode)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// lockForever locks conversations and waits to be killed.
func lockForever(s *postgres.Store, ids []string) error {
	for _, id := range ids {
		if _, err := s.Locks().Acquire(context.Background(), event.ConversationID(id)); err != nil {
			return err
		}
	}
	fmt.Println("locked")
	time.Sleep(math.MaxInt64)
	return nil
}

// appendForever appends from one goroutine to each conversation and prints the
// acknowledged events.
func appendForever(s *postgres.Store, ids []string) error {
	failed := make(chan error)
	for _, id := range ids {
		go func() {
			for i := 0; ; i++ {
				evs := []event.Event{event.NewUserMessage("one")}
				if i%3 == 0 {
					evs = append(evs, event.NewUserMessage(strings.Repeat("two ", 2000)))
				}
				last, err := s.Append(context.Background(), event.ConversationID(id), evs...)
				if err != nil {
					failed <- err
					return
				}
				for k, ev := range evs {
					// One write, so that a line is complete or missing.
					fmt.Printf("%s %d %s\n", id, int(last)-len(evs)+1+k, ev.Meta().ID)
				}
			}
		}()
	}
	return <-failed
}

// process is a child that runs.
type process struct {
	cmd    *exec.Cmd
	out    *bufio.Reader
	stderr *strings.Builder
}

func startChild(t *testing.T, mode, url string, ids ...string) *process {
	t.Helper()
	exe, err := os.Executable()
	must.Succeed(t, err)
	p := &process{cmd: exec.Command(exe, ids...), stderr: &strings.Builder{}}
	p.cmd.Env = append(os.Environ(), "DEFT_POSTGRES_CHILD="+mode, "DEFT_POSTGRES_URL="+url)
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	must.Succeed(t, err)
	p.out = bufio.NewReader(out)
	must.Succeed(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // it is ended already if the test went well
	return p
}

// expect reads a line.
func (p *process) expect(t *testing.T, want string) {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if strings.TrimSpace(line) != want {
		t.Fatalf("the other process said %q, %v, want %q", line, err, want)
	}
}

// kill ends the process without warning.
func (p *process) kill(t *testing.T) {
	t.Helper()
	must.Succeed(t, p.cmd.Process.Kill())
}

// wait returns when a killed process has ended and its output has been read.
func (p *process) wait(t *testing.T) {
	t.Helper()
	err := p.cmd.Wait()
	if p.stderr.Len() > 0 {
		t.Fatalf("the other process failed by itself: %v: %s", err, p.stderr)
	}
}
