// Package socket serves the Agent Server's WebSockets: the events of a
// conversation, the resumable session, and the events of shell commands.
//
// # Usage
//
//	s := socket.New(socket.Options{Find: conversations.Find, Keys: keys})
//	defer s.Close()
//	routes := s.Routes() // for rest.New
//
// /sockets/events/{id} sends the full state, then the requested history, then new
// events. /sockets/session/{id} sends the same in envelopes with a sequence number to
// resume from, and answers while they stream. /sockets/bash-events sends the events of
// shell commands. /sockets/terminal/{id} is a pseudo terminal in the conversation's
// sandbox, and /sockets/output/{id} sends the output of running actions as it comes;
// only Deft has these two. See docs/openhands/sdk-wire.md section 9 and
// docs/openhands/sdk-wire-1.58.md section C.1.
//
// # Order
//
// A client gets each stored event once and in order, whenever it joins: it is a
// cursor on the stream. Records that are published without being stored (see
// [Transient]) follow the events that were stored before them.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. A followed conversation
// has one reader of its stream, which keeps the newest records for all followers;
// a follower is a position and two goroutines, without a queue. One that lags
// further behind reads from the store.
//
// # Failure
//
// A client that reads nothing for Options.WriteTimeout is disconnected; it delays
// no other and takes at most 32 KB meanwhile, or 128 KB for each running action whose
// output it follows: of that a slow client misses the oldest, and is told so. Invalid frames are answered with an
// error on the socket, which stays open. Close codes are the
// reference's: 4001 for a wrong key, 4004 for an unknown conversation
// or one of another server, 1013 for too many followers or for one that has to
// resume, 1001 when the server stops.
package socket
