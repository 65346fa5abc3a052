package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/must"
)

// child is the role of the test binary when it is started as a writer.
func child(mode, dir string) int {
	var err error
	switch mode {
	case "append":
		err = appendForever(dir)
	case "fill":
		err = fillDisk(dir)
	default:
		err = fmt.Errorf("unknown mode %q", mode)
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func command(t testing.TB, mode, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	must.Succeed(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "DEFT_SQLITE_CHILD="+mode, "DEFT_SQLITE_DIR="+dir)
	return cmd
}

// appendForever appends from several goroutines to one conversation each and
// prints the acknowledged events.
func appendForever(dir string) error {
	s, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		return err
	}
	page, err := s.List(context.Background(), eventstream.ListQuery{})
	if err != nil {
		return err
	}
	failed := make(chan error)
	for _, info := range page.Infos {
		go func() {
			for i := 0; ; i++ {
				evs := []event.Event{event.NewUserMessage("one")}
				if i%3 == 0 {
					evs = append(evs, event.NewUserMessage(strings.Repeat("two ", 2000)))
				}
				last, err := s.Append(context.Background(), info.ID, evs...)
				if err != nil {
					failed <- err
					return
				}
				for k, ev := range evs {
					// One write, so that a line is complete or missing.
					fmt.Printf("%s %d %s\n", info.ID, int(last)-len(evs)+1+k, ev.Meta().ID)
				}
			}
		}()
	}
	return <-failed
}

type acked struct {
	mu  sync.Mutex
	ids map[event.ConversationID]map[eventstream.Seq]event.ID
}

// collect reads acknowledgements and closes got after the first.
func (a *acked) collect(t testing.TB, r io.Reader, got chan<- struct{}) {
	first := true
	for sc := bufio.NewScanner(r); sc.Scan(); {
		var id, ev string
		var seq eventstream.Seq
		if n, err := fmt.Sscanf(sc.Text(), "%s %d %s", &id, &seq, &ev); n != 3 || len(ev) != 36 {
			t.Logf("half a line at the kill: %q (%v)", sc.Text(), err)
			continue
		}
		a.mu.Lock()
		a.ids[event.ConversationID(id)][seq] = event.ID(ev)
		a.mu.Unlock()
		if first {
			close(got)
			first = false
		}
	}
	if first {
		close(got)
	}
}

// check compares everything acknowledged with the content of the store.
func (a *acked) check(t testing.TB, s eventstream.Stream) {
	t.Helper()
	for id, ids := range a.ids {
		n := eventstream.Seq(0)
		seen := map[event.ID]bool{}
		for r, err := range s.Read(t.Context(), id, 1) {
			must.Succeed(t, err)
			if n++; r.Seq != n || seen[r.ID] {
				t.Fatalf("event %d (%s) at position %d", r.Seq, r.ID, n)
			}
			seen[r.ID] = true
			if want, ok := ids[r.Seq]; ok && want != r.ID {
				t.Fatalf("event %d is %s, acknowledged was %s", r.Seq, r.ID, want)
			}
		}
		for seq := range ids {
			if seq > n {
				t.Fatalf("acknowledged event %d of conversation %s is missing, the last is %d", seq, id, n)
			}
		}
		info, err := s.Info(t.Context(), id)
		if err != nil || info.Events != n {
			t.Fatalf("Info has %d events, read %d, error %v", info.Events, n, err)
		}
	}
}

// TestKill kills a writing process at random points. It starts a new store
// now and then, so that reading all of it stays quick.
func TestKill(t *testing.T) {
	t.Parallel()
	for range tries(10) {
		killRound(t, 20)
	}
}

// tries returns how often a test tries something random: all in the full proof.
func tries(all int) int {
	switch {
	case os.Getenv("DEFT_PROOF") != "":
		return all
	case testing.Short():
		return max(1, all/10)
	}
	return all / 3
}

func killRound(t *testing.T, kills int) {
	dir := t.TempDir()
	a := &acked{ids: map[event.ConversationID]map[eventstream.Seq]event.ID{}}
	s := open(t, dir)
	for range 4 {
		a.ids[newConversation(t, s)] = map[eventstream.Seq]event.ID{}
	}
	must.Succeed(t, s.Close())
	total := 0
	for range kills {
		total = a.kill(t, dir)
		s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
		must.Succeed(t, err)
		a.check(t, s)
		must.Succeed(t, s.Close())
	}
	if total == 0 {
		t.Fatal("no event was ever acknowledged: the test tests nothing")
	}
	t.Logf("%d kills, %d acknowledged events", kills, total)
}

// kill runs a writer, kills it and returns how many events were acknowledged so far.
func (a *acked) kill(t *testing.T, dir string) int {
	t.Helper()
	cmd := command(t, "append", dir)
	out, err := cmd.StdoutPipe()
	must.Succeed(t, err)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	must.Succeed(t, cmd.Start())
	got, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		a.collect(t, out, got)
	}()
	<-got
	// This test varies the point of the kill.
	timer := time.NewTimer(time.Duration(rand.IntN(30_000)) * time.Microsecond)
	<-timer.C
	must.Succeed(t, cmd.Process.Kill())
	<-done
	err = cmd.Wait()
	if stderr.Len() > 0 {
		t.Fatalf("the writer failed by itself: %v: %s", err, stderr.String())
	}
	n := 0
	for _, ids := range a.ids {
		n += len(ids)
	}
	return n
}
