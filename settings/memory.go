package settings

import (
	"context"
	"path/filepath"

	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/memoryfile"
	"github.com/deft-dev/deft/settings/filestore"
)

// Memory returns the user's memory file, nil where there is none.
func (s *Service) Memory() ([]byte, error) { return filestore.OnDisk(s.o.Files).Read(s.memory()) }

func (s *Service) memory() string {
	return filepath.Join(s.o.Dir, filepath.FromSlash(memoryfile.UserPath))
}

// ChangeMemory replaces the user's memory file by its changed content.
func (s *Service) ChangeMemory(ctx context.Context, change func([]byte) ([]byte, error)) error {
	files, path := filestore.OnDisk(s.o.Files), s.memory()
	unlock, err := files.Lock(ctx, filepath.Join(s.o.Dir, ".memory.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	raw, err := files.Read(path)
	if err != nil {
		return err
	}
	if raw, err = change(raw); err != nil {
		return err
	}
	return files.Write(path, raw)
}

// Memory returns an owner's memory file, nil where there is none.
func (o *Owners) Memory(ctx context.Context, owner identity.Tenant) ([]byte, error) {
	s, err := o.Of(ctx, owner)
	if err != nil {
		return nil, err
	}
	return s.Memory()
}

// ChangeMemory replaces an owner's memory file by its changed content.
func (o *Owners) ChangeMemory(ctx context.Context, owner identity.Tenant, change func([]byte) ([]byte, error)) error {
	s, err := o.Of(ctx, owner)
	if err != nil {
		return err
	}
	return s.ChangeMemory(ctx, change)
}
