// Package mcplogins is `deft mcp login`, `deft mcp logout` and `deft mcp logins`: the user's logins
// at remote MCP servers, which conversations of deft run and deft serve use.
//
// # Usage
//
//	type grammar struct {
//		Login mcplogins.Login `cmd:""`
//	}
//
// # Failure
//
// A server that wants no login, or refuses one, is an error. No error has a token.
package mcplogins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/mcplogin"
	"github.com/deft-dev/deft/spec"
)

// Store keeps the user's logins.
type Store interface {
	mcplogin.Logins
	// Logins returns the keys of all.
	Logins() ([]string, error)
}

// Wiring has the dependencies of the commands.
type Wiring struct {
	// Open opens the store, and returns the MCP servers of the user's settings by name.
	Open func(ctx context.Context) (Store, *schema.Map, error)
	// LogIn logs in at a server.
	LogIn mcplogin.LogIn
	// LogOut logs out at a server.
	LogOut mcplogin.LogOut
}

// open opens the store, and finds a server and its form as an entry of mcp_config.
func (w Wiring) open(ctx context.Context, name string, files []string) (_ Store, server *schema.Map, raw json.RawMessage, err error) {
	store, stored, err := w.Open(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if server, err = find(name, files, stored); err != nil {
		return nil, nil, nil, err
	}
	raw, err = schema.Encode(server)
	return store, server, raw, err
}

// Login logs in. It is a command line, for kong.
type Login struct {
	Server    string   `arg:"" help:"Name of a server, in --mcp-config, the project's .mcp.json or your settings; or its address."`
	MCPConfig []string `name:"mcp-config" help:"File with MCP servers. May be repeated." placeholder:"FILE" type:"path"`
	NoBrowser bool     `name:"no-browser" help:"Only print the address to visit."`
}

// Help is shown by `deft mcp login --help`.
func (c *Login) Help() string {
	return `The address of the login is printed and opened in the browser, which comes back to a port of this
machine. The login is kept sealed in ~/.openhands, where deft serve finds it too, and renewed when it
has to be. Conversations use it for every server at this address that has no other credentials.

Where the browser is on another machine, copy the address that it cannot open at the end, and paste it.

Examples:
  deft mcp login https://mcp.example.com/mcp
  deft mcp login tracker --mcp-config servers.json`
}

// Run logs in.
func (c *Login) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	store, server, raw, err := w.open(ctx, c.Server, c.MCPConfig)
	if err != nil {
		return err
	}
	_, err = mcplogin.Locally(w.LogIn)(ctx, mcplogin.Request{Server: raw, Logins: store, Visit: func(ctx context.Context, address string) (url.Values, error) {
		fmt.Fprintf(std.Err, "Log in at this address:\n\n  %s\n\n", stdio.OneLine(address))
		if !c.NoBrowser && std.ErrTTY {
			openBrowser(ctx, address)
		}
		if !std.InTTY {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return pasted(ctx, std)
	}})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.Err, "You are logged in at "+stdio.OneLine(server.Text("url"))+".")
	return err
}

// pasted waits for the address of a redirect that the user pastes.
func pasted(ctx context.Context, std *stdio.Streams) (url.Values, error) {
	for {
		line, err := std.Ask(ctx, "Waiting for the browser; or paste the address it ends at: ")
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, context.Canceled) { // the input has ended; the browser may come still
				<-ctx.Done()
			}
			return nil, ctx.Err()
		}
		u, err := url.Parse(strings.TrimSpace(line))
		if err == nil && u.Query().Get("state") != "" {
			return u.Query(), nil
		}
		fmt.Fprintln(std.Err, "That is not the address of a redirect.")
	}
}

// openBrowser opens an address; where there is no browser, the user has the address.
func openBrowser(ctx context.Context, address string) {
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	}
	if os.Getenv("DISPLAY")+os.Getenv("WAYLAND_DISPLAY") == "" && runtime.GOOS == "linux" {
		return
	}
	cmd := exec.CommandContext(ctx, name, address)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // it has no result
	}
}

// find returns a server by its name or its address.
func find(name string, files []string, stored *schema.Map) (*schema.Map, error) {
	var places []*schema.Map
	if u, err := url.Parse(name); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		places = append(places, schema.Of(name, schema.Of("url", name)))
	}
	named, err := runcommand.ReadServers(files...)
	if err != nil {
		return nil, err
	}
	places = append(places, named)
	if raw, err := os.ReadFile(runcommand.ProjectConfig); err == nil && len(files) == 0 {
		project, err := spec.ReadMCPServers(raw)
		if err != nil {
			return nil, fault.Wrap(err, fault.Invalid, "the project's "+runcommand.ProjectConfig)
		}
		places = append(places, project)
	}
	places = append(places, stored)
	var known []string
	for _, all := range places {
		if s := all.Object(name); s != nil {
			if s.Text("url") == "" {
				return nil, fault.New(fault.Invalid, name+" is a program, which has no login")
			}
			return s, nil
		}
		known = append(known, all.Keys()...)
	}
	slices.Sort(known)
	hint := "give its address, or name its file with --mcp-config"
	if len(known) > 0 {
		hint += "; known are " + strings.Join(slices.Compact(known), ", ")
	}
	return nil, fault.New(fault.NotFound, "there is no MCP server "+name).Hint(hint)
}

// Logout removes and revokes a login. It is a command line, for kong.
type Logout struct {
	Server    string   `arg:"" help:"Name or address of the server, as for deft mcp login."`
	MCPConfig []string `name:"mcp-config" help:"File with MCP servers. May be repeated." placeholder:"FILE" type:"path"`
}

// Run removes and revokes a login.
func (c *Logout) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	store, server, raw, err := w.open(ctx, c.Server, c.MCPConfig)
	if err != nil {
		return err
	}
	revoked, err := w.LogOut(ctx, raw, store)
	if err != nil {
		return err
	}
	how := " is removed from this machine. The authorization server cannot revoke it: it lasts there until it expires."
	if revoked {
		how = " is removed from this machine and revoked."
	}
	_, err = fmt.Fprintln(std.Err, "The login at "+stdio.OneLine(server.Text("url"))+how)
	return err
}

// Logins lists the logins. It is a command line, for kong.
type Logins struct{}

// Run lists the logins.
func (c *Logins) Run(ctx context.Context, std *stdio.Streams, w Wiring) error {
	store, _, err := w.Open(ctx)
	if err != nil {
		return err
	}
	keys, err := store.Logins()
	if err != nil {
		return err
	}
	for _, key := range keys {
		if strings.Contains(key, "#") {
			continue // of a configuration
		}
		if _, err := fmt.Fprintln(std.Out, stdio.OneLine(key)); err != nil {
			return err
		}
	}
	return nil
}
