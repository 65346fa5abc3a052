package bash

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
	"time"
)

// The kinds of event.
const (
	KindCommand = "BashCommand"
	KindOutput  = "BashOutput"
	KindError   = "BashError"
)

// Command is the event of a command that was started. The fields are in the
// order of the reference.
type Command struct {
	Command   string  `json:"command"`
	Cwd       *string `json:"cwd"`
	Timeout   int     `json:"timeout"`
	ID        ID      `json:"id"`
	Timestamp stamp   `json:"timestamp"`
	Kind      string  `json:"kind"`
}

// Output is the event of a part of a command's output, or of its end.
type Output struct {
	ID        ID    `json:"id"`
	Timestamp stamp `json:"timestamp"`
	CommandID ID    `json:"command_id"`
	// Order counts the outputs of a command from 0.
	Order int `json:"order"`
	// ExitCode is nil while the command runs; -1 after a timeout, and the
	// negative number of the signal that ended the shell.
	ExitCode *int    `json:"exit_code"`
	Stdout   *string `json:"stdout"`
	Stderr   *string `json:"stderr"`
	Kind     string  `json:"kind"`
}

// Error is the frame with which a follower's request is refused. It is never
// stored.
type Error struct {
	ID        ID     `json:"id"`
	Timestamp stamp  `json:"timestamp"`
	Code      string `json:"code"`
	Detail    string `json:"detail"`
	Kind      string `json:"kind"`
}

// NewError returns an error frame with an id and the present time.
func NewError(code, detail string) Error {
	return Error{ID: newID(), Timestamp: stamp(time.Now().UnixMicro()), Code: code, Detail: detail, Kind: KindError}
}

// ID is the id of an event; in text it is 32 hexadecimal digits.
type ID [16]byte

func newID() (id ID) {
	_, _ = rand.Read(id[:]) // never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

// ParseID reads 32 hexadecimal digits.
func ParseID(s string) (id ID, ok bool) {
	if len(s) != hex.EncodedLen(len(id)) {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(s))
	return id, err == nil
}

// String returns the id as text.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText implements [encoding.TextMarshaler].
func (id ID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (id *ID) UnmarshalText(b []byte) error {
	parsed, ok := ParseID(string(b))
	if !ok {
		return errors.New("an id is 32 hexadecimal digits")
	}
	*id = parsed
	return nil
}

// stamp is a time in microseconds since 1970, the precision of the reference's
// file names and timestamps.
type stamp int64

const (
	stampText = "2006-01-02T15:04:05.000000Z"
	stampName = "20060102150405.000000"
)

func (s stamp) time() time.Time { return time.UnixMicro(int64(s)).UTC() }

// MarshalText implements [encoding.TextMarshaler].
func (s stamp) MarshalText() ([]byte, error) { return s.time().AppendFormat(nil, stampText), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *stamp) UnmarshalText(b []byte) error {
	t, err := time.Parse(time.RFC3339Nano, string(b))
	*s = stamp(t.UnixMicro())
	return err
}

// name is the time as the first part of a file name: 20 digits.
func (s stamp) name() string {
	b := s.time().AppendFormat(make([]byte, 0, len(stampName)), stampName)
	return string(b[:14]) + string(b[15:])
}

// stampOfName is the reverse of name.
func stampOfName(s string) (stamp, bool) {
	if len(s) != 20 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	t, err := time.Parse(stampName, s[:14]+"."+s[14:])
	return stamp(t.UnixMicro()), err == nil
}
