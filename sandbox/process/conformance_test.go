package process_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			sandboxtest.Run(t, sandboxtest.Options{Open: func(t *testing.T, dir string) sandbox.Provider {
				p, err := process.New(process.Options{Dir: dir, Level: level, Home: t.TempDir(), TmpBytes: 64 << 20})
				must.Succeed(t, err)
				t.Cleanup(func() { must.Report(t, p.Close()) })
				return p
			}})
		})
	}
}
