// Package git shows clients of the Agent Server what changed in a working
// tree: changes, diffs, commits, and a patch of everything for archives.
//
// # Usage
//
//	v, err := git.Open("/work/project/sub")
//	defer v.Close()
//	changes, err := v.Changes(ctx, "")
//
// # Security
//
// A repository is hostile: its configuration and attributes can name programs
// that git would run (filters, fsmonitor, external diffs, hooks, helpers of
// remotes). So git never sees them. A [View] is a git directory of our own
// that links to the objects, refs and index of the repository and has our own
// configuration; git gets its arguments as a list, no user's configuration,
// no terminal, no transport, and half a minute.
//
// # Concurrency
//
// A View and a [Service] are safe for concurrent use. Nothing is written into
// the repository.
//
// # Failure
//
// [ErrNoRepository] is what Open returns where there is none; routes answer
// it with an empty list, as the reference does. What git refuses is a
// [CommandError], which routes answer with 400.
package git
