package limits

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// TestUsableMemory looks at the machine and at the control groups of this process.
func TestUsableMemory(t *testing.T) {
	t.Parallel()
	const machine = 8 << 30
	for name, c := range map[string]struct {
		self  string
		files map[string]string
		want  int64
	}{
		"machine":           {"0::/\n", nil, machine},
		"version 2":         {"0::/a/b\n", map[string]string{"a/b/memory.max": "max\n", "a/memory.max": "2147483648\n"}, 2 << 30},
		"version 2, own":    {"0::/a/b\n", map[string]string{"a/b/memory.max": "1073741824\n", "a/memory.max": "2147483648\n"}, 1 << 30},
		"container":         {"0::/\n", map[string]string{"memory.max": "536870912\n"}, 512 << 20},
		"its own part only": {"0::/docker/x\n", map[string]string{"memory.max": "536870912\n"}, 512 << 20},
		"another's group":   {"0::/a\n", map[string]string{"a/memory.max": "max\n", "b/memory.max": "1\n"}, machine},
		"version 1":         {"4:cpu:/z\n3:memory:/a\n", map[string]string{"memory/a/memory.limit_in_bytes": "9223372036854771712\n", "memory/memory.limit_in_bytes": "4294967296\n"}, 4 << 30},
		"above the machine": {"0::/a\n", map[string]string{"a/memory.max": "99999999999999\n"}, machine},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(path, text string) {
				t.Helper()
				must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
				must.Succeed(t, os.WriteFile(path, []byte(text), 0o644))
			}
			write(filepath.Join(dir, "proc/meminfo"), "MemTotal:        8388608 kB\nMemFree:         1 kB\n")
			write(filepath.Join(dir, "proc/self/cgroup"), c.self)
			write(filepath.Join(dir, "cgroup/x"), "")
			for path, text := range c.files {
				write(filepath.Join(dir, "cgroup", path), text)
			}
			if got := memoryIn(dir+"/proc", dir+"/cgroup"); got != c.want {
				t.Errorf("%d bytes, want %d", got, c.want)
			}
		})
	}
	for usable, want := range map[int64]int64{16 << 30: 12 << 30, 4 << 30: 3 << 30, 1200 << 20: 1 << 30, 512 << 20: 512 << 20} {
		if got := defaultMemory(usable); got != want {
			t.Errorf("of %d bytes a sandbox gets %d, want %d", usable, got, want)
		}
	}
}
