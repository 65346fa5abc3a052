package checkpoint_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/spawn"
)

// TestExchangedLinks takes and restores checkpoints while a program exchanges directories and
// files for links out of the workspace: nothing outside is kept or changed.
func TestExchangedLinks(t *testing.T) {
	t.Parallel()
	if !spawn.CanConfine() {
		if os.Getenv("CI") == "true" {
			t.Fatal("this kernel has no Landlock with ABI 2")
		}
		t.Skip("this kernel has no Landlock with ABI 2")
	}
	s := newSetup(t)
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "f"), "secret", 0o644)
	s.write("x", "0")
	must.Succeed(t, os.Mkdir(s.path("d"), 0o755))
	s.link(outside, "d.link")
	s.link(filepath.Join(outside, "f"), "x.link")
	var states []checkpoint.Record
	for _, text := range []string{"1", "2"} {
		s.write("d/f", text)
		s.write("d/made"+text, text)
		s.write("x", text)
		states = append(states, s.take("state"+text))
	}
	ctx, stop := context.WithCancel(t.Context())
	var flipping sync.WaitGroup
	flipping.Go(func() {
		for ctx.Err() == nil {
			for _, name := range []string{"d", "x"} {
				// A restore removes and makes them, so that they may be missing.
				_ = unix.Renameat2(unix.AT_FDCWD, s.path(name), unix.AT_FDCWD, s.path(name+".link"), unix.RENAME_EXCHANGE)
			}
		}
	})
	var taken []checkpoint.Record
	restored := 0
	for i := 0; i < 20 || i < 200 && (len(taken) == 0 || restored == 0); i++ {
		if r, err := s.Take(t.Context(), s.point(fmt.Sprint("racing", i))); err == nil { // it may not find a file that it has just seen
			taken = append(taken, r)
		}
		if _, err := s.Restore(t.Context(), s.point(fmt.Sprint("undone", i)), states[i%2]); err == nil {
			restored++
		}
	}
	stop()
	flipping.Wait()
	t.Logf("%d taken, %d restored", len(taken), restored)
	if text, err := os.ReadFile(filepath.Join(outside, "f")); err != nil || string(text) != "secret" {
		t.Errorf("outside: %q, %v", text, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside: %v, %v", entries, err)
	}
	if len(taken) == 0 || restored == 0 {
		t.Errorf("%d checkpoints were taken and %d restored", len(taken), restored)
	}
	for _, name := range []string{"d", "d.link", "x", "x.link"} {
		must.Succeed(t, os.RemoveAll(s.path(name)))
	}
	for i, r := range taken {
		s.restore(r)
		for name, text := range files(t, s.dir) {
			if strings.HasSuffix(text, "secret") {
				t.Errorf("checkpoint %d has %s: %s", i, name, text)
			}
		}
	}
}
