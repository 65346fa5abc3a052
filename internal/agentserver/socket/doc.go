// Package socket serves the Agent Server's WebSockets: the events of a
// conversation, the resumable session, and the events of the shell.
//
// # Usage
//
//	s := socket.New(socket.Options{Find: conversations.Find, Keys: keys})
//	defer s.Close()
//	routes := s.Routes() // for rest.New
//
// /sockets/events/{id} sends the full state first, then the history that was
// asked for, then what is appended. /sockets/session/{id} sends the same as
// envelopes with a place to resume from, and the pieces of answers in the
// making. /sockets/bash-events sends what the shell does. See
// docs/openhands/sdk-wire.md section 9 and docs/openhands/sdk-wire-1.58.md
// section C.1.
//
// # Order
//
// A client sees each stored event once and in order, whenever it joins: it is
// a cursor on the stream. What is published without being stored (see
// [Transient]) comes behind all events that it names as stored before it.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. A conversation that
// is followed has one reader of its stream, which keeps the newest records for
// all its followers; a follower is a position, two small goroutines and no
// queue. Who falls behind what is kept reads on from the store.
//
// # Failure
//
// A client that takes nothing for Options.WriteTimeout is cut off; it delays
// nobody and holds at most 32 KB meanwhile. Frames that are not understood are
// answered with an error on the socket, which stays open. Close codes are the
// reference's: 4001 for a wrong key, 4004 for an unknown conversation
// or one of another server, 1013 for too many followers or for one that has to
// resume, 1001 when the server stops.
package socket
