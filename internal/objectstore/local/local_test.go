package local_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/objectstore/local"
	"github.com/deft-dev/deft/internal/objectstore/objectstoretest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "files")
	s, err := local.Open(dir)
	must.Succeed(t, err)
	objectstoretest.Run(t, s)
	var parts []string
	err = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if filepath.Base(path)[0] == '.' {
			parts = append(parts, path)
		}
		return err
	})
	if err != nil || len(parts) > 0 {
		t.Errorf("left behind: %v, %v", parts, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info, err)
	}
	must.Report(t, s.Close())
}

func TestOpen(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f")
	must.Succeed(t, os.WriteFile(file, nil, 0o600))
	if _, err := local.Open(file); !fault.Is(err, fault.Denied) {
		t.Errorf("a file: %v", err)
	}
}
