package main

import (
	"fmt"
	"reflect"

	"github.com/alecthomas/kong"

	"github.com/deft-dev/deft/sandbox"
)

// networkFlag parses --net, whose value is optional: without one the network is
// open. The next argument is never taken for the value.
type networkFlag struct{}

// Decode implements [kong.Mapper].
func (networkFlag) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	text := string(sandbox.NetworkOpen)
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		text = fmt.Sprint(ctx.Scan.Pop().Value)
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
