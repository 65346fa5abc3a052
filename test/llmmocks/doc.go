// Package llmmocks runs Deft's LLM adapters against mock servers that others
// wrote: where our own test server and our adapters share a misunderstanding of
// a protocol, these do not.
//
// # Usage
//
//	test/llmmocks/install.sh && go test ./test/llmmocks
//
// The servers are npm packages, pinned in package-lock.json and run by node.
// Without them the tests skip, and fail where CI is "true".
//
// # Concurrency and failure
//
// Each test starts a server of its own on a free port of the loopback
// interface and waits for its end.
package llmmocks
