package socketio

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

func TestParsePacket(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, namespace, data string
		typ                 byte
		id                  int
		err                 error
	}{
		{in: "0", typ: typeConnect, namespace: "/", id: -1},
		{in: `0{"token":1}`, typ: typeConnect, namespace: "/", data: `{"token":1}`, id: -1},
		{in: `0/admin,`, typ: typeConnect, namespace: "/admin", id: -1},
		{in: `0/admin?x=1,{}`, typ: typeConnect, namespace: "/admin", data: "{}", id: -1},
		{in: `2["a",1]`, typ: typeEvent, namespace: "/", data: `["a",1]`, id: -1},
		{in: `212["a"]`, typ: typeEvent, namespace: "/", data: `["a"]`, id: 12},
		{in: `1`, typ: typeDisconnect, namespace: "/", id: -1},
		{in: `51-["a",{"_placeholder":true,"num":0}]`, err: errBinary},
		{in: `2["a"`, err: errPacket},
		{in: `2999999999999999999999["a"]`, err: errPacket},
		{in: `9`, err: errPacket},
		{in: ``, err: errPacket},
	} {
		p, err := parsePacket([]byte(c.in))
		if c.err != nil {
			if !errors.Is(err, c.err) {
				t.Errorf("%q: %v", c.in, err)
			}
			continue
		}
		id := -1
		if p.id != nil {
			id = int(*p.id) //nolint:gosec // small in this table
		}
		if err != nil || p.typ != c.typ || p.namespace != c.namespace || string(p.data) != c.data || id != c.id {
			t.Errorf("%q: %+v %v", c.in, p, err)
		}
	}
}

func FuzzParsePacket(f *testing.F) {
	for _, s := range []string{`2["oh_user_action",{"action":"init"}]`, `0/a?b,{}`, `27["x"]`, `51-["a"]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parsePacket(b)
		if err != nil {
			if !errors.Is(err, errPacket) && !errors.Is(err, errBinary) {
				t.Errorf("%v", err)
			}
			return
		}
		if p.data != nil && !json.Valid(p.data) {
			t.Errorf("the data %q is not JSON", p.data)
		}
		name, args, err := p.event()
		if err != nil {
			return
		}
		for _, arg := range args {
			out := eventFrame(name, arg)
			back, err := parsePacket(out[1:])
			if err != nil || back.typ != typeEvent || !bytes.HasPrefix(out, []byte("42[")) {
				t.Errorf("%q: %v", out, err)
			}
		}
	})
}
