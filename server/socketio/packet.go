package socketio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The types of Engine.IO packets, the first byte of a frame.
const (
	engineOpen    = '0'
	engineClose   = '1'
	enginePing    = '2'
	enginePong    = '3'
	engineMessage = '4'
)

// The types of Socket.IO packets.
const (
	typeConnect      = '0'
	typeDisconnect   = '1'
	typeEvent        = '2'
	typeAck          = '3'
	typeConnectError = '4'
	typeBinaryEvent  = '5'
	typeBinaryAck    = '6'
)

// packet is a Socket.IO packet.
type packet struct {
	typ       byte
	namespace string // "/" for the default one
	id        *uint64
	data      json.RawMessage // nil for none
}

var (
	errPacket = errors.New("not a Socket.IO packet")
	errBinary = errors.New("binary events are not supported")
)

// parsePacket reads what follows the byte of an Engine.IO message.
func parsePacket(b []byte) (packet, error) {
	if len(b) == 0 {
		return packet{}, errPacket
	}
	p := packet{typ: b[0], namespace: "/"}
	switch p.typ {
	case typeConnect, typeDisconnect, typeEvent, typeAck:
	case typeBinaryEvent, typeBinaryAck:
		return packet{}, errBinary
	default:
		return packet{}, errPacket
	}
	b = b[1:]
	if len(b) > 0 && b[0] == '/' {
		name, rest, found := bytes.Cut(b, []byte(","))
		if !found {
			rest = nil
		}
		path, _, _ := strings.Cut(string(name), "?") // clients of protocol 4 send a query
		p.namespace, b = path, rest
	}
	if n := digits(b); n > 0 {
		id, err := strconv.ParseUint(string(b[:n]), 10, 64)
		if err != nil {
			return packet{}, fmt.Errorf("%w: %w", errPacket, err)
		}
		p.id, b = &id, b[n:]
	}
	if len(b) == 0 {
		return p, nil
	}
	if !json.Valid(b) {
		return packet{}, fmt.Errorf("%w: its data is not JSON", errPacket)
	}
	p.data = b
	return p, nil
}

func digits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}

// event returns the name and the arguments of an event.
func (p packet) event() (name string, args []json.RawMessage, err error) {
	if err := json.Unmarshal(p.data, &args); err != nil || len(args) == 0 {
		return "", nil, fmt.Errorf("%w: an event is a list with a name", errPacket)
	}
	if err := json.Unmarshal(args[0], &name); err != nil {
		return "", nil, fmt.Errorf("%w: the name of an event is text", errPacket)
	}
	return name, args[1:], nil
}

// frame appends a message with data to b.
func frame(b []byte, typ byte, data []byte) []byte {
	b = append(b, engineMessage, typ)
	return append(b, data...)
}

// eventFrame returns the frame of an event with one argument.
func eventFrame(name string, arg []byte) []byte {
	quoted, err := json.Marshal(name)
	if err != nil {
		panic(err) // a string encodes
	}
	b := make([]byte, 0, len(arg)+len(quoted)+5)
	b = append(b, engineMessage, typeEvent, '[')
	b = append(append(b, quoted...), ',')
	b = append(append(b, arg...), ']')
	if !utf8.Valid(b) { // clients close the connection for it
		b = bytes.ToValidUTF8(b, []byte("\uFFFD"))
	}
	return b
}
