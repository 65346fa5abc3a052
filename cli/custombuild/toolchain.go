package custombuild

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/deft-dev/deft/fault"
)

// builder runs the Go toolchain in a copy of the source.
type builder struct {
	ctx  context.Context
	tool string
	dir  string
	log  io.Writer
}

func (b builder) goCommand(args ...string) error {
	cmd := b.command(args...)
	cmd.Stdout = b.log
	if err := cmd.Run(); err != nil {
		return b.failed(args[0], err)
	}
	return nil
}

func (b builder) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(b.ctx, b.tool, args...)
	cmd.Dir, cmd.Stderr = b.dir, b.log
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off") // static: it is mounted into images
	return cmd
}

func (b builder) failed(what string, err error) error {
	if b.ctx.Err() != nil {
		return fault.Wrap(context.Cause(b.ctx), fault.Canceled, "build Deft")
	}
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return fault.New(fault.Invalid, "`go "+what+"` failed").Hint("what it says stands above").Because(err)
	}
	return fmt.Errorf("run go %s: %w", what, err)
}

// download fetches a version of Deft and returns its directory.
func (b builder) download(version string) (string, error) {
	var found struct{ Dir string }
	err := b.query(&found, os.TempDir(), "mod", "download", "-json", deft+"@"+version)
	return found.Dir, err
}

// modulePath returns the path of the module in a directory.
func (b builder) modulePath(dir string) (string, error) {
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return "", fault.Wrap(err, fault.Invalid, "use the module in "+dir)
	}
	var found struct{ Module struct{ Path string } }
	err := b.query(&found, dir, "mod", "edit", "-json")
	return found.Module.Path, err
}

// query runs a command that prints JSON.
func (b builder) query(to any, dir string, args ...string) error {
	cmd := b.command(args...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return b.failed(args[0]+" "+args[1], err)
	}
	if err := json.Unmarshal(out.Bytes(), to); err != nil {
		return fmt.Errorf("read what go %s prints: %w", args[0], err)
	}
	return nil
}

// add makes a module a requirement.
func (b builder) add(m Module) error {
	if m.Dir == "" {
		path := m.Path
		if m.Version != "" {
			path += "@" + m.Version
		}
		return b.goCommand("get", "--", path)
	}
	path, err := b.modulePath(m.Dir)
	if err != nil {
		return err
	}
	if m.Path != path && !within(m.Path, path) {
		return fault.New(fault.Invalid, m.Dir+" holds the module "+path+", and not "+m.Path)
	}
	return b.goCommand("mod", "edit", "-require="+path+"@v0.0.0-00010101000000-000000000000", "-replace="+path+"="+m.Dir)
}

// within reports whether a package belongs to a module.
func within(pkg, mod string) bool {
	return len(pkg) > len(mod) && pkg[:len(mod)] == mod && pkg[len(mod)] == '/'
}
