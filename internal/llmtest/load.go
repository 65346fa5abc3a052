package llmtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"

	"github.com/deft-dev/deft/fault"
)

// maxScript is the maximum size of a script file: 16 MiB.
const maxScript = 16 << 20

// Load reads a script file; see [Parse].
func Load(path string) (*Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.NotFound, "read script")
	}
	s, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("load script %s: %w", path, err)
	}
	return s, nil
}

// Parse reads a script from YAML. Unknown keys, wrong types, invalid templates
// and regular expressions, and invalid turns are errors of kind [fault.Invalid]
// with the line number.
func Parse(data []byte) (s *Script, err error) {
	if len(data) > maxScript {
		return nil, fault.New(fault.Invalid, "script is larger than 16 MiB")
	}
	// The YAML library panics on a few kinds of malformed input.
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fault.New(fault.Invalid, fmt.Sprintf("script is not valid YAML: %v", p))
		}
	}()
	s = &Script{}
	dec := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	if err := dec.Decode(s); errors.Is(err, io.EOF) {
		return nil, fault.New(fault.Invalid, "script is empty")
	} else if err != nil {
		return nil, fault.New(fault.Invalid, "script: "+yaml.FormatError(err, false, false))
	}
	if err := dec.Decode(&Script{}); !errors.Is(err, io.EOF) {
		return nil, fault.New(fault.Invalid, "script: more than one YAML document")
	}
	if _, err := compile(s); err != nil {
		return nil, fault.New(fault.Invalid, position(data, err)+err.Error())
	}
	return s, nil
}

// position returns "line N: " for an error of a turn, or "".
func position(data []byte, err error) string {
	var te *turnError
	if !errors.As(err, &te) {
		return ""
	}
	expr := fmt.Sprintf("$.turns[%d]", te.index)
	if te.index < 0 {
		expr = "$.default"
	}
	path, perr := yaml.PathString(expr)
	if perr != nil {
		return ""
	}
	file, perr := parser.ParseBytes(data, 0)
	if perr != nil {
		return ""
	}
	node, perr := path.FilterFile(file)
	if perr != nil || node.GetToken() == nil {
		return ""
	}
	return fmt.Sprintf("line %d: ", node.GetToken().Position.Line)
}
