// Package acpagent is the agent that is another program: Codex, Claude Code, Gemini CLI and all others
// that speak the Agent Client Protocol (https://agentclientprotocol.com). Deft is their client, as an
// editor would be.
//
// # Usage
//
//	a, err := acpagent.New(acpagent.Config{Fields: fields, Programs: starter, Run: run, Workspace: dir})
//	…
//	err = a.Close()
//
// One step is one turn of the program: a prompt with the new messages of the user, until the program
// ends its turn or asks for a permission. A permission is an action of the conversation, with the
// command or the edit that it is for, so the conversation's policy decides about it, and hooks see
// it. While it waits, the turn stays open; the next step answers by the events.
//
// # Trust
//
// The program starts in the conversation's sandbox and is confined by it. Files and terminals that it
// asks for are of the sandbox as well. All that it sends is a stranger's: bounded, and masked when it
// is stored. Only the sandbox limits its deeds without a question.
//
// # Concurrency
//
// An Agent serves one conversation. Step is called by one goroutine at a time, Close at any time.
//
// # Failure
//
// A program that is missing, prints something else, is silent for too long or ends is an error with
// its last words (*agent.Failure); the next step starts it again. It then resumes its session, or, if
// it cannot, is told the conversation so far, and the user is told so.
package acpagent
