package probe

import (
	"context"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// Bounds of the search for a model's real context length.
const (
	lengthCalls = 12     // at most
	lengthFirst = 8_192  // tokens, where nothing is known
	lengthExact = 256    // tokens: no closer is looked
	codeWord    = "plum" // stands at the beginning, where servers cut
)

// Length is the known part of a model's context length, in tokens; 0 is nothing.
type Length struct {
	Fits    int `json:"fits"`     // a prompt of this length was read whole
	TooLong int `json:"too_long"` // one of this length was not
	Calls   int `json:"calls"`
	low     int // the requested length when Fits tokens were counted
}

// length searches for the longest prompt that the model reads whole, up to a
// limit in tokens. Servers that cut long prompts without saying so are told by
// the usage they report, or by a word at the beginning that they forget.
func (p *prober) length(ctx context.Context, limit int) (Length, Result) {
	found := Length{}
	size := min(limit, max(lengthFirst, p.model.Info().ContextWindow*19/20))
	for size > 0 && found.Calls < lengthCalls {
		found.Calls++
		read, err := p.reads(ctx, size)
		if err != nil {
			c := failed("length", err)
			c.Detail = found.String() + "; stopped: " + c.Detail
			return found, c
		}
		if read > 0 {
			found.low, found.Fits = size, read
		} else {
			found.TooLong = size
		}
		size = found.next(limit)
	}
	return found, Result{Name: "length", OK: found.Fits > 0, Detail: found.String()}
}

// next is the size to try next, 0 for none.
func (l Length) next(limit int) int {
	switch {
	case l.TooLong == 0 && l.low >= limit:
		return 0
	case l.TooLong == 0:
		return min(limit, l.low*2)
	case l.TooLong-l.low <= max(lengthExact, l.TooLong/20):
		return 0
	}
	return (l.low + l.TooLong) / 2
}

func (l Length) String() string {
	s := "no length that was tried fits"
	if l.Fits > 0 {
		s = fmt.Sprintf("prompts of %d tokens fit", l.Fits)
	}
	if l.TooLong > 0 {
		s += fmt.Sprintf(", of %d do not", l.TooLong)
	}
	return s
}

// reads asks with a prompt of about so many tokens and returns how many of
// them were read: 0 if the prompt was refused or cut.
func (p *prober) reads(ctx context.Context, size int) (int, error) {
	const pad = "the " // one token for all tokenizers in use
	text := "The code word is " + codeWord + ". Some padding follows.\n" + strings.Repeat(pad, max(0, size-80)) +
		"\nWhat is the code word? Answer with it alone."
	resp, err := p.ask(ctx, llm.Request{Messages: say(text), MaxOutputTokens: 512}, nil)
	if fault.Is(err, fault.Context) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if counted := resp.Usage.Prompt; counted > 0 { // a weak model may forget text that it did read
		if counted < size*4/5 {
			return 0, nil
		}
		return min(size, counted), nil
	}
	if strings.Contains(strings.ToLower(event.JoinText(resp.Message.Content)), codeWord) {
		return size, nil
	}
	return 0, nil
}
