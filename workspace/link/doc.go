// Package link reaches a workspace through the connection to the Action Execution
// Server of its sandbox: a [Client] is the workspace.Files of a controller, and a
// [Handler] serves the files of the sandbox's own disk. Git runs inside the
// sandbox.
//
//	POST /v1/files/query    a question → its answer, or an error
//	GET  /v1/files/content  ?path= → a file, or ranges of it; Deft-File describes it
//	PUT  /v1/files/content  ?path= → replaces a file by the body
//	POST /v1/files/archive  an archive → its bytes, then a trailer: what it is, or an error
//
// Paths are bytes, not text: Linux allows any. In JSON they are base64.
//
// # Security
//
// The two sides do not trust each other. The server refuses paths that lead out of
// its workspace, as workspace.Local does. The client bounds answers and waiting
// times, whatever the server sends. The connection is the one of actions, with the
// same authentication.
//
// # Concurrency and failure
//
// Both are safe for concurrent use; a file that is open is not. An answer that ends
// early is io.ErrUnexpectedEOF, one that is malformed is fault.Corrupt, and a server
// that sends nothing for too long is fault.Timeout.
package link
