// Package canvas drives the agent server from the web page that OpenHands
// publishes, unchanged, in a real browser, against a scripted LLM over HTTP.
//
// # Usage
//
//	test/interop/install.sh && go test ./test/interop/canvas
//
// The cases are in the .mjs files, in the order in which a user would come by;
// llm.yaml is what the model answers. DEFT_SHOTS names a folder for a picture
// of each case.
//
// # Concurrency and failure
//
// One browser goes through all cases; what it meets on the way, an answer of
// 400 and above or an exception in the page, fails the case.
package canvas
