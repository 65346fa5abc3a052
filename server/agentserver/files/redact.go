package files

import (
	"bytes"
	"encoding/json"
	"strings"
)

// mask replaces secrets in answers.
const mask = "**********"

// secretFields contain credentials anywhere in a conversation.
var secretFields = map[string]bool{
	"api_key": true, "aws_access_key_id": true, "aws_secret_access_key": true, "aws_session_token": true, "llm_api_key": true,
}

// fernet is the beginning of everything that was encrypted with the server's key.
const fernet = "gAAAAA"

func isSecret(field, value string) bool {
	if value == "" || value == mask {
		return false
	}
	return strings.HasPrefix(value, fernet) || secretFields[field]
}

// Redact masks the secrets in a file of a trajectory and changes no other byte: in
// JSON, and line by line in JSON lines. Other files are not changed.
func Redact(name string, content []byte) []byte {
	switch {
	case strings.HasSuffix(strings.ToLower(name), ".json"):
		return redactJSON(content)
	case strings.HasSuffix(strings.ToLower(name), ".jsonl"):
		var out []byte
		for line := range bytes.Lines(content) {
			out = append(out, redactJSON(line)...)
		}
		return out
	}
	return content
}

// level is an object or a list that is open.
type level struct {
	object bool
	key    string
	atKey  bool // the next string is a key
}

func redactJSON(content []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	var out []byte
	var open []level
	done := 0
	for {
		before := d.InputOffset()
		token, err := d.Token()
		if err != nil {
			break
		}
		top := len(open) - 1
		switch v := token.(type) {
		case json.Delim:
			switch v {
			case '{', '[':
				open = append(open, level{object: v == '{', atKey: v == '{'})
				continue
			default:
				open = open[:top]
			}
		case string:
			field := ""
			if top >= 0 && open[top].object {
				if open[top].atKey {
					open[top].key, open[top].atKey = v, false
					continue
				}
				field = open[top].key
			}
			if isSecret(field, v) {
				at := int(before) + bytes.IndexByte(content[before:], '"')
				out = append(append(out, content[done:at]...), `"`+mask+`"`...)
				done = int(d.InputOffset())
			}
		}
		if n := len(open); n > 0 && open[n-1].object {
			open[n-1].atKey = true
		}
	}
	if done == 0 {
		return content
	}
	return append(out, content[done:]...)
}
