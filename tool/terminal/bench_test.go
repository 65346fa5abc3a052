package terminal_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/terminal"
)

func benchConfig(b *testing.B) terminal.Config {
	return terminal.Config{WorkingDir: b.TempDir(), OutputDir: b.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}}
}

func execute(b *testing.B, x tool.Executor, command string) {
	o, err := x.Execute(b.Context(), tool.Call{
		Action:   &event.TerminalAction{Command: command},
		Progress: func(tool.Chunk) {},
	})
	must.Succeed(b, err)
	if to := o.(*event.TerminalObservation); *to.ExitCode != 0 {
		b.Fatalf("exit code %d: %s", *to.ExitCode, event.JoinText(to.Content))
	}
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Microseconds()) / 1000
}

// BenchmarkTrue is the time from an action to its observation.
func BenchmarkTrue(b *testing.B) {
	x := terminal.New(benchConfig(b))
	defer x.Close()
	execute(b, x, "true")
	times := make([]time.Duration, 0, b.N)
	for b.Loop() {
		begin := time.Now()
		execute(b, x, "true")
		times = append(times, time.Since(begin))
	}
	b.ReportMetric(median(times), "p50-ms")
}
