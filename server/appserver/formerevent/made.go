package formerevent

import (
	"github.com/deft-dev/deft/event"
)

func action(out, in object) error {
	if err := reasoning(out, in); err != nil {
		return err
	}
	return nested("action", actionForms)(out, in)
}

func observation(out, in object) error {
	var of struct {
		Kind string `json:"kind"`
	}
	if err := in.field("observation", &of); err != nil {
		return err
	}
	if of.Kind == "FinishObservation" {
		// The page shows an observation, closed, in the place of its action, which here is
		// the last message of the agent. What is not of the environment, it only counts.
		out["source"] = quoted(string(event.SourceAgent))
	}
	return nested("observation", observationForms)(out, in)
}

// nested translates a field that is an object with a kind, if there is one.
func nested(name string, forms map[string]form) func(out, in object) error {
	return func(out, in object) error {
		var inner object
		if err := in.field(name, &inner); err != nil || inner == nil {
			delete(out, name)
			return err
		}
		was, err := inner.as(forms)
		if err == nil {
			out[name] = encoded(was)
		}
		return err
	}
}

func message(out, in object) error {
	var m object
	if err := in.field("llm_message", &m); err != nil || m == nil {
		return err
	}
	if err := reasoning(m, m); err != nil {
		return err
	}
	out["llm_message"] = encoded(m)
	return nil
}

// reasoning copies blocks of reasoning, which had a signature always.
func reasoning(out, in object) error {
	const name = "thinking_blocks"
	var list []object
	if err := in.field(name, &list); err != nil || list == nil {
		return err
	}
	for _, b := range list {
		if _, signed := b["signature"]; !signed && string(b["type"]) == `"thinking"` {
			b["signature"] = quoted("")
		}
	}
	out[name] = encoded(list)
	return nil
}

// result is what all observations have.
type result struct {
	Content event.List[event.Content]
	Failed  bool
}

func resultOf(in object) (r result, err error) {
	if err = in.field("content", &r.Content); err == nil {
		err = in.field("is_error", &r.Failed)
	}
	return r, err
}

// text has the text of an observation in a field.
func text(name string) func(out, in object) error {
	return func(out, in object) error {
		r, err := resultOf(in)
		out[name] = quoted(event.JoinText(r.Content))
		return err
	}
}

// textOrError has the text in a field, or in "error" if it tells one.
func textOrError(name string) func(out, in object) error {
	return func(out, in object) error {
		r, err := resultOf(in)
		said := event.JoinText(r.Content)
		if r.Failed {
			out["error"], said = quoted(said), ""
		}
		if name != "" {
			out[name] = quoted(said)
		}
		return err
	}
}

func terminal(out, in object) error {
	r, err := resultOf(in)
	out["output"], out["error"] = quoted(event.JoinText(r.Content)), encoded(r.Failed)
	return err
}

// failure makes the error of a run that of an action, which the page shows.
func failure(out, in object) error {
	var code, detail string
	if err := in.field("code", &code); err != nil {
		return err
	}
	if err := in.field("detail", &detail); err != nil {
		return err
	}
	if detail == "" {
		detail = code
	}
	out["source"] = quoted(string(event.SourceAgent))
	out["tool_name"], out["tool_call_id"], out["error"] = quoted(""), quoted(""), quoted(detail)
	return nil
}

// systemPrompt describes the tools as models are told of them.
func systemPrompt(out, in object) error {
	var prompt event.SystemPromptEvent
	if err := in.field("system_prompt", &prompt.SystemPrompt); err != nil {
		return err
	}
	if err := in.field("dynamic_context", &prompt.DynamicContext); err != nil {
		return err
	}
	if err := in.field("tools", &prompt.Tools); err != nil {
		return err
	}
	var tools []object
	if err := in.field("tools", &tools); err != nil {
		return err
	}
	for i := range prompt.Tools {
		if tools[i] == nil {
			tools[i] = object{}
		}
		tools[i]["type"], tools[i]["function"] = quoted("function"), encoded(prompt.Tools[i].Function())
	}
	out["system_prompt"], out["tools"] = encoded(event.Text(prompt.Text())), encoded(append([]object{}, tools...))
	return nil
}
