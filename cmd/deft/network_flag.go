package main

import (
	"fmt"
	"os"
	"reflect"

	"github.com/alecthomas/kong"

	"github.com/deft-dev/deft/internal/registryhosts"
	"github.com/deft-dev/deft/sandbox"
)

// networkFlag parses --net, whose value is optional: without one the network is
// open, and in which names of ecosystems stand for the hosts of their registries. The next argument is never taken for the value.
type networkFlag struct{}

// Decode implements [kong.Mapper].
func (networkFlag) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	text := string(sandbox.NetworkOpen)
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		text = fmt.Sprint(ctx.Scan.Pop().Value)
	}
	text, err := registryhosts.Expand(text, registryhosts.Source{Env: os.Getenv})
	if err != nil {
		return err
	}
	n, err := sandbox.ParseNetwork(text)
	if err != nil {
		return err
	}
	target.SetString(string(n))
	return nil
}

// IsBool implements [kong.BoolMapper].
func (networkFlag) IsBool() bool { return true }
