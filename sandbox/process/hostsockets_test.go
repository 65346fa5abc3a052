package process_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox/process"
)

// TestHostSockets: services of the host cannot be reached by a path, wherever
// it is visible, and commands can still use sockets of their own.
func TestHostSockets(t *testing.T) {
	t.Parallel()
	python := tool(t, "python3")
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			base, err := os.MkdirTemp("", "sock") //nolint:usetesting // the path of a socket is short
			must.Succeed(t, err)
			t.Cleanup(func() { os.RemoveAll(base) })
			b.spec.Readable = []string{base}
			b.spec.Workspace = filepath.Join(base, "work")
			write(t, filepath.Join(b.spec.Workspace, "file"), "")
			var paths []string
			for _, name := range []string{"a", "work/b"} {
				path := filepath.Join(base, name)
				l, err := net.Listen("unix", path)
				must.Succeed(t, err)
				t.Cleanup(func() { l.Close() })
				d, err := net.ListenPacket("unixgram", path+"-d")
				must.Succeed(t, err)
				t.Cleanup(func() { d.Close() })
				paths = append(paths, path, path+"-d")
			}
			s := b.start(t)
			const script = `import socket,sys
for path in sys.argv[1:]:
    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
        try:
            s = socket.socket(socket.AF_UNIX, kind); s.connect(path); print("connected to", path)
        except OSError: pass
try:
    l = socket.socket(socket.AF_UNIX); l.bind("own"); l.listen(); socket.socket(socket.AF_UNIX).connect("own"); print("own")
except OSError: print("none")`
			a := ask(t, s, request{Argv: append([]string{python, "-c", script}, paths...)})
			want := "own\n"
			if level == process.LevelLandlock {
				want = "none\n"
			}
			if a.Out != want || strings.Contains(a.Out, "connected") {
				t.Errorf("got %q, want %q", a.Out, want)
			}
		})
	}
}
