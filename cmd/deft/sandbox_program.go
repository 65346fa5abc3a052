package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox/program"
)

// sandboxProgram is the program that runs in sandboxes: the small one, unless executors are
// linked into this binary, which only this one has.
func sandboxProgram(dir string) (path string, err error) {
	if len(linkedIn) > 0 {
		return "", nil
	}
	return program.Install(dir)
}

type sandboxProgramCmd struct {
	Dir string `arg:"" help:"Directory to write it to."`
}

// Run writes the program.
func (c *sandboxProgramCmd) Run(_ context.Context, std *streams) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "find the directory")
	}
	path, err := sandboxProgram(dir)
	if err != nil {
		return err
	}
	if path == "" {
		return fault.New(fault.Unsupported, "this binary runs itself in sandboxes").Hint("it was built by the go command alone, or with packages of others")
	}
	_, err = fmt.Fprintln(std.Out, path)
	return err
}
