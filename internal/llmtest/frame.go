package llmtest

import (
	"encoding/json"
	"fmt"
)

// part classifies a frame for the faults.
type part uint8

const (
	partOpen  part = iota // begins the answer, an item or a block, or ends one
	partDelta             // a piece of text or reasoning
	partArgs              // a piece of a tool call's arguments
	partFinal             // finish reason, usage, end mark
)

// frame is one event of a stream.
type frame struct {
	event string // "": no event line
	data  string
	part  part
	call  int  // number of the tool call that partArgs belongs to
	torn  bool // the end of the frame is missing
}

// frames collects a stream.
type frames struct {
	list  []frame
	named bool // write event lines, taken from the type given
}

// add appends a frame. event is written as the event line if the protocol has
// them.
func (f *frames) add(p part, event, data string) {
	if !f.named {
		event = ""
	}
	f.list = append(f.list, frame{event: event, data: data, part: p})
}

func (f *frames) args(call int, event, data string) {
	f.add(partArgs, event, data)
	f.list[len(f.list)-1].call = call
}

// wire encodes answers and errors in a protocol.
type wire interface {
	// stream returns the events of a streamed answer.
	stream(a *answer) []frame
	// body returns an answer in one piece.
	body(a *answer) string
	// failure returns status and body of an error.
	failure(e *apiError, requestID string) (status int, body string)
	// failureFrames returns an error in the middle of a stream.
	failureFrames(e *apiError, a *answer) []frame
}

var wires = map[Protocol]wire{
	OpenAIChat:      chatWire{},
	OpenAIResponses: responsesWire{},
	Anthropic:       anthropicWire{},
	Gemini:          geminiWire{},
}

// q returns s as a JSON string. Half a character is an escape.
func q(s string) string {
	if len(s) == 3 && s[0] == 0xed && s[1] >= 0xa0 {
		return fmt.Sprintf(`"\u%x"`, 0xd000|rune(s[1]&0x3f)<<6|rune(s[2]&0x3f))
	}
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // not reached: any string can be encoded
	}
	return string(b)
}

// qOrNull returns s as a JSON string, or null if it is empty.
func qOrNull(s string) string {
	if s == "" {
		return "null"
	}
	return q(s)
}
