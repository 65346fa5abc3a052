package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/deft-dev/deft/event"
)

func idOf(raw []byte) (event.ConversationID, error) {
	var v struct{ ID event.ConversationID }
	if err := json.Unmarshal(raw, &v); err != nil || v.ID == "" {
		return "", fmt.Errorf("no id in %.200s: %w", raw, err)
	}
	return v.ID, nil
}

// follow connects to a conversation's events.
func (s *server) follow(ctx context.Context, id event.ConversationID, query string) (*websocket.Conn, error) {
	url := strings.Replace(s.url, "http", "ws", 1) + "/sockets/events/" + string(id) + query
	ws, res, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return nil, fmt.Errorf("follow %s: %w", id, err)
	}
	if res != nil && res.Body != nil {
		_ = res.Body.Close()
	}
	ws.SetReadLimit(256 << 20)
	return ws, nil
}

// finished reads until a run has ended.
func finished(f *frames) error {
	for {
		frame, err := f.next()
		if err != nil {
			return err
		}
		if !bytes.Contains(frame, []byte(`"execution_status"`)) || bytes.Contains(frame, []byte(`"full_state"`)) {
			continue
		}
		switch {
		case bytes.Contains(frame, []byte(`"finished"`)):
			return nil
		case bytes.Contains(frame, []byte(`"error"`)), bytes.Contains(frame, []byte(`"stuck"`)):
			return fmt.Errorf("the run did not finish: %.300s", frame)
		}
	}
}

const goMessage = `{"role":"user","content":[{"type":"text","text":"go"}],"run":true}`

// turn sends a message and waits for the end of the run.
func (s *server) turn(ctx context.Context, f *frames, id event.ConversationID) (time.Duration, error) {
	began := time.Now()
	if _, err := s.call(ctx, "POST", "/api/conversations/"+string(id)+"/events", goMessage); err != nil {
		return 0, err
	}
	err := finished(f)
	return time.Since(began), err
}

func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	return s[min(len(s)-1, int(float64(len(s))*q))]
}
