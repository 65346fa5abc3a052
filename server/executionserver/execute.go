package executionserver

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/server/v0event"
	"github.com/deft-dev/deft/tool"
)

// execute runs one action. It goes on if the client disconnects, as in the reference.
func (s *Server) execute(w http.ResponseWriter, r *http.Request) error {
	raw, err := readBody(w, r)
	if err != nil {
		return err
	}
	a, err := parseAction(raw, s.o.Own)
	if err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
	case <-r.Context().Done():
		return r.Context().Err()
	case <-s.ctx.Done():
		return fail(http.StatusServiceUnavailable, "the server ends")
	}
	s.touch()
	s.runs.Add(1)
	obs, err := func() (observation, error) {
		defer func() { <-s.turn; s.runs.Done(); s.touch() }()
		return s.perform(s.ctx, a)
	}()
	if err != nil {
		return fail(http.StatusInternalServerError, "Internal server error: %v", err)
	}
	s.answer(w, http.StatusOK, obs)
	return nil
}

func (s *Server) touch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
}

func (s *Server) perform(ctx context.Context, a action) (observation, error) {
	if a.own != nil {
		return s.runOwn(ctx, a)
	}
	switch a.name {
	case "run":
		return s.run(ctx, a)
	case "read":
		if a.args.ImplSource == "oh_aci" {
			return s.viewWithEditor(ctx, a.args)
		}
		return s.readFile(a.args), nil
	case "write":
		return s.writeFile(a.args), nil
	case "edit":
		return s.edit(ctx, a.args)
	case "run_ipython":
		return s.runCell(ctx, a)
	}
	return s.browse(ctx, a)
}

// run runs a command in the shell, or in one of its own if it is static.
func (s *Server) run(ctx context.Context, a action) (_ observation, err error) {
	shell := s.o.Tools[(&event.TerminalAction{}).Kind()]
	if a.args.IsStatic {
		dir := s.o.WorkingDir
		if a.args.Cwd != nil && *a.args.Cwd != "" {
			dir = *a.args.Cwd
		}
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(s.o.WorkingDir, dir)
		}
		shell = s.o.NewShell(dir)
		defer func() {
			if cerr := shell.Close(); err == nil {
				err = cerr
			}
		}()
	}
	if shell == nil {
		return observation{}, fault.New(fault.Unsupported, "this server has no terminal")
	}
	obs, err := s.command(ctx, shell, a)
	if fault.Is(err, fault.Internal) || fault.Is(err, fault.Invalid) { // as the reference reports errors of its shell
		return failed("%v", err), nil
	}
	if err != nil {
		return observation{}, err
	}
	if dir := obs.Metadata.WorkingDir; dir != nil && !a.args.IsStatic {
		s.mu.Lock()
		s.cwd = *dir
		s.mu.Unlock()
	}
	return ran(a.args, obs), nil
}

// command runs a command until it ends, its time is up or, unless it is blocking, it
// has been silent for a while. The terminal's limit on silence holds for every call,
// so a blocking command is waited for again.
func (s *Server) command(ctx context.Context, shell tool.Executor, a action) (*event.TerminalObservation, error) {
	start := time.Now()
	action := &event.TerminalAction{Command: *a.args.Command, IsInput: a.args.IsInput}
	var before string
	for {
		if a.timeout > 0 {
			left := a.timeout // as it is named in the answer
			if before != "" {
				left = max(left-time.Since(start), time.Millisecond)
			}
			seconds := left.Seconds()
			action.Timeout = &seconds
		}
		got, err := shell.Execute(ctx, tool.Call{ID: event.NewID(), Action: action, Progress: func(tool.Chunk) {}})
		if err != nil {
			return nil, err
		}
		obs, ok := got.(*event.TerminalObservation)
		if !ok {
			return nil, fault.New(fault.Internal, "the terminal answered with a "+got.Kind())
		}
		if before != "" {
			obs.Content, obs.Metadata.Prefix = event.Texts(strings.TrimSuffix(before+"\n"+event.JoinText(obs.Content), "\n")), ""
		}
		if !a.args.Blocking || !obs.Timeout || ctx.Err() != nil || time.Since(start) >= a.timeout {
			return obs, nil //nolint:nilerr // the command's output until then
		}
		before = event.JoinText(obs.Content)
		action = &event.TerminalAction{}
	}
}

