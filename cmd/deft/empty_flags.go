package main

import (
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/deft-dev/deft/fault"
)

// ofPrograms are the commands that programs start.
var ofPrograms = []string{"action-server", "agent-server", "sandbox-server"}

// checkValues refuses a flag that is given with nothing as its value, as --image "$IMAGE" is without the variable:
// it would be taken for a flag that is left out. A flag that can be cleared is a pointer. Programs that start a
// server, OpenHands' among them, may pass on values that they have not.
func checkValues(k *kong.Context) error {
	if slices.Contains(ofPrograms, strings.Fields(k.Command())[0]) {
		return nil
	}
	flags := map[string]*kong.Flag{}
	for _, f := range k.Flags() {
		flags["--"+f.Name] = f
		if f.Short != 0 {
			flags["-"+string(f.Short)] = f
		}
	}
	for i, arg := range k.Args {
		if arg == "--" {
			break
		}
		name, ok := strings.CutSuffix(arg, "=")
		if arg == "" && i > 0 {
			name, ok = k.Args[i-1], true
		}
		f := flags[name]
		if !ok || f == nil || arg == "" && f.IsBool() || f.Target.Kind() == reflect.Pointer {
			continue
		}
		return fault.New(fault.Invalid, name+" has no value").Hint("give it " + f.FormatPlaceHolder() + ", or leave it out")
	}
	return nil
}
