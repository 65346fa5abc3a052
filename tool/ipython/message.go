package ipython

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/go-zeromq/zmq4"
)

// message is a message of a kernel.
type message struct {
	kind    string
	parent  string // the id of the request that it answers
	content json.RawMessage
}

// state is the state of a status message.
func (m message) state() string {
	var c struct {
		State string `json:"execution_state"`
	}
	if json.Unmarshal(m.content, &c) != nil {
		return ""
	}
	return c.State
}

const delimiter = "<IDS|MSG>"

// compose makes a signed message.
func compose(id, session, kind string, content any, key string) (zmq4.Msg, error) {
	header, err := json.Marshal(map[string]string{
		"msg_id": id, "session": session, "username": "deft", "date": time.Now().UTC().Format(time.RFC3339Nano), "msg_type": kind, "version": "5.3",
	})
	if err != nil {
		return zmq4.Msg{}, err
	}
	body, err := json.Marshal(content)
	if err != nil {
		return zmq4.Msg{}, err
	}
	parts := [][]byte{header, []byte("{}"), []byte("{}"), body}
	return zmq4.NewMsgFrom(append([][]byte{[]byte(delimiter), []byte(sign(key, parts))}, parts...)...), nil
}

// parse reads a message; false for one that is malformed or not signed with the key.
func parse(m zmq4.Msg, key string) (message, bool) {
	for i, frame := range m.Frames {
		if string(frame) != delimiter {
			continue
		}
		if len(m.Frames) < i+6 {
			return message{}, false
		}
		parts := m.Frames[i+2 : i+6]
		if !hmac.Equal([]byte(sign(key, parts)), m.Frames[i+1]) {
			return message{}, false
		}
		var header struct {
			Kind string `json:"msg_type"`
		}
		var parent struct {
			ID string `json:"msg_id"`
		}
		if json.Unmarshal(parts[0], &header) != nil || json.Unmarshal(parts[1], &parent) != nil {
			return message{}, false
		}
		return message{kind: header.Kind, parent: parent.ID, content: parts[3]}, true
	}
	return message{}, false
}

func sign(key string, parts [][]byte) string {
	m := hmac.New(sha256.New, []byte(key))
	for _, p := range parts {
		m.Write(p)
	}
	return hex.EncodeToString(m.Sum(nil))
}

// request is the content of an execute_request.
func request(code string, silent bool) map[string]any {
	return map[string]any{
		"code": code, "silent": silent, "store_history": !silent, "user_expressions": map[string]any{}, "allow_stdin": false, "stop_on_error": true,
	}
}
