package config

import "strings"

// nearest returns the word that a mistyped one probably stands for, or "".
func nearest(typed string, words []string) string {
	best, limit := "", max(2, len(typed)/3)
	if len(typed) > 80 { // the distance takes quadratic time
		return ""
	}
	for _, w := range words {
		if d := distance(typed, strings.ToLower(w)); d <= limit {
			best, limit = w, d-1
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j]+1, row[j+1]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
