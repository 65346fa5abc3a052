// Package llmtest serves the protocols of LLM providers over HTTP from a
// script, to test clients, above all our own provider adapters, without an LLM.
//
// # Usage
//
// In a test, start a server and point the client at it:
//
//	script, err := llmtest.Load("testdata/script.yaml")
//	…
//	srv := llmtest.Start(t, script)
//	client := openai.NewClient(option.WithBaseURL(srv.URL+"/v1"), option.WithAPIKey("any"))
//	…
//	reqs := srv.Requests() // what the client sent, in neutral form
//
// A long-running command uses [New], [Server.Listen] and [Server.Serve]; a
// [Server] is also a plain [net/http.Handler].
//
// # Protocols
//
// The end of the path selects the protocol, so any prefix works:
//
//	POST …/chat/completions                        OpenAI Chat Completions
//	POST …/responses                               OpenAI Responses
//	POST …/messages, …/messages/count_tokens       Anthropic Messages
//	POST …/models/{model}:generateContent,
//	     :streamGenerateContent, :countTokens      Gemini
//	GET  …/models                                  the list of models
//
// # Scripts
//
// A script is YAML (unknown keys are errors) or a [Script] value. It does not
// depend on the client's protocol. Example, from testdata/example.yaml:
//
//	per_session: true
//	turns:
//	  - match: {user: failing test}
//	    reply:
//	      text: Let me run the tests.
//	      tool_calls:
//	        - {name: terminal, arguments: {command: go test ./...}}
//	  - fault: {kind: rate_limit, retry_after: 1s, times: 2}
//	    reply: {text: "You said {{.LastUser}}."}
//
// Turns are used from top to bottom: the first unused turn whose match fits
// answers. A turn answers once unless it has a repeat. A turn with a fault
// answers with the fault; with times: n, it answers with the fault n times and
// then with its reply.
//
// With by_history, the number of assistant messages in the request selects the
// turn, so that a client that was killed and repeats its request gets the same
// turn, even from a restarted server. Turns with a match are then outside the
// numbering and answer whenever they fit; use them for other requests, such as
// titles and summaries.
//
// # Checks
//
// Unless the script is lenient, the server refuses with status 400 the same
// requests as the providers: tool calls without exactly one result directly after,
// wrong roles and empty messages, roles that do not alternate (Anthropic), missing
// max_tokens, invalid tool names and schemas, reasoning that was changed or
// dropped. Signatures and encrypted reasoning depend only on the reasoning's text,
// so this also works across restarts. Fields unknown to the provider are not
// refused.
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. [Server.Serve] waits for the requests
// it is answering; a hang ends when the client or the server ends. A request
// without a turn in the script is answered with status 500 (with
// x-should-retry: false, which the SDKs respect) or 400, listed by
// [Server.Errors], and fails the test at its end. Memory is limited by
// [Options] and by one small record per session, with at most 1,048,576
// sessions.
package llmtest
