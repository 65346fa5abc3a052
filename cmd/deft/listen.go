package main

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/deft-dev/deft/fault"
)

// cannotListen says why an address cannot be listened on. flag chooses another.
func cannotListen(address, flag string, err error) error {
	what, kind := "cannot listen on "+address, fault.Invalid
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fault.New(fault.Conflict, "the address "+address+" is in use by another program").Hint("stop that program, or choose another address with " + flag)
	case errors.Is(err, fs.ErrPermission):
		kind = fault.Denied
	}
	return fault.New(kind, what).Because(err).Hint("choose another address with " + flag)
}
