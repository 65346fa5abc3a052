package actionserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/runtime/runtimetest"
	"github.com/deft-dev/deft/tool"
)

// Environment of a re-executed test binary.
const (
	childRole  = "DEFT_TEST_ROLE"   // server or client
	childFile  = "DEFT_TEST_FILE"   // server: where the tool writes; client: its log
	childSock  = "DEFT_TEST_SOCKET" // client: the server's
	childGrace = "DEFT_TEST_GRACE"  // server: a duration
	// childSignals is "ignore" for a server that no signal ends.
	childSignals = "DEFT_TEST_SIGNALS"
)

// actions is how many actions a crash test asks for.
const actions = 30

// childMain is main of a re-executed test binary.
func childMain() {
	run := map[string]func() error{"server": serverMain, "client": clientMain}[os.Getenv(childRole)]
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serverMain serves a tool whose effect is a line in a file.
func serverMain() error {
	l, journal, err := actionserver.Inherited()
	if err != nil {
		return err
	}
	grace, err := time.ParseDuration(os.Getenv(childGrace))
	if err != nil {
		return err
	}
	return actionserver.Serve(context.Background(), actionserver.Options{
		Listener: l, Journal: journal, Grace: grace, OwnProcess: true, IgnoreSignals: os.Getenv(childSignals) == "ignore",
		Tools: map[string]tool.Executor{runtimetest.Kind: appender(os.Getenv(childFile))},
	})
}

// appender returns a tool that appends its action's text as a line, with some
// time before and after in which it may be killed.
func appender(path string) runtimetest.Func {
	return func(_ context.Context, c tool.Call) (event.Observation, error) {
		text := c.Action.(*event.ThinkAction).Thought
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, err
		}
		c.Progress(tool.Chunk{Text: "writing\n"})
		_, err = f.WriteString(text + "\n")
		return runtimetest.Observation(text), errors.Join(err, f.Sync(), f.Close())
	}
}

// clientMain is a controller: it logs each request before it sends it, and its
// answer. Killed and started anew it goes on where its log ends.
func clientMain() error {
	log, err := os.OpenFile(os.Getenv(childFile), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	asked, got := map[string]bool{}, map[string]bool{}
	for in := bufio.NewScanner(log); in.Scan(); {
		if verb, id, _ := strings.Cut(in.Text(), " "); verb == "ask" {
			asked[id] = true
		} else {
			got[id] = true
		}
	}
	rt, err := remote.New(remote.Options{Dial: dialer(os.Getenv(childSock))})
	if err != nil {
		return err
	}
	if _, err := fmt.Println("up"); err != nil {
		return err
	}
	for i := range actions {
		id := fmt.Sprint("action", i)
		if got[id] {
			continue
		}
		if _, err := fmt.Fprintln(log, "ask", id); err != nil {
			return err
		}
		verb := "got"
		_, err := rt.Execute(context.Background(), tool.Request{
			Call:  tool.Call{ID: event.ID(id), Action: runtimetest.Action(id)},
			Again: asked[id],
		})
		if fault.Is(err, fault.Interrupted) {
			verb = "interrupted"
		} else if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(log, verb, id); err != nil {
			return err
		}
		rt.Ack(event.ID(id))
	}
	return rt.Close()
}
