// Package files serves files: upload, download, directories, archives,
// trajectories, and a conversation's workspace as web pages.
//
// # Usage
//
//	s := files.New(files.Options{WorkspaceOf: …, Trajectory: …})
//	routes := append(s.Routes(), s.ScopedRoutes(of)...)
//
// # Concurrency
//
// A [Service] is safe for concurrent use. Contents are streamed in both
// directions; the memory for a file does not depend on its size. An upload appears
// under its name when it is complete.
//
// # Security
//
// The global routes reach every file that the server can read, as the reference's
// do; their clients may run commands as well. Under a conversation, paths must be
// in its workspace. Pages of a workspace are hostile: links do not lead out of it,
// and a policy makes browsers give them an origin of their own.
//
// # Failure
//
// Bad paths are answered with 400, 403, 404 or 422
// (docs/openhands/sdk-wire-1.58.md section B.8). A connection that breaks while
// a file is sent is closed, so that the client sees it.
package files
