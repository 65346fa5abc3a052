package bitbucket

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
)

// maxPage is the longest page of all lists; pull requests have it.
const maxPage = 50

// position is the place of a page in a list. Most lists number their pages; others, such as
// a directory, give the address of the next one
// (https://developer.atlassian.com/cloud/bitbucket/rest/intro/#pagination).
type position struct {
	number, size int
	cursor       url.Values // instead of a number, from the previous page
}

// cursorParameters are the parameters that are taken from Bitbucket's address of the next
// page. The others are ours.
var cursorParameters = []string{"page", "after", "ctx"}

// beforeCursor is the beginning of a token of a page with a cursor, before its
// size.
const beforeCursor = "next."

// maxCursor bounds a token.
const maxCursor = 1024

func positionOf(p forge.Page) (position, error) {
	text, ok := strings.CutPrefix(p.Token, beforeCursor)
	if !ok {
		n, size, err := p.Number()
		return position{number: n, size: min(size, maxPage)}, err
	}
	left, right, _ := strings.Cut(text, ".")
	size, err := strconv.Atoi(left)
	q, bad := url.ParseQuery(right)
	if err != nil || bad != nil || size < 1 || size > maxPage || len(text) > maxCursor {
		return position{}, fault.New(fault.Invalid, "the page does not exist")
	}
	return position{size: size, cursor: some(q)}, nil
}

// some are the parameters of a cursor among others.
func some(q url.Values) url.Values {
	out := url.Values{}
	for _, name := range cursorParameters {
		if v := q.Get(name); v != "" {
			out.Set(name, v)
		}
	}
	return out
}

// next returns the token of the page that Bitbucket's address names. The address itself is
// not used: the token of the account goes to no place that an answer names.
func (at position) next(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fault.New(fault.Unavailable, "Bitbucket has sent the address of a next page that cannot be read")
	}
	cursor := some(u.Query())
	if len(cursor) == 1 && at.number > 0 && cursor.Get("page") == strconv.Itoa(at.number+1) {
		return forge.PageToken(at.number+1, at.size), nil
	}
	token := beforeCursor + strconv.Itoa(at.size) + "." + cursor.Encode()
	if len(cursor) == 0 || len(token) > maxCursor {
		return "", fault.New(fault.Unavailable, "Bitbucket has sent the address of a next page that cannot be read")
	}
	return token, nil
}
