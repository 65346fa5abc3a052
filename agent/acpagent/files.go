package acpagent

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/fault"
)

// maxRead is how much of a file the program is given at once, in bytes, as [Run] returns it.
const maxRead = 1 << 20

// path checks that a path is in the workspace. Links in it lead no further than the sandbox lets
// every program.
func (a *Agent) path(p string) (string, error) {
	clean := filepath.Clean(p)
	rel, err := filepath.Rel(a.cfg.Workspace, clean)
	if !filepath.IsAbs(p) || err != nil || !filepath.IsLocal(rel) {
		return "", fault.New(fault.Denied, "the file "+p+" is not in the workspace "+a.cfg.Workspace)
	}
	return clean, nil
}

// read gives the program a file of the workspace.
func (a *Agent) read(ctx context.Context, r acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	path, err := a.path(r.Path)
	if err != nil {
		return acp.ReadTextFileResponse{}, err
	}
	argv := []string{"head", "-c", fmt.Sprint(maxRead), "--", path}
	if r.Line != nil || r.Limit != nil {
		first, last := 1, "$"
		if r.Line != nil {
			first = max(*r.Line, 1)
		}
		if r.Limit != nil {
			if *r.Limit <= 0 {
				return acp.ReadTextFileResponse{}, nil
			}
			last = fmt.Sprint(first + *r.Limit - 1)
		}
		argv = []string{"sed", "-n", fmt.Sprintf("%d,%sp", first, last), "--", path}
	}
	got, err := a.run(ctx, argv, "")
	if err != nil {
		return acp.ReadTextFileResponse{}, err
	}
	if len(got.Stdout) >= maxRead {
		return acp.ReadTextFileResponse{}, fault.New(fault.Invalid, "the file "+path+" is too large to be read at once").Hint("read it with line and limit")
	}
	return acp.ReadTextFileResponse{Content: got.Stdout}, nil
}

// write writes a file of the workspace for the program.
func (a *Agent) write(ctx context.Context, r acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	path, err := a.path(r.Path)
	if err == nil {
		_, err = a.run(ctx, []string{"sh", "-c", `mkdir -p -- "$1" && cat >"$2"`, "sh", filepath.Dir(path), path}, r.Content)
	}
	return acp.WriteTextFileResponse{}, err
}

// run runs a program that has to succeed.
func (a *Agent) run(ctx context.Context, argv []string, stdin string) (Result, error) {
	got, err := a.cfg.Run(ctx, argv, stdin)
	if err == nil && got.ExitCode != 0 {
		err = fault.New(fault.Invalid, strings.TrimSpace(got.Stderr))
	}
	return got, err
}
