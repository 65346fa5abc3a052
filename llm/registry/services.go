package registry

import (
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// serviceNames are the services that profiles can be assigned to.
var serviceNames = []string{Agent, Condenser, Drafts, Security, Titles}

// CheckService returns an error of kind Invalid for an unknown service: an
// assignment to a misspelled name would have no effect.
func CheckService(name string) error {
	if slices.Contains(serviceNames, name) {
		return nil
	}
	return fault.New(fault.Invalid, "there is no service "+name).Hint("the services are: " + strings.Join(serviceNames, ", "))
}
