package checkpoint_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/deft-dev/deft/internal/must"
)

// BenchmarkStep takes the checkpoints of steps, which change nothing or one file.
func BenchmarkStep(b *testing.B) {
	for _, files := range []int{10, 10_000} {
		for _, changed := range []int{0, 1} {
			b.Run(fmt.Sprintf("files=%d/changed=%d", files, changed), func(b *testing.B) {
				s := newSetup(b)
				old := time.Now().Add(-time.Hour)
				for i := range files {
					s.write(name(i), fmt.Sprint("file ", i))
					must.Succeed(b, os.Chtimes(s.path(name(i)), old, old))
				}
				began := time.Now()
				s.take("first")
				b.ReportMetric(float64(time.Since(began).Milliseconds()), "first-ms")
				n := 0
				for b.Loop() {
					n++
					if changed > 0 {
						s.write(name(n%files), fmt.Sprint("changed ", n))
					}
					s.take("e" + strconv.Itoa(n))
				}
			})
		}
	}
}
