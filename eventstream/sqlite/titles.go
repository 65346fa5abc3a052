package sqlite

import (
	"strings"
	"unicode/utf8"
)

// The table titles finds the conversations whose title contains a text. It does so without
// regard to the case of all letters. Damage below SQLite may make it wrong: so the title
// of each found conversation is compared as well.

// trigram is how many characters a text must have to be looked up in the table titles.
const trigram = 3

// frequent is in how many titles a text is not looked up: a page of those is found sooner by
// walking the conversations in their order.
const frequent = 2000

// inTitles is the condition on the rows of the table titles; its argument comes
// from [rareTitle].
const inTitles = " AND key IN (SELECT rowid FROM titles WHERE titles MATCH ?)"

// indexed reports whether the table titles can find a text.
func indexed(text string) bool {
	return utf8.RuneCountInString(text) >= trigram && utf8.ValidString(text) && !strings.Contains(text, "\x00")
}

// rareTitle returns the text to look for in the table titles, "" if that is of no use: the
// text is in many titles, or in none that the table could find.
func rareTitle(db *conn, text string) (match string, err error) {
	if !indexed(text) {
		return "", nil
	}
	match = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	n, _, err := db.number("SELECT count(*) FROM (SELECT 1 FROM titles WHERE titles MATCH ? LIMIT ?)", match, int64(frequent+1))
	if err != nil || n > frequent {
		return "", err
	}
	return match, nil
}
