package local_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/local"
	"github.com/deft-dev/deft/runtime/runtimetest"
	"github.com/deft-dev/deft/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformanceVolatile(t *testing.T) {
	t.Parallel()
	runtimetest.Run(t, func(_ *testing.T, tools map[string]tool.Executor) runtime.Runtime {
		return local.New(executor.New(tools, executor.InMemoryRepeatable()))
	})
}

func TestConformanceDurable(t *testing.T) {
	t.Parallel()
	runtimetest.Run(t, func(t *testing.T, tools map[string]tool.Executor) runtime.Runtime {
		f, err := os.Create(filepath.Join(t.TempDir(), "journal"))
		must.Succeed(t, err)
		j, err := executor.OpenJournal(f)
		must.Succeed(t, err)
		return local.New(executor.New(tools, j))
	})
}
