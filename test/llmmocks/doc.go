// Package llmmocks tests Deft's LLM adapters with third-party mock servers:
// they reveal misunderstandings of a protocol that our own test server and our
// adapters share.
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
// Each test starts its own server on a free port of the loopback interface and
// waits until it ends.
package llmmocks
