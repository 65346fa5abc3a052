package postgres

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/deft-dev/deft/fault"
)

// encodeText returns a string as the database can store it: schema.sql says how.
func encodeText(s string) string {
	if storable(s) && !strings.HasPrefix(s, `\`) {
		return s
	}
	return `\` + strconv.Quote(s)
}

// storable reports whether PostgreSQL can store a string as it is.
func storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// decodeText is the inverse of encodeText.
func decodeText(s string) (string, error) {
	quoted, ok := strings.CutPrefix(s, `\`)
	if !ok {
		return s, nil
	}
	plain, err := strconv.Unquote(quoted)
	if err != nil {
		return "", fault.Wrap(err, fault.Corrupt, "a stored text is not quoted as Deft does it")
	}
	return plain, nil
}

// decode decodes texts in place.
func decode(texts ...*string) (err error) {
	for _, t := range texts {
		if strings.HasPrefix(*t, `\`) && err == nil {
			*t, err = decodeText(*t)
		}
	}
	return err
}

// decodeBytes is decodeText for JSON; nil stays nil.
func decodeBytes(b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] != '\\' {
		return b, nil
	}
	s, err := decodeText(string(b))
	return []byte(s), err
}
