package event

import (
	"reflect"

	"github.com/deft-dev/deft/event/internal/wire"
	"github.com/deft-dev/deft/fault"
)

func init() {
	wire.Kinds[Event](typeIn(&events))
	wire.Kinds[Action](typeIn(&actions))
	wire.Kinds[Observation](typeIn(&observations))
	wire.Schema[ThinkingBlock](func(members []wire.Member) reflect.Type {
		if wire.String(members, "type") == TypeRedacted {
			return reflect.TypeFor[redactedJSON]()
		}
		return reflect.TypeFor[thinkingJSON]()
	})
}

// typeIn returns the struct types of a registry's kinds.
func typeIn[T any](r *registry[T]) func(kind string) reflect.Type {
	return func(kind string) reflect.Type {
		mk := r.get(kind)
		if mk == nil {
			return nil
		}
		return reflect.TypeOf(mk()).Elem()
	}
}

// WithNulls returns the JSON of an event with null for absent members, as the reference
// posts it to webhooks (docs/openhands/sdk-wire.md section 11). Values of unregistered
// kinds stay unchanged, and so do values that clients and MCP servers wrote. The error is
// of kind fault.Invalid.
func WithNulls(raw []byte) ([]byte, error) {
	if err := wire.Check(raw); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "not an event")
	}
	out, err := wire.Fill(make([]byte, 0, len(raw)+len(raw)/4), raw, reflect.TypeFor[Event]())
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "not an event")
	}
	return out, nil
}
