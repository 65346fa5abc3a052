package store

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// A page id names the first row of a page by its time and its id. Any other text
// names the first page.

func pageAt(t time.Time, id string) string { return strconv.FormatInt(micro(t), 10) + "_" + id }

func parsePage(page string) (before int64, id string) {
	number, id, ok := strings.Cut(page, "_")
	before, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil {
		return math.MaxInt64, ""
	}
	return before, id
}
