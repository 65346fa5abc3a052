package llm

import (
	"math"
	"strconv"
)

// Dollars shows an amount in US dollars: with four decimals, or with as many as
// its first two digits need, so that a small amount is not shown as nothing.
func Dollars(d float64) string {
	decimals := 4
	if a := math.Abs(d); a > 0 && a < 0.001 {
		decimals = min(1+int(math.Ceil(-math.Log10(a))), 12)
	}
	return "$" + strconv.FormatFloat(d, 'f', decimals, 64)
}
