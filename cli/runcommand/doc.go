// Package runcommand implements `deft run`: it continues one conversation of
// package session in the foreground, shows it in the terminal, asks the user where
// actions wait for confirmation, and stops on Ctrl-C.
//
// # Usage
//
//	view := runcommand.NewView(runcommand.ViewOptions{…})
//	m, err := session.Open(session.Options{Models: view.Watch(models), …})
//	err = runcommand.Run(ctx, runcommand.Options{Sessions: m, View: view, …})
//
// # Concurrency
//
// One Run at a time uses a View and catches the signals of the process.
//
// # Failure
//
// A run that ends in another way than it should is an [Exit], of which the user
// has been told already. Other errors have the kinds of package fault.
package runcommand
