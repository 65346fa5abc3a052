package sandbox

import (
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
	if n*unit < 1024 {
		return fault.New(fault.Invalid, "not a size: "+string(text)+" is a number of bytes").Hint("name a unit, for example " + strings.TrimSpace(string(text)) + "M or " + strings.TrimSpace(string(text)) + "G")
	}
	*s = Size(n * unit)
	return nil
}
