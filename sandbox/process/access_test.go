package process_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/sandbox/process"
)

func TestAccess(t *testing.T) {
	t.Parallel()
	for _, level := range append([]string{process.LevelNone}, levels...) {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			tool, cache, missingPath := filepath.Join(b.home, "go/bin/tool"), filepath.Join(b.home, ".cache/go-build"), filepath.Join(b.home, "nothing")
			if err := os.MkdirAll(cache, 0o700); err != nil {
				t.Fatal(err)
			}
			got, err := b.Access(t.Context(), []string{tool, filepath.Dir(tool), cache, missingPath})
			if err != nil {
				missing(t, err)
			}
			isolated := level != process.LevelNone
			want := []process.Access{
				{Path: tool, Readable: true, Writable: !isolated},
				{Path: filepath.Dir(tool), Readable: true, Writable: !isolated},
				{Path: cache, Readable: !isolated, Writable: !isolated},
				{Path: missingPath},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if left, err := os.ReadDir(filepath.Dir(tool)); err != nil || len(left) != 1 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
