// Package lazyregexp compiles regular expressions when they are first used. Regular
// expressions of package variables would otherwise be compiled at the start of every
// process, of which a sandbox has three, whether they are needed there or not.
//
// # Usage
//
//	var word = lazyregexp.New(`^\w+$`)
//
//	if word().MatchString(s) {
//
// # Concurrency and failure
//
// A Regexp of New is safe for concurrent use. It panics at the first use if the
// pattern is invalid: patterns are constants that a test uses.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles a pattern at its first call.
func New(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
