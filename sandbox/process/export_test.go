package process

import (
	"strings"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/internal/socketpath"
	"github.com/deft-dev/deft/sandbox/process/internal/inside"
)

// For tests of single parts.
var (
	ParseStat       = func(b []byte) error { _, err := parseStat(b); return err }
	AllowedChildren = inside.AllowedChildren
	SplitHome       = splitHome
	Connect         = socketpath.Dial
	Trim            = (*Provider).trim
	MountedBeneath  = mountedBeneath
	ProxyChecks     = func(service string) (all []sandbox.Attempt) {
		for _, a := range modeAttempts(sandbox.NetworkOpen) {
			if strings.HasSuffix(a.tried, " through the proxy") { // the others would send something
				all = append(all, a.check(targets{TCP: service}))
			}
		}
		return all
	}
)

// Bounds of caches.
const (
	MaxCacheBytes = maxCacheBytes
	MaxCacheAge   = maxCacheAge
)
