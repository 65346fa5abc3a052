package gemini

import (
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm/internal/wirelog"
)

// written is how far the history in a body is: the leading system messages
// stand apart, the others in turns that alternate.
type written struct {
	system   bool   // the instruction is begun
	contents bool   // the array of turns is begun
	role     string // of the turn whose parts come last
	// images of tool results wait until the results are written: those have to
	// stand together. The slice is never changed.
	images []part
}

// write appends one message of a normalised history, as wirelog.Writer.
func (m *Model) write(dst []byte, w written, msg *event.Message) ([]byte, written, error) {
	switch {
	case msg.Role == event.RoleSystem && !w.contents:
		return m.writeSystem(dst, w, msg)
	case msg.Role == event.RoleTool:
		result, images := m.toolResult(msg)
		if len(images) > 0 {
			w.images = slices.Concat(w.images, images)
		}
		return w.add(dst, "user", []part{result})
	}
	dst, w, err := w.flush(dst)
	if err != nil {
		return dst, w, err
	}
	if msg.Role == event.RoleAssistant {
		return w.add(dst, "model", m.assistant(msg))
	}
	// A later system message has no other place.
	return w.add(dst, "user", m.parts(msg.Content))
}

func (m *Model) writeSystem(dst []byte, w written, msg *event.Message) ([]byte, written, error) {
	var err error
	for _, p := range m.parts(msg.Content) {
		if p.Text == nil { // an instruction may hold nothing else
			continue
		}
		if w.system {
			dst = append(dst, ',')
		} else {
			dst, w.system = append(dst, `"systemInstruction":{"parts":[`...), true
		}
		if dst, err = wirelog.AppendJSON(dst, &p); err != nil {
			return dst, w, err
		}
	}
	return dst, w, nil
}

// add appends the parts of a message.
func (w written) add(dst []byte, role string, parts []part) ([]byte, written, error) {
	if len(parts) == 0 {
		return dst, w, nil
	}
	if !w.contents {
		if w.system {
			dst = append(dst, "]},"...)
		}
		dst, w.contents = append(dst, `"contents":[`...), true
	}
	switch w.role {
	case role:
		dst = append(dst, ',')
	case "":
		dst = append(dst, `{"role":"`+role+`","parts":[`...)
	default:
		dst = append(dst, `]},{"role":"`+role+`","parts":[`...)
	}
	w.role = role
	var err error
	for i := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = wirelog.AppendJSON(dst, &parts[i]); err != nil {
			return dst, w, err
		}
	}
	return dst, w, nil
}

// flush writes the images that waited.
func (w written) flush(dst []byte) ([]byte, written, error) {
	images := w.images
	w.images = nil
	return w.add(dst, "user", images)
}

// finish closes what is open.
func (w written) finish(dst []byte) ([]byte, error) {
	dst, w, err := w.flush(dst)
	if err == nil && w.role == "model" { // the API wants the last word to be the user's
		dst, _, err = w.add(dst, "user", []part{text(goOn)})
	}
	return append(dst, "]}]"...), err
}
