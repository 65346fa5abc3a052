package process_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
)

func TestAccess(t *testing.T) {
	t.Parallel()
	for _, level := range append([]string{process.LevelNone}, levels...) {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			tool, absent := filepath.Join(b.home, "go/bin/tool"), filepath.Join(b.home, "nothing")
			cache, granted := filepath.Join(b.home, ".cache/pip"), filepath.Join(b.home, ".cache/go-build")
			for _, dir := range []string{cache, granted} {
				write(t, filepath.Join(dir, "file"), "cached")
			}
			got, err := b.Access(t.Context(), sandbox.Spec{Writable: []string{granted}}, []string{tool, filepath.Dir(tool), cache, granted, absent})
			if err != nil {
				missing(t, err)
			}
			isolated := level != process.LevelNone
			want := []sandbox.Access{
				{Path: tool, Readable: true, Writable: !isolated},
				{Path: filepath.Dir(tool), Readable: true, Writable: !isolated},
				{Path: cache, Readable: level != process.LevelLandlock, Writable: !isolated, Layered: level == process.LevelNamespaces},
				{Path: granted, Readable: true, Writable: true},
				{Path: absent},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if left, err := os.ReadDir(filepath.Dir(tool)); err != nil || len(left) != 1 {
				t.Errorf("left behind: %v, %v", left, err)
			}
			if left, err := os.ReadDir(granted); err != nil || len(left) != 1 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
