package checkpoint_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/internal/must"
)

// BenchmarkTake takes checkpoints of 50,000 files of which 100 have changed: some
// changed, some new and untracked, some gone. The first one, which reads all, is
// reported beside.
func BenchmarkTake(b *testing.B) {
	s := newSetup(b)
	large(b, s)
	began := time.Now()
	r := s.take("first")
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "first-ms")
	if r.Files != 50_000 {
		b.Fatal(r.Files, "files")
	}
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		change(s, n)
		b.StartTimer()
		s.take("e" + strconv.Itoa(n))
	}
}

// large fills a workspace with 50,000 files of some 2 KB in 2,500 directories.
func large(b *testing.B, s *setup) {
	b.Helper()
	for i := range 50_000 {
		s.write(name(i), fmt.Sprint("file ", i, "\n", strings.Repeat(strconv.Itoa(i*7919)+" lorem ipsum\n", 100)))
	}
	old := time.Now().Add(-time.Hour)
	for i := range 50_000 {
		must.Succeed(b, os.Chtimes(s.path(name(i)), old, old))
	}
}

func name(i int) string { return fmt.Sprintf("p%d/d%d/file%d.go", i/1000, i/20%50, i) }

// change makes 100 changes, others for each n.
func change(s *setup, n int) {
	for i := range 100 {
		at := name((n*100 + i) * 37 % 50_000)
		switch i % 10 {
		case 0:
			s.write(fmt.Sprintf("new%d/f%d", n, i), "new")
		case 1:
			s.remove(at)
		default:
			s.write(at, fmt.Sprint("changed ", n))
		}
	}
}
