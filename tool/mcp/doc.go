// Package mcp offers the tools of MCP servers (Model Context Protocol) to the
// agent: it starts or reaches the servers of a conversation's mcp_config, turns
// their listed tools into definitions, and calls them.
//
// # Usage
//
//	servers, err := mcp.ParseServers(raw) // the wire's mcp_config
//	set, warnings := mcp.Connect(ctx, servers, mcp.Options{Programs: starter, Log: log})
//	defer set.Close()
//	defs := set.Definitions()        // beside the built-in tools
//	tools["MCPToolAction"] = set.Executor()
//
// An MCPToolAction does not say which tool it is for; tool.Call does.
//
// # Trust
//
// A server's names, descriptions, schemas and results are untrusted. Names are
// converted to the characters that providers accept, and a name of a built-in
// tool is refused. Hidden characters and terminal escapes are removed from
// descriptions and results, and everything has a limit. A server's claim that a
// tool is read-only is shown, and not relied on. A server over stdio is a program
// that [Options].Programs starts: in the sandbox of the conversation, where there is
// one. Requests go to the configured origin of a remote server and to no other.
//
// # Concurrency
//
// A [Set] is safe for concurrent use. Close ends its goroutines and processes
// and waits for them. Sets with one [Pool] share sessions at remote servers.
//
// # Failure
//
// A server that cannot be used is a [Warning]; the others are used. The next call
// reopens a session that has ended. A call whose connection broke is not
// repeated, because its effect is unknown; its observation says so.
package mcp
