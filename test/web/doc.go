// Package web drives the web app in Chromium, served by the built binary, with a
// scripted LLM over HTTP.
//
// # Usage
//
//	go test ./test/web
//	go test ./test/web -args -grep 'terminal'
//	DEFT_BIN=$PWD/bin/deft DEFT_SHOTS=/tmp/shots go test ./test/web
//
// The cases are in web/e2e, written for Playwright, which web/scripts/install.sh
// installs. A binary that this test builds contains web/dist, which `make web` builds.
// DEFT_SHOTS names a directory for screenshots of the main states.
//
// # Concurrency and failure
//
// Each case that begins is a subtest, which ends with it (web/e2e/reporter.ts): a case that fails is
// told at once, and one that hangs is named by the runner of `make system`.
//
// As many cases run at a time as there are processors, each with an account and a browser
// context of its own, on the server of its worker. Cases that restart the server, or look at
// its directory, have one of their own (alone). A case fails if the page asks another host
// for anything, breaks its policy or throws, or if the server panics or reports an error.
// Without Chromium or Playwright the test is skipped, or fails if CI=true; so are the cases
// with containers where DEFT_TEST_DOCKER names no engine.
package web
