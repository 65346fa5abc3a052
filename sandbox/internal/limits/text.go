package limits

import "strconv"

// Text is a number of bytes for people: "512 MiB", "18.0 GiB".
func Text(bytes int64) string {
	if bytes < 1<<30 {
		return strconv.FormatFloat(float64(bytes)/(1<<20), 'f', 0, 64) + " MiB"
	}
	return strconv.FormatFloat(float64(bytes)/(1<<30), 'f', 1, 64) + " GiB"
}
