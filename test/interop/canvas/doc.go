// Package canvas drives the agent server, and `deft serve`, from the web page that OpenHands
// publishes, unchanged, in a real browser, against a scripted LLM over HTTP.
//
// # Usage
//
//	test/interop/install.sh && go test ./test/interop/canvas
//
// The cases are in the .mjs files, in the order in which a user would see the
// pages; llm.yaml has the answers of the model. DEFT_SHOTS names a directory for a
// screenshot of each case.
//
// # Concurrency and failure
//
// One browser runs all cases. A response with status 400 or above or an exception
// in the page fails the case.
package canvas
