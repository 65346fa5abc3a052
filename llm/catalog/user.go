package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// UserFile is the path of the user's own catalogue: deft/models.json below
// $XDG_CONFIG_HOME or ~/.config. It is "" where neither is set.
func UserFile(env func(string) string) string {
	if dir := llm.UserDir(env); dir != "" {
		return filepath.Join(dir, "models.json")
	}
	return ""
}

// Load returns the embedded catalogue, overridden by the file at path if it
// exists. Errors come from [Catalog.Override].
func Load(path string) (*Catalog, error) {
	c := Default()
	if path == "" {
		return c, nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	return c.Override(path)
}

// Save validates a user's catalogue and writes it atomically.
func Save(path string, data []byte) error {
	if _, err := parse(data); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fault.Wrap(err, fault.Denied, "create the directory of the model catalogue")
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".models-*.json")
	if err != nil {
		return fault.Wrap(err, fault.Denied, "write the model catalogue")
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the model catalogue: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}
