package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/textfile"
	"github.com/deft-dev/deft/memoryfile"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/workspace"
)

// Memories keep the memory files of users.
type Memories interface {
	// Memory returns an owner's file, nil where there is none.
	Memory(ctx context.Context, owner identity.Tenant) ([]byte, error)
	// ChangeMemory replaces an owner's file by its changed content. Nothing changes if change
	// fails, whose error is returned.
	ChangeMemory(ctx context.Context, owner identity.Tenant, change func([]byte) ([]byte, error)) error
}

// memories are the memory files with which a conversation has begun.
type memories struct{ user, project string }

// remembers reports whether an agent has memory files.
func remembers(a *spec.Agent) bool { return a.Context != nil && a.Context.LoadMemory }

// loadMemory reads the memory files of an agent that has some. files are the project's; nil leaves it
// as it is. A file that cannot be read is named as missing.
func (w *worker) loadMemory(ctx context.Context, a *spec.Agent, files workspace.Files) {
	if !remembers(a) {
		return
	}
	missing := func(which string, err error) {
		w.leftOut = append(w.leftOut, "the memory of the "+which+" is not read: "+w.c.secrets.Mask(err.Error()))
	}
	if files != nil {
		raw, err := readMemory(ctx, files)
		if err != nil {
			missing("project", err)
		}
		w.memory.project = string(textfile.Decode(raw))
		return
	}
	if m := w.c.m.o.Memories; m != nil {
		raw, err := m.Memory(ctx, w.c.Owner())
		if err != nil {
			missing("user", err)
		}
		w.memory.user = string(textfile.Decode(raw))
	}
}

// loadMemoryHere is loadMemory for a project on this machine.
func (w *worker) loadMemoryHere(ctx context.Context, a *spec.Agent) error {
	if !remembers(a) {
		return nil
	}
	files, err := w.c.Environment().Files(ctx)
	if err != nil {
		return err
	}
	w.loadMemory(ctx, a, files)
	return files.Close()
}

// readMemory reads the end of a project's memory file, nil where there is none.
func readMemory(ctx context.Context, files workspace.Files) (_ []byte, err error) {
	f, err := files.Open(ctx, memoryfile.ProjectPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if more := info.Size() - memoryfile.MaxSize; more > 0 {
		if _, err := f.Seek(more, io.SeekStart); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(f, memoryfile.MaxSize))
}

// remember changes a memory file, as the user has allowed.
func (w *worker) remember(ctx context.Context, ofUser bool, c memoryfile.Change) error {
	if w.c.secrets.Mask(c.Text) != c.Text {
		return fault.New(fault.Invalid, "the text has a secret")
	}
	if ofUser {
		if w.c.m.o.Memories == nil {
			return fault.New(fault.Unsupported, "this program keeps no memory of users")
		}
		return w.c.m.o.Memories.ChangeMemory(ctx, w.c.Owner(), c.Apply)
	}
	files, err := w.c.Environment().Files(ctx)
	if err != nil {
		return err
	}
	return errors.Join(changeMemory(ctx, files, c), files.Close())
}

// changeMemory changes a project's memory file.
func changeMemory(ctx context.Context, files workspace.Files, c memoryfile.Change) error {
	info, err := files.Stat(ctx, memoryfile.ProjectPath)
	if err == nil && info.Size() > memoryfile.MaxSize {
		return fault.New(fault.Invalid, "the memory file of the project is too long to be changed")
	}
	raw, err := readMemory(ctx, files)
	if err != nil {
		return err
	}
	if raw, err = c.Apply(raw); err != nil {
		return err
	}
	_, err = files.Write(ctx, memoryfile.ProjectPath, bytes.NewReader(raw))
	return err
}
