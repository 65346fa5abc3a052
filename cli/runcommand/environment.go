package runcommand

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/joho/godotenv"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/internal/textfile"
)

// VariableName matches names of environment variables.
var VariableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// maxEnvFile bounds a file with variables, in bytes.
const maxEnvFile = 256 << 10

// leastMasked is the length, in bytes, from which values of a file are masked.
// Shorter ones (a port, a switch) are in too much innocent text.
const leastMasked = 6

// Environment are the variables that a user gives to commands.
type Environment struct {
	Plain   []string                   // NAME=VALUE
	Secrets map[string]json.RawMessage // sources of masked values, by name
}

// ReadEnvironment returns the variables of given and files. An element of given is
// NAME=VALUE, or the name of a variable whose value env returns. Values of files
// are masked as secrets, unless plain says otherwise or they are shorter than six
// bytes, numbers or truth values. The error is of kind Invalid.
func ReadEnvironment(given, files []string, plain bool, env func(string) string) (Environment, error) {
	out := Environment{Secrets: map[string]json.RawMessage{}}
	for _, path := range files {
		values, err := readEnvFile(path)
		if err != nil {
			return out, err
		}
		for name, value := range values {
			if plain || !worthMasking(value) {
				out.Plain = append(out.Plain, name+"="+value)
				continue
			}
			if out.Secrets[name], err = StaticSecret(value); err != nil {
				return out, err
			}
		}
	}
	for _, kv := range given {
		name, value, ok := strings.Cut(kv, "=")
		if !VariableName().MatchString(name) {
			return out, fault.New(fault.Invalid, "--env takes NAME or NAME=VALUE").Hint("for example --env CI=true")
		}
		if !ok {
			if value = env(name); value == "" {
				return out, fault.New(fault.Invalid, "the environment variable "+name+" is empty").Hint("set it, or give --env " + name + "=VALUE")
			}
		}
		if strings.ContainsRune(value, 0) {
			return out, fault.New(fault.Invalid, "the value of "+name+" has a zero byte").Hint("check --env")
		}
		delete(out.Secrets, name)
		out.Plain = append(out.Plain, name+"="+value)
	}
	return out, nil
}

// StaticSecret returns the source of a secret with a value.
func StaticSecret(value string) (json.RawMessage, error) {
	return json.Marshal(map[string]string{"kind": "StaticSecret", "value": value})
}

// worthMasking reports whether a value may be a secret.
func worthMasking(value string) bool {
	if len(value) < leastMasked {
		return false
	}
	_, err := strconv.ParseFloat(value, 64)
	return err != nil
}

func readEnvFile(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the file with variables cannot be read").Because(err).Hint("check --env-file")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxEnvFile+1))
	if err != nil {
		return nil, fault.New(fault.Invalid, "the file with variables cannot be read").Because(err).Hint("check --env-file")
	}
	if len(b) > maxEnvFile {
		return nil, fault.New(fault.Invalid, fmt.Sprintf("%s is larger than %d KiB", path, maxEnvFile>>10)).Hint("check --env-file")
	}
	values, err := godotenv.UnmarshalBytes(textfile.Decode(b))
	if err != nil { // its text has lines of the file
		return nil, fault.New(fault.Invalid, path+" is not a file of NAME=VALUE lines").Hint("check --env-file")
	}
	for name, value := range values {
		if !VariableName().MatchString(name) || strings.ContainsRune(value, 0) {
			return nil, fault.New(fault.Invalid, path+" has a name or a value that no variable can have").Hint("check --env-file")
		}
	}
	return values, nil
}
