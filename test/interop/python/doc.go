// Package python drives the agent server with the Python packages that
// OpenHands publishes, unchanged: openhands-sdk, openhands-tools and
// openhands-workspace, against the built program and the scripted LLM over
// HTTP. Of openhands-ai 0.62 there is the client that builds images, of 1.11.0 the
// App Server, whose sandboxes are runtimes of ours.
//
// # Usage
//
//	make deps && go test ./test/interop/python
//	go test ./test/interop/python -run 'TestClient/forks' -v
//	go test ./test/interop/python -run TestReference -reference -v -timeout 30m
//
// A scenario is a function in one of the scenarios_*.py files; each becomes a
// subtest. -reference runs them against the server that OpenHands publishes, to
// show that they expect no more than that server does; scenarios that do are
// marked. main.py runs them by hand.
//
// # Concurrency and failure
//
// Scenarios run side by side in one Python process, since importing the SDK
// takes seconds; each has an agent server, a scripted LLM and folders of its
// own. A scenario fails when the client gives up waiting for the end of a run
// to come over the WebSocket, which it does after 30 seconds. The folders of a
// run that failed are kept.
package python
