// Package program starts programs whose caller talks to them over standard input
// and output: the MCP servers over stdio. Inside a sandbox the action server uses
// it; where there is no sandbox, the process of the conversation does.
//
// # Usage
//
//	s := program.New(program.Options{Env: os.Environ(), Dir: workspace}) // inside a sandbox
//	s := program.New(program.Options{Env: program.HostEnv(), Untrusted: []string{workspace}})
//	p, err := s.StartProgram(ctx, tool.Program{Command: "mcp-server-git"})
//	defer p.Close()
//
// # Trust
//
// Interpreters load files from the directory where they start, and programs are
// found by PATH: a repository may hold an argparse.py or a node_modules/.bin/npx.
// Without [Options].Dir a program therefore starts in an empty directory of its
// own. Relative entries of PATH, and those that lead into an untrusted directory,
// are dropped.
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. See [tool.Starter] for the errors. A
// program that has ended gives io.EOF, and its standard error.
package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/tool"
)

// hostVariables are the variables of this process that a program outside of a
// sandbox gets, as in the libraries of MCP: none is a secret.
var hostVariables = []string{"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}

// HostEnv returns the environment of programs that run outside of a sandbox.
func HostEnv() []string {
	var env []string
	for _, name := range hostVariables {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// Options say how programs are started.
type Options struct {
	// Env is the environment of every program, as NAME=value. Its PATH is
	// cleaned, see the package comment.
	Env []string
	// Dir is the directory of programs that name none, and the base of relative
	// directories and commands. Empty gives each program an empty directory of its
	// own; relative paths are then errors.
	Dir string
	// Untrusted are directories whose programs are not found by name.
	Untrusted []string
	// Command changes the path and the arguments by which programs are started; nil
	// for none.
	Command func(path string, args []string) (string, []string)
}

// Starter implements [tool.Starter]. Make one with [New].
type Starter struct {
	env  []string
	path []string
	dir  string

	command func(path string, args []string) (string, []string)
}

var _ tool.Starter = (*Starter)(nil)

// New returns a Starter.
func New(o Options) *Starter {
	s := &Starter{dir: o.Dir, command: o.Command}
	for _, kv := range o.Env {
		if list, ok := strings.CutPrefix(kv, "PATH="); ok {
			s.path = cleanPath(list, o.Untrusted)
			continue
		}
		s.env = append(s.env, kv)
	}
	s.env = append(s.env, "PATH="+strings.Join(s.path, string(filepath.ListSeparator)))
	return s
}

func cleanPath(list string, untrusted []string) []string {
	var clean []string
	for _, dir := range filepath.SplitList(list) {
		inside := func(bad string) bool { return bad != "" && realpath.Inside(bad, dir) }
		if filepath.IsAbs(dir) && !slices.ContainsFunc(untrusted, inside) {
			clean = append(clean, dir)
		}
	}
	return clean
}

// StartProgram implements [tool.Starter].
func (s *Starter) StartProgram(ctx context.Context, p tool.Program) (tool.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fault.Wrap(context.Cause(ctx), fault.Canceled, "start "+p.Command)
	}
	dir, own, err := s.directory(p.Dir)
	if err != nil {
		return nil, err
	}
	proc, err := s.start(p, dir)
	if err != nil {
		if own {
			err = errors.Join(err, os.Remove(dir))
		}
		return nil, err
	}
	if own {
		proc.remove = dir
	}
	return proc, nil
}

// directory returns where a program starts, and whether it was made for it.
func (s *Starter) directory(wanted string) (dir string, own bool, err error) {
	switch {
	case filepath.IsAbs(wanted):
		return wanted, false, nil
	case s.dir != "":
		return filepath.Join(s.dir, wanted), false, nil
	case wanted != "":
		return "", false, fault.New(fault.Invalid, "the working directory must be an absolute path: the program does not start in the workspace")
	}
	dir, err = os.MkdirTemp("", "deft-program-*") // 0700
	return dir, true, fault.Wrap(err, fault.Denied, "make a directory for the program")
}

func (s *Starter) start(p tool.Program, dir string) (*process, error) {
	path, err := s.find(p.Command, dir)
	if err != nil {
		return nil, err
	}
	env := slices.Clone(s.env)
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		env = append(env, name+"="+p.Env[name])
	}
	// The program outlives the call; Close ends it.
	cmd := exec.CommandContext(context.Background(), path, p.Args...)
	cmd.Args[0], cmd.Dir, cmd.Env = p.Command, dir, env
	if s.command != nil {
		cmd.Path, cmd.Args = s.command(cmd.Path, cmd.Args)
	}
	proc, err := run(cmd)
	if err != nil {
		return nil, fault.Wrap(err, kindOf(err), "start "+p.Command)
	}
	return proc, nil
}

func kindOf(err error) fault.Kind {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.NotFound
	case errors.Is(err, fs.ErrPermission):
		return fault.Denied
	}
	return fault.Invalid
}

// find returns the file of a command.
func (s *Starter) find(command, dir string) (string, error) {
	if strings.ContainsRune(command, filepath.Separator) {
		if !filepath.IsAbs(command) {
			if s.dir == "" {
				return "", fault.New(fault.Invalid, "the command must be a name or an absolute path: the program does not start in the workspace")
			}
			command = filepath.Join(dir, command)
		}
		file, err := exec.LookPath(command)
		if errors.Is(err, fs.ErrNotExist) && s.dir != "" {
			return "", fault.Wrap(err, fault.NotFound, "the program is not visible in the sandbox (--read DIR shows a directory)")
		}
		if err != nil {
			return "", fault.Wrap(err, kindOf(err), "start "+command)
		}
		return file, nil
	}
	var denied error
	for _, d := range s.path {
		file := filepath.Join(d, command)
		_, err := exec.LookPath(file) // with a directory, so only this file
		if err == nil {
			return file, nil
		}
		if _, missing := os.Stat(file); missing == nil { // else the directory may not be searched
			denied = cmp.Or(denied, err)
		}
	}
	if denied != nil {
		return "", fault.Wrap(denied, fault.Denied, "start "+command)
	}
	where := "on the machine of Deft"
	if s.dir != "" {
		where = "in the sandbox"
	}
	return "", fault.New(fault.NotFound, fmt.Sprintf("there is no program %q in PATH: install it %s, or give its absolute path", command, where))
}
