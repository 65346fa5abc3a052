package historycache

import (
	"bytes"
	"slices"
	"sync"

	"github.com/deft-dev/deft/internal/rawjson"
	"github.com/deft-dev/deft/llm"
)

// toolLists is how many lists of tools are kept in one form: most conversations
// of a server have the same tools.
const toolLists = 16

// Tools keeps the encoded form of the tool lists that were sent last, since
// encoding an agent's schemas costs more than the rest of a call. The zero
// value is ready to use, and safe for concurrent use.
type Tools struct {
	mu    sync.Mutex
	lists []toolList // the latest used in front
}

// toolForm is a form in which tools are encoded.
type toolForm struct {
	protocol string
	strict   bool
}

var toolForms sync.Map // of *Tools, by toolForm

// ToolsIn returns the Tools shared by all models of a protocol, with schemas in
// their strict form or unchanged.
func ToolsIn(protocol string, strict bool) *Tools {
	form := toolForm{protocol, strict}
	t, ok := toolForms.Load(form)
	if !ok {
		t, _ = toolForms.LoadOrStore(form, new(Tools))
	}
	return t.(*Tools)
}

type toolList struct {
	tools   []llm.Tool
	encoded []byte
}

// Parts returns the beginning of a body: head and before, the tools as a JSON
// array, after. Without tools it is only head. write appends one tool; its
// error is returned unchanged. The parts must not be changed.
func (t *Tools) Parts(head []byte, before, after string, tools []llm.Tool, write func(dst []byte, tool *llm.Tool) ([]byte, error)) ([][]byte, error) {
	if len(tools) == 0 {
		return [][]byte{head}, nil
	}
	encoded := t.find(tools)
	if encoded == nil {
		var err error
		if encoded, err = t.encode(tools, write); err != nil {
			return nil, err
		}
	}
	return [][]byte{append(head, before...), encoded, []byte(after)}, nil
}

// Body returns a whole body: the parts before a history, the history from
// [Cache.Encode], and the text after it.
func Body(head, history [][]byte, tail []byte) [][]byte {
	return slices.Concat(head, history[1:], [][]byte{tail})
}

// encode encodes and keeps a list of tools.
func (t *Tools) encode(tools []llm.Tool, write func(dst []byte, tool *llm.Tool) ([]byte, error)) ([]byte, error) {
	encoded := []byte{'['}
	kept := slices.Clone(tools)
	for i := range tools {
		if i > 0 {
			encoded = append(encoded, ',')
		}
		var err error
		if encoded, err = write(encoded, &tools[i]); err != nil {
			return nil, err
		}
		kept[i].Parameters = slices.Clone(tools[i].Parameters)
	}
	encoded = rawjson.WellFormed(append(encoded, ']')) // schemas come from MCP servers, too
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lists = slices.Insert(t.lists, 0, toolList{kept, encoded})
	t.lists = t.lists[:min(len(t.lists), toolLists)]
	return encoded, nil
}

// find returns the encoded form, which is immutable, or nil.
func (t *Tools) find(tools []llm.Tool) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, l := range t.lists {
		if slices.EqualFunc(l.tools, tools, sameTool) {
			copy(t.lists[1:i+1], t.lists[:i])
			t.lists[0] = l
			return l.encoded
		}
	}
	return nil
}

func sameTool(a, b llm.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
}
