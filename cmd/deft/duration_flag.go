package main

import (
	"reflect"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"github.com/deft-dev/deft/fault"
)

// durationFlag reads the times of flags.
type durationFlag struct{}

// Decode implements [kong.Mapper].
func (durationFlag) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("time", &text); err != nil {
		return err
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return fault.New(fault.Invalid, strconv.Quote(text)+" is no time").Hint("write a number and its unit, for example 30s, 10m or 2h")
	}
	target.SetInt(int64(d))
	return nil
}
