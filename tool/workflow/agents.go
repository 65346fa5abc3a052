package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	starjson "go.starlark.net/lib/json"
	"go.starlark.net/starlark"
)

// workflow is the value wf of a script: what it can do beside computing.
type workflow struct{ s *script }

var _ starlark.HasAttrs = workflow{}

// String implements [starlark.Value].
func (workflow) String() string { return "wf" }

// Type implements [starlark.Value].
func (workflow) Type() string { return "workflow" }

// Freeze implements [starlark.Value].
func (workflow) Freeze() {}

// Truth implements [starlark.Value].
func (workflow) Truth() starlark.Bool { return true }

// Hash implements [starlark.Value].
func (workflow) Hash() (uint32, error) { return 0, errors.New("wf is not hashable") }

// methods are the methods of wf.
var methods = map[string]func(*script, *starlark.Thread, starlark.Tuple, []starlark.Tuple) (starlark.Value, error){
	"run_agent": (*script).runAgent, "map_agents": (*script).mapAgents, "reduce_agent": (*script).reduceAgent,
	"pipeline": (*script).pipeline, "flatten": (*script).flatten,
}

// AttrNames implements [starlark.HasAttrs].
func (workflow) AttrNames() []string {
	return []string{"flatten", "map_agents", "pipeline", "reduce_agent", "run_agent"}
}

// Attr implements [starlark.HasAttrs].
func (w workflow) Attr(name string) (starlark.Value, error) {
	f := methods[name]
	if f == nil {
		return nil, nil
	}
	return starlark.NewBuiltin("wf."+name, func(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
		return f(w.s, t, args, named)
	}), nil
}

// without lets other code of the script run while f waits.
func (s *script) without(f func()) {
	s.running.Unlock()
	defer s.running.Lock()
	f()
}

const usualAgent = "general-purpose"

func (s *script) runAgent(_ *starlark.Thread, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
	p := Part{Agent: usualAgent}
	var about starlark.Value
	if err := starlark.UnpackArgs("run_agent", args, named, "prompt", &p.Prompt, "subagent_type?", &p.Agent, "description??", &about); err != nil {
		return nil, err
	}
	return s.one(p, about)
}

func (s *script) one(p Part, about starlark.Value) (starlark.Value, error) {
	if about != nil {
		p.Description = textOf(about)
	}
	var text string
	var err error
	s.without(func() { text, err = s.part(s.free, p) })
	return starlark.String(text), err
}

func (s *script) mapAgents(t *starlark.Thread, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
	var items starlark.Iterable
	var prompt, about, most starlark.Value
	agent := usualAgent
	err := starlark.UnpackArgs("map_agents", args, named, "items", &items, "prompt", &prompt, "subagent_type?", &agent, "max_concurrency??", &most, "description??", &about)
	if err != nil {
		return nil, err
	}
	free := s.free
	if most != nil {
		n, err := starlark.AsInt32(most)
		if err != nil || n < 1 {
			return nil, errors.New("max_concurrency must be at least 1")
		}
		free = make(chan struct{}, min(n, cap(s.free)))
	}
	var parts []Part
	for _, item := range slices.Collect(starlark.Elements(items)) {
		p := Part{Agent: agent}
		if p.Prompt, err = rendered(t, prompt, item); err == nil && about != nil {
			p.Description, err = rendered(t, about, item)
		}
		if err != nil {
			return nil, err
		}
		if parts = append(parts, p); len(parts) > maxParts {
			return nil, fmt.Errorf("a workflow has %d sub-agents at most", maxParts)
		}
	}
	texts, errs := make([]starlark.Value, len(parts)), make([]error, len(parts))
	s.without(func() {
		var all sync.WaitGroup
		for i, p := range parts {
			all.Go(func() {
				text, err := s.part(free, p)
				texts[i], errs[i] = starlark.String(text), err
			})
		}
		all.Wait()
	})
	var failed strings.Builder
	for i, err := range errs {
		if err != nil {
			fmt.Fprintf(&failed, "\n  [item %d] %v", i+1, err)
		}
	}
	if failed.Len() > 0 {
		return nil, errors.New("map_agents: one or more sub-agents failed:" + failed.String())
	}
	return starlark.NewList(texts), nil
}

