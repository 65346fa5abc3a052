// Package conversation has the REST operations on conversations and their
// events, over the session layer: it reads requests, words errors as the
// reference does, and writes answers.
//
// # Usage
//
//	s := conversation.New(conversation.Options{Sessions: manager, Launcher: launcher})
//	routes := s.Routes()
//	c, made, err := s.Start(ctx, request) // for the gateway
//
// # Concurrency and failure
//
// A Service is safe for concurrent use. Errors are those that package rest
// answers with.
package conversation
