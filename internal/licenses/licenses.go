// Package licenses has the licences of Deft and of everything that is linked into
// it, for `deft licenses` and for the file LICENSES of release archives.
//
// LICENSES.txt is written by the program in generate (`go generate
// ./internal/licenses`); `make generated` checks that it is up to date. Text is a
// constant: it is safe for concurrent use and cannot fail.
package licenses

import _ "embed"

// Text has the licences: Deft's own, then the licences of the linked modules and
// of Go, each with the modules that it applies to.
//
//go:generate go run ./generate -o LICENSES.txt
//go:embed LICENSES.txt
var Text string