// edit has the file editor carry out a command.
func (s *Server) edit(ctx context.Context, a arguments) (observation, error) {
	if a.ImplSource == "llm_based_edit" || a.Command == nil {
		return observation{}, fault.New(fault.Invalid, "an edit needs impl_source oh_aci and a command; edits by an LLM are the client's")
	}
	if err := s.files.check(*a.Path); err != nil {
		return edited(a, "ERROR:\n"+err.Error(), ""), nil //nolint:nilerr // it is in the observation
	}
	obs, err := s.editor(ctx, &event.FileEditorAction{
		Command: *a.Command, Path: *a.Path, FileText: a.FileText, OldStr: a.OldStr, NewStr: a.NewStr, InsertLine: (*int)(a.InsertLine),
	})
	if err != nil {
		return observation{}, err
	}
	var diff string
	if obs.OldContent != nil || obs.NewContent != nil {
		was, is := optional.Value(obs.OldContent), optional.Value(obs.NewContent)
		if diff, err = udiff.ToUnified(*a.Path, *a.Path, was, udiff.Lines(was, is), 0); err != nil {
			return observation{}, fmt.Errorf("compare the file with what it was: %w", err)
		}
	}
	return edited(a, editorText(obs), strings.TrimSuffix(diff, "\n")), nil
}

func (s *Server) viewWithEditor(ctx context.Context, a arguments) (observation, error) {
	if err := s.files.check(*a.Path); err != nil {
		return v0event.Read(*a.Path, "oh_aci", "ERROR:\n"+err.Error()), nil //nolint:nilerr // it is in the observation
	}
	obs, err := s.editor(ctx, &event.FileEditorAction{Command: "view", Path: *a.Path, ViewRange: a.ViewRange})
	if err != nil {
		return observation{}, err
	}
	return v0event.Read(*a.Path, "oh_aci", editorText(obs)), nil
}

func (s *Server) editor(ctx context.Context, a *event.FileEditorAction) (*event.FileEditorObservation, error) {
	x := s.o.Tools[a.Kind()]
	if x == nil {
		return nil, fault.New(fault.Unsupported, "this server has no file editor")
	}
	got, err := x.Execute(ctx, tool.Call{ID: event.NewID(), Action: a, Progress: func(tool.Chunk) {}})
	if err != nil {
		return nil, err
	}
	obs, ok := got.(*event.FileEditorObservation)
	if !ok {
		return nil, fault.New(fault.Internal, "the file editor answered with a "+got.Kind())
	}
	return obs, nil
}

func editorText(o *event.FileEditorObservation) string {
	text := event.JoinText(o.Content)
	if o.IsError {
		return "ERROR:\n" + text
	}
	return text
}

// maxOutput is how many characters of output an observation has, unless its command
// was hidden.
const maxOutput = 30_000

// observation is one of the reference's first generation.
type observation = v0event.Observation

func failed(format string, args ...any) observation {
	return v0event.Failed(fmt.Sprintf(format, args...), "")
}

// edited has the reference's old_str and new_str, not the file's versions.
func edited(a arguments, content, diff string) observation {
	return v0event.Edited(*a.Path, false, a.OldStr, a.NewStr, content, diff)
}

// ran makes the observation of a command.
func ran(a arguments, o *event.TerminalObservation) observation {
	content := event.JoinText(o.Content)
	if !a.Hidden {
		content = shorten(content)
	}
	return v0event.Ran(*a.Command, a.Hidden, content, o.Metadata)
}

// shorten leaves out the middle of long output, as the reference does.
func shorten(s string) string {
	if len(s) <= maxOutput {
		return s
	}
	r := []rune(s)
	if len(r) <= maxOutput {
		return s
	}
	return strings.Join([]string{string(r[:maxOutput/2]), string(r[len(r)-maxOutput/2:])}, "\n[... Observation truncated due to length ...]\n")
}
