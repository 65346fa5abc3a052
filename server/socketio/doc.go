// Package socketio serves Socket.IO (protocol 5) over Engine.IO (protocol 4), as the
// clients socket.io-client 3 and 4 speak it, by the transport websocket only: events
// with JSON in the default namespace, with acknowledgements for the client's.
//
// # Usage
//
//	h := socketio.New(socketio.Options{Connect: func(r *http.Request) (socketio.Session, error) { … }})
//	mux.Handle("/socket.io/", h)
//	…
//	h.Close()
//
// # Order and memory
//
// A [Session] sends by blocking: there is no queue. A client that reads slowly delays
// its own session only, and one that reads nothing for Options.WriteTimeout is
// disconnected. So a session that follows a stream is a position in it, whatever its
// client does.
//
// # Concurrency and failure
//
// A Handler is safe for concurrent use. The methods of one Session are called from two
// goroutines: Run from one and Event from another. A refused connection is told to the
// client as connect_error, with [Refused.Data]; a client that breaks the protocol is
// disconnected.
//
// There are modules for this protocol. They queue what a slow client does not read
// without a bound, and bring servers for polling, QUIC and brokers of their own.
package socketio
