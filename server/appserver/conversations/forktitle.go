package conversations

import (
	"strconv"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// numbered is a title with the number of a copy.
var numbered = lazyregexp.New(`^(.*) \((\d{1,4})\)$`)

// forkTitle names the fork of a conversation by its title and the next number, so that
// the two can be told apart in lists. A conversation without a title gets one later.
func forkTitle(title string) string {
	if strings.TrimSpace(title) == "" {
		return title
	}
	number := 2
	if parts := numbered().FindStringSubmatch(title); parts != nil {
		if n, err := strconv.Atoi(parts[2]); err == nil {
			title, number = parts[1], n+1
		}
	}
	return title + " (" + strconv.Itoa(number) + ")"
}
