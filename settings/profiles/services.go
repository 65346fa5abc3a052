package profiles

import (
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// The services to which profiles can be assigned.
const (
	AgentService     = "agent"
	CondenserService = "condenser"
)

var serviceNames = []string{AgentService, CondenserService, "drafts", "security", "titles"}

// CheckService returns an error of kind Invalid for an unknown service: an
// assignment to a misspelled name would have no effect.
func CheckService(name string) error {
	if slices.Contains(serviceNames, name) {
		return nil
	}
	return fault.New(fault.Invalid, "there is no service "+name).Hint("the services are: " + strings.Join(serviceNames, ", "))
}
