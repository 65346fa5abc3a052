package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// dropSuffix removes one suffix of a model name: a variant after a colon or an
// @, a date, or a channel. It returns the name itself if there is none.
func dropSuffix(n string) string {
	if i := strings.LastIndexAny(n, ":@"); i > 0 {
		return n[:i]
	}
	for _, s := range []string{"-latest", "-preview", "-v1"} {
		if rest, ok := strings.CutSuffix(n, s); ok && rest != "" {
			return rest
		}
	}
	if i := dateAt(n); i > 0 {
		return n[:i]
	}
	return n
}

// dateAt returns the start of a date of the form -2025-08-07, -20250807 or
// -0905 at the end of a name, or 0.
func dateAt(n string) int {
	for _, form := range []string{"-dddd-dd-dd", "-dddddddd", "-dddd"} {
		if len(n) <= len(form) {
			continue
		}
		at := len(n) - len(form)
		ok := true
		for i := range len(form) {
			c := n[at+i]
			ok = ok && (form[i] == 'd' && c >= '0' && c <= '9' || form[i] == c)
		}
		if ok {
			return at
		}
	}
	return 0
}

// Near returns up to three names similar to name, best first.
func (c *Catalog) Near(name string) []string {
	want := fold(name)
	if i := strings.LastIndexByte(want, '/'); i >= 0 {
		want = want[i+1:]
	}
	const longest = 80 // the distance is quadratic
	if len(want) > longest {
		want = want[:longest]
	}
	type scored struct {
		name string
		d    int
	}
	var found []scored
	for _, n := range c.names {
		d := levenshtein.ComputeDistance(want, fold(n))
		if d <= max(2, len(want)/3) {
			found = append(found, scored{n, d})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(a.d, b.d) })
	var out []string
	for _, f := range found[:min(3, len(found))] {
		out = append(out, f.name)
	}
	return out
}
