package standard

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/ipython"
)

// unreachable has the messages of programs that find no network: a name cannot be
// resolved, or there is no way to an address.
var unreachable = []string{
	"Could not resolve host", "Could not resolve hostname", "Temporary failure in name resolution", "Temporary failure resolving",
	"Name or service not known", "unable to resolve host", "failed to lookup address", "dial tcp: lookup", "no such host",
	"EAI_AGAIN", "ENOTFOUND", "ENETUNREACH", "UnknownHostException", "etwork is unreachable", "Address family not supported by protocol",
}

// hintRange is how much of the end of an output is searched, in bytes.
const hintRange = 4096

// refusedWait is how long the sandbox's proxy is waited for.
const refusedWait = 2 * time.Second

// maxRefused is how many refused hosts a hint names.
const maxRefused = 5

// networkHint says, after the output of a command that failed, that the sandbox's
// network may be why, and which flag changes that. It is for one caller at a time.
type networkHint struct {
	network sandbox.Network
	since   time.Time // when the last command ended
	// refused returns which hosts the sandbox's proxy has refused; nil without one.
	refused func(ctx context.Context, within time.Duration) ([]string, error)
}

// cells runs the cells of a notebook, and says so of their programs.
type cells struct {
	tool.Executor
	hint networkHint
}

// Unwrap returns the executor whose results are explained.
func (c cells) Unwrap() tool.Executor { return c.Executor }

// Execute implements [tool.Executor]. A program that a cell starts, such as pip, may fail without an error of
// the cell, so its lines count as failed where the proxy has refused a host.
func (c cells) Execute(ctx context.Context, call tool.Call) (event.Observation, error) {
	hint := c.hint // cells of several agents run at once
	hint.since = time.Now()
	obs, err := c.Executor.Execute(ctx, call)
	if err != nil {
		return obs, err
	}
	status, result := 0, obs.Result()
	if a, ok := call.Action.(*ipython.Action); ok && (result.IsError || programLine().MatchString(a.Code)) {
		status = 1
	}
	if note := hint.explain(event.JoinText(result.Content), status); note != "" {
		result.Content = append(result.Content, event.Text("["+note+"]"))
	}
	return obs, nil
}

// programLine is a line of a cell that starts a program.
var programLine = lazyregexp.New(`(?m)^\s*[!%]`)

// explain returns "" if it does not look like it.
func (h *networkHint) explain(output string, status int) string {
	since := h.since
	h.since = time.Now()
	if status == 0 {
		return ""
	}
	if refused := h.refusedHosts(since, output); refused != "" {
		return refused
	}
	output = output[max(0, len(output)-hintRange):]
	has := func(texts []string) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(output, t) })
	}
	switch {
	case strings.Contains(output, "deft: ") && strings.Contains(output, "--net="): // the proxy has said it
		return ""
	case h.network.None() && has(unreachable):
		return "This sandbox has no network. The user can allow it: deft's flag --net=HOST,… for some hosts, --net for all public ones."
	case !h.network.None() && has(unreachable):
		return "Programs in this sandbox reach the network through the proxy in HTTPS_PROXY only; names are resolved there."
	}
	return ""
}

// refusedHosts names the hosts that the proxy has refused while a command ran: most
// programs do not show the proxy's own words. Hosts that the output has already are left
// out.
func (h *networkHint) refusedHosts(since time.Time, output string) string {
	if h.refused == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), refusedWait)
	defer cancel()
	asked := time.Now()
	hosts, err := h.refused(ctx, asked.Sub(since))
	if err == nil && len(hosts) == 0 { // the proxy counts from its answer: a slow one leaves out the first refusals
		hosts, err = h.refused(ctx, time.Since(since)+time.Since(asked))
	}
	if err != nil {
		return "" // without the proxy, the commands' own messages have to do
	}
	hosts = slices.DeleteFunc(hosts, func(text string) bool { return strings.Contains(output, text) })
	if len(hosts) == 0 {
		return ""
	}
	hosts = hosts[max(0, len(hosts)-maxRefused):]
	return "The sandbox's proxy refused what this command asked for: " + strings.Join(hosts, "; ") + ". Only the user can allow it, with that flag of deft's."
}
