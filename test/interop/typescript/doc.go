// Package typescript calls the agent server through the TypeScript client that
// OpenHands publishes, unchanged: every method of it, against the built program
// and a scripted LLM over HTTP.
//
// # Usage
//
//	test/interop/install.sh && go test ./test/interop/typescript
//
// The cases are in the .mjs files, grouped by topic; llm.yaml has the answers of
// the model.
//
// cloud.mjs calls `deft serve` as OpenHands' cloud.
//
// # Concurrency and failure
//
// Groups run side by side against one server, the cases of a group one after
// the other. A method of the client that no case calls is a failure.
package typescript
