package executionserver

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/server/v0event"
	"github.com/deft-dev/deft/tool"
)

// surroundings is a cell with the lines that the reference adds to the output of each cell.
const surroundings = `__import__('builtins').print('[Jupyter current working directory: ' + __import__('os').getcwd() + ']\n' +
  '[Jupyter Python interpreter: ' + __import__('sys').executable + ']')`

// agentSkills is the module of the plugin agent_skills.
//
//go:embed agentskills.py
var agentSkills string

// skillsPlugin is the plugin whose functions cells have.
const skillsPlugin = "agent_skills"

// giveSkills is a cell that makes the module and its functions known, once in the life of a kernel.
var giveSkills = fmt.Sprintf(`def _deft_skills():
    import sys, types
    if 'agentskills' in sys.modules:
        return
    module = types.ModuleType('agentskills')
    exec(compile(%s, 'agentskills.py', 'exec'), module.__dict__)
    sys.modules['agentskills'] = module
    globals().update({name: getattr(module, name) for name in module.__all__})
_deft_skills(); del _deft_skills
`, strconv.QuoteToASCII(agentSkills))

// cellKind is the kind of the action of the tool ipython.
const cellKind = "IPythonAction"

// runCell runs a cell in the kernel, as the reference does for run_ipython.
func (s *Server) runCell(ctx context.Context, a action) (observation, error) {
	notebook := s.o.Tools[cellKind]
	if notebook == nil {
		return failed("This server has no tool for IPython cells."), nil
	}
	if s.o.Skills { // a kernel that has ended is followed by a fresh one
		if obs, err := cell(ctx, notebook, a, giveSkills); err != nil || obs.IsError {
			return failed("The plugin %s failed: %s", skillsPlugin, event.JoinText(obs.Content)), err
		}
	}
	if code := a.args.KernelInitCode; code != "" && !s.initialized { // a turn has one caller
		s.initialized = true
		if obs, err := cell(ctx, notebook, a, code); err != nil || obs.IsError {
			return failed("kernel_init_code failed: %s", event.JoinText(obs.Content)), err
		}
	}
	obs, err := cell(ctx, notebook, a, *a.args.Code)
	if err != nil {
		return observation{}, err
	}
	var urls []string
	for _, c := range obs.Content {
		urls = append(urls, c.ImageURLs...)
	}
	content := event.JoinText(obs.Content)
	if a.args.IncludeExtra == nil || *a.args.IncludeExtra {
		about, err := cell(ctx, notebook, a, surroundings)
		if err != nil {
			return observation{}, err
		}
		if !about.IsError {
			content = strings.TrimRight(content, "\n") + "\n" + event.JoinText(about.Content)
		}
	}
	return v0event.Celled(*a.args.Code, content, urls), nil
}

// cell runs a cell and returns the text, the images and whether it failed.
func cell(ctx context.Context, notebook tool.Executor, a action, code string) (event.ObservationBase, error) {
	form := struct {
		Kind    string   `json:"kind"`
		Code    string   `json:"code"`
		Timeout *float64 `json:"timeout,omitempty"`
	}{Kind: cellKind, Code: code}
	if a.timeout > 0 {
		seconds := a.timeout.Seconds()
		form.Timeout = &seconds
	}
	raw, err := json.Marshal(form)
	if err != nil {
		return event.ObservationBase{}, err
	}
	run, err := event.UnmarshalAction(raw)
	if err != nil {
		return event.ObservationBase{}, err
	}
	got, err := notebook.Execute(ctx, tool.Call{ID: event.NewID(), Action: run, Progress: func(tool.Chunk) {}})
	if err != nil {
		return event.ObservationBase{}, err
	}
	return *got.Result(), nil
}
