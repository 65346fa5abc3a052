package gemini

import (
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm/internal/historycache"
)

// form is the API's form of histories.
var form = &historycache.Form{System: `"systemInstruction":{"parts":[`, EndSystem: "]},", Turns: `"contents":[`, Blocks: "parts"}

// written is the position in the history of a body.
type written struct {
	historycache.Turns
	// images of tool results follow after all results, which must be together.
	// The slice is immutable.
	images []part
}

// write appends one message of a normalized history, as historycache.Writer.
func (m *Model) write(dst []byte, w written, msg *event.Message) ([]byte, written, error) {
	var room [4]part
	parts := room[:0]
	switch {
	case msg.Role == event.RoleSystem && !w.Begun:
		dst, w = w.addSystem(dst, m.parts(parts, msg.Content))
		return dst, w, nil
	case msg.Role == event.RoleTool:
		result, images := m.toolResult(msg)
		if len(images) > 0 {
			w.images = slices.Concat(w.images, images)
		}
		dst, w = w.add(dst, "user", append(parts, result))
		return dst, w, nil
	}
	dst, w = w.flush(dst)
	if msg.Role == event.RoleAssistant {
		dst, w = w.add(dst, "model", m.assistant(parts, msg))
	} else { // including later system messages
		dst, w = w.add(dst, "user", m.parts(parts, msg.Content))
	}
	return dst, w, nil
}

// addSystem appends parts of the instruction, which contains text only.
func (w written) addSystem(dst []byte, parts []part) ([]byte, written) {
	for i := range parts {
		if parts[i].Kind != textPart {
			continue
		}
		dst, w.Turns = w.BeginSystem(dst, form)
		dst = parts[i].appendTo(dst)
	}
	return dst, w
}

// add appends the parts of a message.
func (w written) add(dst []byte, role string, parts []part) ([]byte, written) {
	if len(parts) == 0 {
		return dst, w
	}
	dst, w.Turns = w.Begin(dst, form, role)
	for i := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = parts[i].appendTo(dst)
	}
	return dst, w
}

// flush writes the pending images.
func (w written) flush(dst []byte) ([]byte, written) {
	images := w.images
	w.images = nil
	return w.add(dst, "user", images)
}

// finish closes the history.
func (w written) finish(dst []byte) []byte {
	dst, w = w.flush(dst)
	if w.Role == "model" { // the API requires the last message to be the user's
		dst, _ = w.add(dst, "user", []part{text(goOn)})
	}
	return w.End(dst)
}

// appendTo appends the part's JSON without encoding/json, because a restarted
// server encodes whole histories at once.
func (p *part) appendTo(dst []byte) []byte {
	switch p.Kind {
	case inlinePart:
		dst = historycache.AppendMember(dst, `{"inlineData":{"mimeType":`, p.MediaType)
		dst = append(historycache.AppendMember(dst, `,"data":`, p.Data), '}')
	case filePart:
		dst = historycache.AppendMember(dst, `{"fileData":{"mimeType":`, p.MediaType)
		dst = append(historycache.AppendMember(dst, `,"fileUri":`, p.Data), '}')
	case callPart:
		dst = p.function(dst, `{"functionCall":{`)
		dst = append(append(append(dst, `,"args":`...), p.Args...), '}')
	case resultPart:
		dst = p.function(dst, `{"functionResponse":{`)
		dst = append(historycache.AppendMember(dst, `,"response":{"output":`, p.Text), "}}"...)
	default:
		dst = historycache.AppendMember(dst, `{"text":`, p.Text)
	}
	if p.Signature != "" {
		dst = historycache.AppendMember(dst, `,"thoughtSignature":`, p.Signature)
	}
	return append(dst, '}')
}

// function appends the name and id of a function.
func (p *part) function(dst []byte, open string) []byte {
	dst = append(dst, open...)
	if p.ID != "" {
		dst = append(historycache.AppendMember(dst, `"id":`, p.ID), ',')
	}
	return historycache.AppendMember(dst, `"name":`, p.Name)
}
