// Package bootstrap starts a sandbox before its work is known: its program waits
// on the sandbox's socket for an [Assignment], and then becomes the assigned
// program.
//
// # Usage
//
// Inside:
//
//	a, err := bootstrap.Wait(listener)
//	… apply a.Env, enter one of a.Dirs, say which in a.Dir, run a.Args, which serves
//	on a.Listener …
//	a.Fail(err) // only if it could not serve
//
// An assignment with a Port is a program of the sandbox's own instead: a.Run starts it, and
// passes connections on to that port.
//
// Outside:
//
//	err := bootstrap.Ping(ctx, s)            // it waits
//	ready, err := bootstrap.Assign(ctx, s, a) // it serves
//
// The program goes on in the same process, so that an assignment costs no start of
// one. Until then it has held nothing of anybody: one sandbox takes one assignment.
//
// # Concurrency and failure
//
// Assign and Ping are safe for concurrent use; of several assignments one is taken,
// and the others are a fault.Conflict. fault.Unavailable if the program does not
// answer, fault.Invalid if it could not do as assigned.
package bootstrap

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
)

// Assignment is the work of a waiting program.
type Assignment struct {
	// Args are the command line, without the program's name. With a Port they are one of
	// the sandbox's own programs.
	Args []string `json:"args"`
	// Port is the TCP port on which that program listens, inside; 0 if the program that
	// waits goes on itself, with Args.
	Port int `json:"port,omitempty"`
	// Env is added to the environment. It may hold secrets.
	Env []string `json:"env"`
	// Dirs are working directories in the order of preference: the first that is there,
	// or can be made, is taken. Empty for the current one.
	Dirs []string `json:"dirs,omitempty"`
}

// Ready is the answer of a program that serves.
type Ready struct {
	// Dir is its working directory.
	Dir string `json:"dir"`
}

// Dialer is a sandbox that can be connected to.
type Dialer interface {
	Dial(ctx context.Context) (net.Conn, error)
}

// maxMessage bounds a message, of which the environment is the largest part.
const maxMessage = 1 << 20

// answerTime is how long a client has for its message, which it sends at once.
const answerTime = 5 * time.Second

type request struct {
	Assign *Assignment `json:"assign,omitempty"` // nil to ask whether the program waits
}

type answer struct {
	Waiting bool       `json:"waiting,omitempty"`
	Ready   *Ready     `json:"ready,omitempty"`
	Error   string     `json:"error,omitempty"`
	Kind    fault.Kind `json:"kind,omitempty"`
}

// Assigned is an assignment that the program has taken.
type Assigned struct {
	Assignment
	// Dir is the directory that the program has taken, which the client is told.
	Dir string
	// Listener is the sandbox's. Its first Accept tells the client that the program
	// serves.
	Listener net.Listener
	// Serving is called once the client was told so; nil for nothing.
	Serving func()

	conn net.Conn
	once sync.Once
}

// Wait waits until a client has sent an assignment. It fails if the listener does.
func Wait(l net.Listener) (*Assigned, error) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil, err
		}
		if a := receive(conn); a != nil {
			a.Listener = &reporting{Listener: l, a: a}
			return a, nil
		}
	}
}

// receive answers one client, and returns its assignment if it has one.
func receive(conn net.Conn) *Assigned {
	_ = conn.SetDeadline(time.Now().Add(answerTime)) // sockets have deadlines
	var r request
	err := json.NewDecoder(io.LimitReader(conn, maxMessage)).Decode(&r)
	if err == nil && r.Assign != nil {
		_ = conn.SetDeadline(time.Time{})
		return &Assigned{Assignment: *r.Assign, conn: conn}
	}
	if err == nil {
		_ = json.NewEncoder(conn).Encode(answer{Waiting: true}) // the client sees that there is no answer
	}
	_ = conn.Close()
	return nil
}

// Fail tells the client why the program does not serve. It does nothing once the
// program has accepted a connection.
func (a *Assigned) Fail(err error) {
	a.reply(answer{Error: err.Error(), Kind: fault.KindOf(err)})
}

// reply sends the one answer, and reports whether this was it.
func (a *Assigned) reply(msg answer) (first bool) {
	a.once.Do(func() {
		first = true
		_ = a.conn.SetDeadline(time.Now().Add(answerTime))
		_ = json.NewEncoder(a.conn).Encode(msg) // a client that is gone asks again
		_ = a.conn.Close()
	})
	return first
}

// reporting reports the first Accept.
type reporting struct {
	net.Listener
	a *Assigned
}

func (l *reporting) Accept() (net.Conn, error) {
	if l.a.reply(answer{Ready: &Ready{Dir: l.a.Dir}}) && l.a.Serving != nil {
		l.a.Serving()
	}
	return l.Listener.Accept()
}

// Ping returns nil if the sandbox's program waits for an assignment.
func Ping(ctx context.Context, d Dialer) error {
	got, err := exchange(ctx, d, request{})
	if err == nil && !got.Waiting {
		err = fault.New(fault.Conflict, "the sandbox has its assignment already")
	}
	return err
}

// Assign gives the sandbox's program the assignment a, and waits until it serves.
func Assign(ctx context.Context, d Dialer, a Assignment) (Ready, error) {
	got, err := exchange(ctx, d, request{Assign: &a})
	switch {
	case err != nil:
		return Ready{}, err
	case got.Error != "":
		return Ready{}, fault.New(got.Kind, got.Error)
	case got.Ready == nil:
		return Ready{}, fault.New(fault.Conflict, "the sandbox has its assignment already")
	}
	return *got.Ready, nil
}

func exchange(ctx context.Context, d Dialer, r request) (answer, error) {
	conn, err := d.Dial(ctx)
	if err != nil {
		return answer{}, fault.Wrap(err, fault.Unavailable, "connect to the sandbox")
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	var got answer
	err = json.NewEncoder(conn).Encode(r)
	if err == nil {
		err = json.NewDecoder(bufio.NewReader(io.LimitReader(conn, maxMessage))).Decode(&got)
	}
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return got, nil
	case ctx.Err() != nil:
		return answer{}, fault.Wrap(context.Cause(ctx), fault.Timeout, "wait for the sandbox's program")
	case errors.As(err, &syntax): // the assigned program answers in its own protocol
		return answer{}, fault.New(fault.Conflict, "the sandbox has its assignment already")
	}
	return answer{}, fault.Wrap(err, fault.Unavailable, "the sandbox's program ended or does not answer")
}
