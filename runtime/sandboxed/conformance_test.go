package sandboxed_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/runtime/runtimetest"
	"github.com/deft-dev/deft/runtime/sandboxed"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/tool"
)

// serverProvider starts action servers in this process.
type serverProvider struct {
	sandbox.Provider // its other methods are not called
	t                *testing.T
	tools            map[string]tool.Executor
	programs         tool.Starter
}

func (p serverProvider) Start(ctx context.Context, _ sandbox.Spec) (sandbox.Sandbox, error) {
	dir := p.t.TempDir()
	journal, err := os.Create(filepath.Join(dir, "journal"))
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "s")
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		ended <- actionserver.Serve(ctx, actionserver.Options{Listener: l, Journal: journal, Tools: p.tools, Programs: p.programs})
	}()
	p.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			p.t.Errorf("serve: %v", err)
		}
	})
	return serverSandbox{path: path}, nil
}

// serverSandbox is reached over its socket.
type serverSandbox struct {
	sandbox.Sandbox // its other methods are not called
	path            string
}

// Done implements [sandbox.Sandbox]; its end is not noticed.
func (s serverSandbox) Done() <-chan struct{} { return nil }

func (s serverSandbox) Dial(ctx context.Context) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", s.path)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	runtimetest.Run(t, func(t *testing.T, tools map[string]tool.Executor) runtime.Runtime {
		return sandboxed.Start(t.Context(), sandboxed.Options{
			Provider: serverProvider{t: t, tools: tools},
			Connect: func(s sandbox.Sandbox) (runtime.Runtime, error) {
				return remote.New(remote.Options{Dial: s.Dial})
			},
		})
	})
}
