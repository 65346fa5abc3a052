package process_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
)

// BenchmarkStart measures from Start to the first answer of the program
// inside, once per level; Stop is not counted. A home with the caches of many tools
// is "caches".
func BenchmarkStart(b *testing.B) {
	for _, c := range []struct {
		name, level string
		limits      sandbox.Limits
		network     sandbox.Network
	}{
		{"none", process.LevelNone, sandbox.Limits{}, "none"},
		{"landlock", process.LevelLandlock, sandbox.Limits{}, "none"},
		{"landlock-network", process.LevelLandlock, sandbox.Limits{}, "open"},
		{"namespaces", process.LevelNamespaces, sandbox.Limits{}, "none"},
		{"namespaces-network", process.LevelNamespaces, sandbox.Limits{}, "open"},
		{"caches", process.LevelNamespaces, sandbox.Limits{}, "none"},
		{"limits", process.LevelNamespaces, sandbox.Limits{MemoryBytes: 1 << 30, PIDs: 1000, CPUs: 2}, "none"},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := setup(b, c.level)
			s.spec.Limits, s.spec.Network = c.limits, c.network
			if c.name == "caches" {
				for _, dir := range []string{".bun/install/cache", ".cache/deno", ".cache/go-build", ".cache/pip", ".cache/uv", ".gradle", ".m2", ".npm/_cacache", "go/pkg"} {
					write(b, filepath.Join(s.home, dir, "f"), "x")
				}
			}
			var took, stop []time.Duration
			for b.Loop() {
				began := time.Now()
				sb := s.start(b)
				if ask(b, sb, request{Act: "pid"}).Out == "" {
					b.Fatal("no answer")
				}
				took = append(took, time.Since(began))
				b.StopTimer()
				began = time.Now()
				must.Succeed(b, sb.Stop(b.Context()))
				stop = append(stop, time.Since(began))
				b.StartTimer()
			}
			slices.Sort(took)
			slices.Sort(stop)
			b.ReportMetric(float64(took[0].Microseconds())/1000, "min-ms")
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*9/10].Microseconds())/1000, "p90-ms")
			b.ReportMetric(float64(stop[len(stop)/2].Microseconds())/1000, "stop-p50-ms")
		})
	}
}