// rendered is the prompt for an item: the result of a function, or a template with {item}.
func rendered(t *starlark.Thread, prompt, item starlark.Value) (string, error) {
	if f, ok := prompt.(starlark.Callable); ok {
		v, err := starlark.Call(t, f, starlark.Tuple{item}, nil)
		if err != nil {
			return "", err
		}
		return textOf(v), nil
	}
	template, ok := starlark.AsString(prompt)
	if !ok {
		return "", errors.New("a prompt must be a text or a function, not a " + prompt.Type())
	}
	text, ok := starlark.AsString(item)
	if !ok {
		text = document(t, item)
	}
	return strings.ReplaceAll(template, "{item}", text), nil
}

// document is a value as JSON, or as Starlark writes it if it is none.
func document(t *starlark.Thread, v starlark.Value) string {
	raw, err := starlark.Call(t, starjson.Module.Members["encode"], starlark.Tuple{v}, nil)
	if err != nil {
		return v.String()
	}
	text, _ := starlark.AsString(raw)
	return text
}

func (s *script) reduceAgent(t *starlark.Thread, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
	p := Part{Agent: usualAgent}
	var items, about starlark.Value
	err := starlark.UnpackArgs("reduce_agent", args, named, "items", &items, "prompt", &p.Prompt, "subagent_type?", &p.Agent, "description??", &about)
	if err != nil {
		return nil, err
	}
	p.Prompt += "\n\nInput:\n" + reduced(t, items)
	return s.one(p, about)
}

// reduced is a value for a prompt, within the bound: of a list or a dictionary the last elements
// are left out, of anything else the end.
func reduced(t *starlark.Thread, v starlark.Value) string {
	text, ok := starlark.AsString(v)
	if ok {
		return cut(text)
	}
	if text = document(t, v); len(text) <= maxReduceInput {
		return text
	}
	var parts []json.RawMessage
	var fields map[string]json.RawMessage
	raw := []byte(text)
	switch {
	case json.Unmarshal(raw, &parts) == nil:
	case json.Unmarshal(raw, &fields) == nil:
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			one, err := json.Marshal(map[string]json.RawMessage{key: fields[key]})
			if err == nil {
				parts = append(parts, one)
			}
		}
	default:
		return cut(text)
	}
	size, kept := 2, 0
	for kept < len(parts) && (kept == 0 || size+len(parts[kept])+1 <= maxReduceInput) {
		size += len(parts[kept]) + 1
		kept++
	}
	shown, err := json.Marshal(parts[:kept])
	if err != nil {
		return cut(text)
	}
	return cut(string(shown)) + fmt.Sprintf("\n… [%d of %d elements are left out]", len(parts)-kept, len(parts))
}

func cut(text string) string {
	if r := []rune(text); len(r) > maxReduceInput {
		return string(r[:maxReduceInput]) + "\n… [the rest is left out]"
	}
	return text
}

func (s *script) pipeline(_ *starlark.Thread, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
	if len(named) > 0 || len(args) < 2 {
		return nil, errors.New("pipeline takes items and at least one stage")
	}
	items, ok := args[0].(starlark.Iterable)
	if !ok {
		return nil, errors.New("pipeline: items must be a list, not a " + args[0].Type())
	}
	all := slices.Collect(starlark.Elements(items))
	if len(all) > maxParts {
		return nil, fmt.Errorf("a workflow has %d sub-agents at most", maxParts)
	}
	results := make([]starlark.Value, len(all))
	s.without(func() {
		var chains sync.WaitGroup
		for i, item := range all {
			chains.Go(func() {
				s.running.Lock()
				defer s.running.Unlock()
				t, v := newThread(), item
				for _, stage := range args[1:] {
					var err error
					if v, err = starlark.Call(t, stage, starlark.Tuple{v}, nil); err != nil {
						v = starlark.None
						break
					}
				}
				results[i] = v
			})
		}
		chains.Wait()
	})
	return starlark.NewList(results), nil
}

func (*script) flatten(_ *starlark.Thread, args starlark.Tuple, named []starlark.Tuple) (starlark.Value, error) {
	var values starlark.Iterable
	if err := starlark.UnpackArgs("flatten", args, named, "values", &values); err != nil {
		return nil, err
	}
	flat := []starlark.Value{}
	for v := range starlark.Elements(values) {
		if inner, ok := v.(*starlark.List); ok {
			flat = slices.AppendSeq(flat, starlark.Elements(inner))
			continue
		}
		flat = append(flat, v)
	}
	return starlark.NewList(flat), nil
}
