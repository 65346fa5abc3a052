package filestore_test

import (
	"testing"

	"github.com/deft-dev/deft/settings/filestore"
	"github.com/deft-dev/deft/settings/filestore/filestoretest"
)

func TestDisk(t *testing.T) {
	t.Parallel()
	filestoretest.Run(t, func(t *testing.T) (filestore.Files, string) { t.Helper(); return filestore.Disk{}, t.TempDir() })
}
