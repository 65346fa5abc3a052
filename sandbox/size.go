package sandbox

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Size is a number of bytes as users write it: 500M, 8G, or "none" for no limit (-1).
type Size int64

// UnmarshalText implements [encoding.TextUnmarshaler]. K, M, G and T are powers of
// 1024. Errors are of kind fault.Invalid.
func (s *Size) UnmarshalText(text []byte) error {
	t := strings.ToUpper(strings.TrimSpace(string(text)))
	if t == "NONE" {
		*s = -1
		return nil
	}
	digits := strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(t, "B"), "I"), "KMGT")
	unit := float64(1)
	if suffix := strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(t, "B"), "I"), digits); len(suffix) == 1 {
		unit = math.Pow(1024, float64(strings.Index("KMGT", suffix)+1))
	} else if suffix != "" {
		digits = ""
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(n*unit >= 1) || n*unit > 1<<60 {
		return fault.New(fault.Invalid, "not a size: "+string(text)).Hint("for example 500M or 8G")
	}
	*s = Size(n * unit)
	return nil
}

// leastLimit is the smallest limit that a sandbox could start with, in bytes.
const leastLimit = 1 << 20

// CheckLimit refuses a limit of a sandbox that is too small for any, mostly a number without its
// unit. flag names it. The error is of kind fault.Invalid.
func (s Size) CheckLimit(flag string) error {
	if s <= 0 || s >= leastLimit {
		return nil
	}
	return fault.New(fault.Invalid, fmt.Sprintf("%s: %d bytes are too little for a sandbox", flag, s)).Hint("name a unit, for example 500M or 8G")
}
