package llmtest

import (
	"net/http"
	"strings"

	"github.com/deft-dev/deft/internal/wait"
)

// ending is the way in which a response ends.
type ending uint8

const (
	endClean ending = iota
	endReset        // TCP RST
	endHang         // no data until the client disconnects
)

// applyFault truncates the stream as the fault requires.
func applyFault(stream []frame, f *Fault, a *answer) ([]frame, ending) {
	if f == nil {
		return stream, endClean
	}
	switch {
	case f.Kind == NoFinalChunk:
		return upTo(stream, len(stream)), endClean
	case f.Kind == HalfToolCall:
		return halfCall(stream, len(a.calls)-1), endClean
	case f.Kind == Reset:
		return upTo(stream, f.After), endReset
	case f.Kind == Hang:
		return upTo(stream, f.After), endHang
	case f.Kind == MalformedJSON:
		kept := upTo(stream, f.After)
		next := stream[min(len(kept), len(stream)-1)]
		if !strings.HasPrefix(next.data, "{") {
			next = stream[0]
		}
		next.data = next.data[:len(next.data)*2/3]
		return append(kept, next), endClean
	case f.Kind.isError():
		return append(upTo(stream, f.After), wires[a.req.Protocol].failureFrames(faultError(f, a.req), a)...), endClean
	}
	return stream, endClean
}

// upTo returns the frames up to the n-th content delta, without final ones.
func upTo(stream []frame, n int) []frame {
	var kept []frame
	for _, fr := range stream {
		if n == 0 || fr.part == partFinal {
			break
		}
		kept = append(kept, fr)
		if fr.part == partDelta || fr.part == partArgs {
			n--
		}
	}
	return kept
}

// halfCall ends the stream in the middle of the arguments of the given call.
func halfCall(stream []frame, call int) []frame {
	var at []int
	for i, fr := range stream {
		if fr.part == partArgs && fr.call == call {
			at = append(at, i)
		}
	}
	switch len(at) {
	case 0: // no arguments at all: leave the call open
		kept := upTo(stream, len(stream))
		for len(kept) > 0 && closesCall(kept[len(kept)-1]) {
			kept = kept[:len(kept)-1]
		}
		return kept
	case 1: // one frame holds them all: cut the frame itself
		kept := append([]frame(nil), stream[:at[0]+1]...)
		last := &kept[at[0]]
		last.data, last.torn = last.data[:len(last.data)/2], true
		return kept
	default:
		return stream[:at[len(at)/2-1]+1]
	}
}

func closesCall(fr frame) bool {
	return strings.HasSuffix(fr.event, "_stop") || strings.HasSuffix(fr.event, ".done")
}

// sendStream writes the frames with the given pacing. Frames without a pause
// between them are sent in one write.
func (s *Server) sendStream(w http.ResponseWriter, r *http.Request, p Pacing, protocol Protocol, stream []frame, end ending, sse bool) {
	enc := framing{newline: "\n", array: !sse}
	contentType := "text/event-stream; charset=utf-8"
	if protocol == Gemini {
		enc.newline, contentType = "\r\n", "text/event-stream"
	}
	if !sse {
		contentType = "application/json"
	}
	s.headers(w, protocol, contentType)
	w.Header().Set("Cache-Control", "no-cache")
	var b strings.Builder
	content := 0
	for _, fr := range stream {
		if fr.part == partDelta || fr.part == partArgs {
			if content++; content > 1 && p.ChunkDelay > 0 {
				write(w, b.String())
				b.Reset()
				flush(w)
				if wait.For(r.Context(), p.ChunkDelay) != nil {
					return
				}
			}
		}
		enc.write(&b, fr)
	}
	if end == endClean {
		enc.close(&b, stream)
	}
	write(w, b.String())
	finish(w, r, end)
}

// finish ends a response after its last bytes.
func finish(w http.ResponseWriter, r *http.Request, end ending) {
	switch end {
	case endReset:
		flush(w)
		reset(w)
	case endHang:
		flush(w)
		<-r.Context().Done()
	}
}

// framing writes frames as server-sent events, or as the elements of one JSON
// array, as Gemini does without alt=sse.
type framing struct {
	newline string
	array   bool
	begun   bool
}

func (e *framing) write(b *strings.Builder, fr frame) {
	if e.array {
		if e.begun {
			b.WriteString(",\r\n")
		} else {
			b.WriteString("[")
		}
		b.WriteString(fr.data)
		e.begun = true
		return
	}
	if fr.event != "" {
		b.WriteString("event: ")
		b.WriteString(fr.event)
		b.WriteString(e.newline)
	}
	b.WriteString("data: ")
	b.WriteString(fr.data)
	if !fr.torn {
		b.WriteString(e.newline)
		b.WriteString(e.newline)
	}
}

// close ends the array, if the last frame was a final one.
func (e *framing) close(b *strings.Builder, stream []frame) {
	if e.array && len(stream) > 0 && stream[len(stream)-1].part == partFinal {
		b.WriteString("]")
	}
}
