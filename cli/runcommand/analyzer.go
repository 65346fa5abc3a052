package runcommand

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/security"
)

// ReadAnalyzer reads the security analyzer of a file, for a preset that asks by its ratings; nil
// for no file. Errors are of kind Invalid.
func ReadAnalyzer(file string, preset security.Preset) (json.RawMessage, error) {
	if file == "" {
		return nil, nil
	}
	if preset == "" || preset == security.Never {
		return nil, fault.New(fault.Invalid, "--analyzer needs --confirm risky or always, which ask by its ratings")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the file of the security analyzer cannot be read").Because(err).Hint("check --analyzer")
	}
	raw, err := readConfig(f)
	if err != nil {
		return nil, inFile(err, "the security analyzer of "+file, "--analyzer")
	}
	a, err := security.ParseAnalyzer(raw)
	switch {
	case err != nil:
		return nil, inFile(err, "the security analyzer of "+file, "--analyzer")
	case a == nil:
		return nil, inFile(errors.New("there is none"), "the security analyzer of "+file, "--analyzer")
	}
	return raw, nil
}
