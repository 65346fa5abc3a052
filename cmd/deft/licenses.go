package main

import (
	"io"

	"github.com/deft-dev/deft/internal/licenses"
)

// licensesCmd prints the licences of the linked modules.
type licensesCmd struct{}

// Run prints them.
func (c *licensesCmd) Run(std *streams) error {
	_, err := io.WriteString(std.Out, licenses.Text)
	return err
}
