// Package workspacedir decides which directories conversations may work in, and
// recognises such a directory later.
//
// # Usage
//
//	dir, err := workspacedir.Rules{Home: home, Data: []string{data}}.Check(dir)
//	id, err := workspacedir.Identify(dir) // kept with the conversation
//	…
//	err = id.Verify(dir) // before the conversation works again
//
// # Concurrency and failure
//
// Everything is safe for concurrent use, and nothing is written. Directories that
// are refused are errors of kind fault.Invalid.
package workspacedir
