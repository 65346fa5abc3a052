package secret

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
)

// An action that holds a value is stored, shown and sent to the model with the secret's name
// in its place, and runs with the value: the process that got it from the model still has it,
// and another one takes it from the registry.

// named is the beginning of Hidden with a name.
const named = "<secret-hidden:"

// reference matches Hidden with the name of a secret.
var reference = lazyregexp.New(`<secret-hidden:([A-Za-z_][A-Za-z0-9_]*)>`)

// byName masks with the names of secrets where a value is as it is, and without where it is
// in another encoding or has no name.
type byName struct {
	*matcher
	names *strings.Replacer
}

// mask implements masker.
func (b byName) mask(text string) string {
	if b.matcher.mask(text) == text {
		return text
	}
	return b.matcher.mask(b.names.Replace(text))
}

// naming returns the masker for actions; ok is false if nothing is to be masked.
func (r *Registry) naming() (b byName, ok bool) {
	m := r.matcher()
	if m == nil {
		return b, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	type pair struct{ value, name string }
	var all []pair
	for _, e := range r.entries {
		value := cmp.Or(e.value, e.source.Value)
		if strings.TrimSpace(value) != "" && variable().MatchString(e.name) {
			all = append(all, pair{value, e.name})
		}
	}
	slices.SortStableFunc(all, func(a, b pair) int { return len(b.value) - len(a.value) })
	var pairs []string
	for _, p := range all {
		pairs = append(pairs, p.value, named+p.name+">")
	}
	return byName{m, strings.NewReplacer(pairs...)}, true
}

// maskAction is MaskEvent for actions. A value in a name of the protocol stays.
func (r *Registry) maskAction(e *event.ActionEvent) event.Event {
	b, ok := r.naming()
	if !ok {
		return e
	}
	raw, err := event.Marshal(e)
	if err != nil {
		return e
	}
	var free []string
	if _, ok := e.Action.(*event.UnknownAction); ok { // of a client's tool
		free = []string{"action"}
	}
	masked := maskJSON(b, raw, eventFields, free...)
	if masked == nil {
		return e
	}
	ev, err := event.Unmarshal(masked)
	out, isAction := ev.(*event.ActionEvent)
	if err != nil || !isAction || (out.Action == nil) != (e.Action == nil) {
		return e
	}
	call := e.ToolCall
	if call.Arguments = b.arguments(e.ToolCall.Arguments); !json.Valid([]byte(call.Arguments)) && json.Valid([]byte(e.ToolCall.Arguments)) {
		call.Arguments = "{}"
	}
	out.Base, out.ToolCall, out.SecurityRisk = e.Base, call, e.SecurityRisk
	for i := range out.ThinkingBlocks {
		if i < len(e.ThinkingBlocks) && out.ThinkingBlocks[i].Thinking != e.ThinkingBlocks[i].Thinking {
			out.ThinkingBlocks[i].Signature = "" // it is for the text before
		}
	}
	return out
}

// MaskArguments masks the arguments of a call as [Registry.MaskEvent] does.
func (r *Registry) MaskArguments(text string) string {
	if b, ok := r.naming(); ok {
		return b.arguments(text)
	}
	return text
}

// arguments masks the arguments of a call: a document whose texts may be escaped.
func (b byName) arguments(text string) string {
	if json.Valid([]byte(text)) {
		if masked := maskJSON(b, []byte(text), nil); masked != nil {
			text = string(masked)
		}
	}
	return b.mask(text)
}

// RestoreAction returns an action as it runs. A command for the shell gets the values of the
// secrets that it names as [Hidden] does with a name: it could name their variables as well.
// No other action does: hostile text could have a model write such a name to an MCP server or
// into a file. again says that the action was read from the store: it is an error of kind
// Denied then if it has lost a value.
func (r *Registry) RestoreAction(ctx context.Context, a event.Action, again bool) (event.Action, error) {
	if r == nil || a == nil {
		return a, nil
	}
	raw, err := event.MarshalAction(a)
	if err != nil {
		return nil, err
	}
	if !bytes.Contains(raw, []byte("secret-hidden")) {
		return a, nil
	}
	v := values{r: r, ctx: ctx}
	command := false
	switch t := a.(type) {
	case *event.FinishAction, *event.ThinkAction, *event.TaskTrackerAction: // are only recorded
		return a, nil
	case *event.TerminalAction:
		command = !t.IsInput
	}
	if !command {
		if !again {
			return a, nil
		}
		v.missing = reference().Match(raw)
	} else if out := maskJSON(&v, raw, observationFields); out != nil {
		raw = out
	}
	if again && (v.missing || strings.Contains(string(raw), Hidden)) {
		return nil, fault.New(fault.Denied, "the call held the value of a secret, which is not stored with it").
			Hint("make the call again; in a command use the secret's variable in place of its value")
	}
	return event.UnmarshalAction(raw)
}

// values puts values in the place of names.
type values struct {
	r       *Registry
	ctx     context.Context
	missing bool
}

// has implements masker.
func (v *values) has(text []byte) bool { return bytes.Contains(text, []byte(named)) }

// mask implements masker.
func (v *values) mask(text string) string {
	return reference().ReplaceAllStringFunc(text, func(found string) string {
		name := strings.TrimSuffix(strings.TrimPrefix(found, named), ">")
		value, ok := "", slices.Contains(v.r.Names(), name)
		if ok {
			value, ok = v.r.Value(v.ctx, name)
		}
		if !ok {
			v.missing = true
			return found
		}
		return value
	})
}

// heldBy returns the secrets whose values an action holds; all of them if it holds one in
// another encoding.
func (r *Registry) heldBy(ctx context.Context, a event.Action) map[string]string {
	b, ok := r.naming()
	if !ok || a == nil {
		return nil
	}
	raw, err := event.MarshalAction(a)
	if err != nil {
		return nil
	}
	masked := maskJSON(b, raw, observationFields)
	if masked == nil {
		return nil
	}
	if bytes.Count(masked, []byte(Hidden)) > bytes.Count(raw, []byte(Hidden)) {
		return r.All(ctx)
	}
	var names []string
	for _, m := range reference().FindAllSubmatch(masked, -1) {
		names = append(names, string(m[1]))
	}
	return r.values(ctx, slices.Compact(slices.Sorted(slices.Values(names))))
}
