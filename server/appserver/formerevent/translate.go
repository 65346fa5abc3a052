package formerevent

import (
	"encoding/json"
	"maps"

	"github.com/deft-dev/deft/event"
)

type object map[string]json.RawMessage

// Event returns an event's JSON in its former form, nil if there was none. The path of a file
// that an action is about is as the client knows it: by it, the page finds the changes that it
// shows.
func (w Workspace) Event(raw []byte) []byte {
	var in object
	if json.Unmarshal(raw, &in) != nil || in == nil {
		return raw
	}
	out, err := in.as(eventForms)
	if err != nil {
		return raw
	}
	if out == nil {
		return nil
	}
	w.actionPath(out)
	if !known(string(out["source"])) {
		out["source"] = quoted(string(event.SourceEnvironment)) // hooks had no events
	}
	return out.json(raw)
}

// Message returns the message of a client in today's form: its page sends images as
// OpenAI's API has them, and names files that it has uploaded by where it put them. dir is
// where the conversation works, and where they are.
func (w Workspace) Message(raw []byte, dir string) []byte {
	var in object
	var list []object
	if json.Unmarshal(raw, &in) != nil || json.Unmarshal(in["content"], &list) != nil {
		return raw // the socket says what is wrong with it
	}
	for i, b := range list {
		var image struct {
			URL string `json:"url"`
		}
		var text string
		if string(b["type"]) == `"text"` && json.Unmarshal(b["text"], &text) == nil {
			b["text"] = quoted(w.uploads(text, dir))
		}
		if string(b["type"]) != `"image_url"` || json.Unmarshal(b["image_url"], &image) != nil || image.URL == "" {
			continue
		}
		list[i] = object{"type": quoted(event.TypeImage), "image_urls": encoded([]string{image.URL})}
	}
	in["content"] = encoded(list)
	return in.json(raw)
}

// as returns an object with what its kind had beside what it has; nil for none.
func (in object) as(forms map[string]form) (object, error) {
	var kind string
	if err := json.Unmarshal(in["kind"], &kind); err != nil {
		return nil, err
	}
	f, changed := forms[kind]
	switch {
	case !changed:
		return in, nil
	case f.kind == "":
		return nil, nil
	}
	out := maps.Clone(in)
	out["kind"] = quoted(f.kind)
	if f.made != nil {
		if err := f.made(out, in); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// json encodes an object; raw is what it was made from.
func (in object) json(raw []byte) []byte {
	b, err := json.Marshal(in)
	if err != nil {
		return raw
	}
	return b
}

// field reads a field into v, which stays as it is if there is none.
func (in object) field(name string, v any) error {
	if raw, has := in[name]; has {
		return json.Unmarshal(raw, v)
	}
	return nil
}

func quoted(s string) json.RawMessage { return encoded(s) }

func encoded(v any) json.RawMessage {
	b, _ := json.Marshal(v) // never fails for texts, lists of them, and JSON that was read
	return b
}
