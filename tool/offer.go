package tool

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/deft-dev/deft/internal/memo"
)

// Offer is a tool as it is offered to a model; LLM adapters convert it to their
// provider's form.
type Offer struct {
	Name        string
	Description string
	// Parameters is the JSON schema of the arguments, see [FunctionSchema].
	Parameters json.RawMessage
}

// Offered returns the tools as they are offered to the model, in order. It
// fails if a schema cannot be encoded, which is a defect of the tool.
func (s *Set) Offered() ([]Offer, error) {
	offers := make([]Offer, 0, len(s.defs))
	for _, d := range s.defs {
		params, err := FunctionSchema(d)
		if err != nil {
			return nil, fmt.Errorf("schema of tool %s: %w", d.Name, err)
		}
		offers = append(offers, Offer{Name: d.Name, Description: d.Description, Parameters: params})
	}
	return offers, nil
}

// The arguments that every tool gets (docs/openhands/tools.md section 1).
const (
	argRisk    = "security_risk"
	argSummary = "summary"
)

// encodedMost is how many encoded schemas are cached: conversations mostly have
// the same tools, and encoding them costs more than the rest of opening one.
const encodedMost = 256

var (
	encodedSchemas = memo.New[schemaKey, json.RawMessage](encodedMost)
	keyBuffers     = sync.Pool{New: func() any { return new([]byte) }}
)

// schemaKey is everything that goes into the encoded form of a schema.
type schemaKey struct {
	own      [sha256.Size]byte
	readOnly bool
}

// FunctionSchema returns the JSON schema of the arguments as the model sees
// it: security_risk (unless the tool only reads), summary (unless the tool has
// one of its own), then the tool's fields. Equal tools share the bytes: do not
// change them.
func FunctionSchema(d *Definition) (json.RawMessage, error) {
	buf := keyBuffers.Get().(*[]byte)
	*buf = d.Parameters.appendKey((*buf)[:0])
	key := schemaKey{sha256.Sum256(*buf), d.Annotations.ReadOnly}
	keyBuffers.Put(buf)
	return encodedSchemas.Get(key, func() (json.RawMessage, error) { return functionSchema(d) })
}

func functionSchema(d *Definition) (json.RawMessage, error) {
	own, err := d.fields()
	if err != nil {
		return nil, err
	}
	var all Schema
	if _, has := own.find(argRisk); !has && !d.Annotations.ReadOnly {
		all.Properties = append(all.Properties, Property{
			Name: argRisk, Type: "string", Enum: []string{"UNKNOWN", "LOW", "MEDIUM", "HIGH"},
			Description: "How much harm this call could do, by the rules of the security section.",
		})
	}
	if _, has := own.find(argSummary); !has {
		all.Properties = append(all.Properties, Property{
			Name: argSummary, Type: "string",
			Description: "What this call does, in about ten words, for the person who watches.",
		})
	}
	all.Properties = append(all.Properties, own.Properties...)
	return all.MarshalJSON()
}

// appendKey appends all of a schema, so that different schemas give different
// bytes.
func (s Schema) appendKey(b []byte) []byte {
	b = appendText(b, string(s.Raw))
	b = binary.AppendUvarint(b, uint64(len(s.Properties)))
	for i := range s.Properties {
		b = s.Properties[i].appendKey(b)
	}
	return b
}

func (p *Property) appendKey(b []byte) []byte {
	b = appendText(appendText(appendText(b, p.Name), p.Type), p.Description)
	b = binary.AppendUvarint(b, uint64(len(p.Enum)))
	for _, e := range p.Enum {
		b = appendText(b, e)
	}
	b = append(b, flag(p.Required), flag(p.Items != nil), flag(p.Object != nil))
	if p.Items != nil {
		b = p.Items.appendKey(b)
	}
	if p.Object != nil {
		b = p.Object.appendKey(b)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
}
