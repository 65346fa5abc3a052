package runcommand

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/settings/permission"
)

// Project is a project that may have files which name programs, such as MCP servers and hooks.
// The files are foreign: they are used once the user has allowed their content.
type Project struct {
	Dir string // absolute
	// Answers are the user's answers.
	Answers *permission.Store
	// Unsandboxed says that programs run without a sandbox.
	Unsandboxed bool
	// Again asks although the user has answered.
	Again bool
	// Prompter asks the user; nil where there is no terminal.
	Prompter Prompter
	// Tell shows the user a line.
	Tell func(string)
}

// programs are what a question about a file of the project is about.
type programs struct {
	file, what string
	// flag allows the file without a question, again asks once more.
	flag, again string
	// sandboxed and open say what the programs may do with a sandbox and without one.
	sandboxed, open string
	show            []string // what the file names, a line each
}

// allows reports whether the user allows a file with this content.
func (p Project) allows(ctx context.Context, raw []byte, q programs) (bool, error) {
	answer, err := p.answer(ctx, raw, q)
	return answer == permission.Allowed, err
}

// answer returns the user's answer about a file with this content: he is asked once for each
// content, and again for runs without a sandbox. Without a terminal there is none, and the
// user is told how to allow it.
func (p Project) answer(ctx context.Context, raw []byte, q programs) (permission.Answer, error) {
	asked := permission.Question{Project: p.Dir, File: q.file, Content: raw, Unsandboxed: p.Unsandboxed}
	given, err := p.Answers.Answer(asked)
	switch {
	case err != nil:
		return permission.None, err
	case p.Again && p.Prompter != nil:
	case given == permission.Allowed:
		return given, nil
	case given == permission.Refused:
		p.Tell("the " + q.what + " of the project's " + q.file + " are not used, as you have answered; " + q.again + " asks again")
		return given, nil
	case p.Prompter == nil:
		p.Tell("the " + q.what + " of the project's " + q.file + " are not used; " + q.flag + " allows them")
		return permission.None, nil
	}
	allowed, err := p.ask(ctx, q)
	if err != nil {
		return permission.None, err
	}
	answer := permission.Refused
	if allowed {
		answer = permission.Allowed
	}
	return answer, p.Answers.Keep(ctx, asked, answer)
}

// ask asks about a file. No answer is a refusal that is not kept.
func (p Project) ask(ctx context.Context, q programs) (bool, error) {
	rights := q.sandboxed
	if p.Unsandboxed {
		rights = q.open
	}
	p.Tell("The project has " + q.what + " (" + q.file + "). " + rights)
	for _, line := range q.show {
		p.Tell("    " + safeText(line))
	}
	for {
		line, err := p.Prompter.Ask(ctx, "Use them in this project? [y]es, [n]o: ")
		if err != nil {
			return false, fault.Wrap(err, fault.Interrupted, "ask about the project's "+q.what)
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
	}
}

// read returns a file of the project, nil if there is none that can be used. The user is told of
// one that is no regular file, is too large, or is a link that leads out of the project.
func (p Project) read(name string) ([]byte, error) {
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	raw, err := readRegular(root, name)
	if err != nil {
		p.Tell("the project's " + name + " is not used: " + safeText(err.Error()))
		return nil, nil
	}
	return raw, nil
}

// readRegular reads a configuration file in a directory, through links that stay in it.
func readRegular(root *os.Root, name string) ([]byte, error) {
	st, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fault.New(fault.Invalid, "it is not a regular file")
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return readConfig(f)
}
