// Package gitview shows the changes in a git repository: changed files, diffs,
// commits, and a patch of everything for archives.
//
// # Usage
//
//	v, err := gitview.Open("/work/project/sub")
//	defer v.Close()
//	changes, err := v.Changes(ctx, "")
//
// # Security
//
// A repository is hostile: its configuration and attributes can name programs
// that git would run (filters, fsmonitor, external diffs, hooks, remote
// helpers). Git therefore never reads them. A [View] is a temporary git
// directory with links to the objects, refs and index of the repository and
// with our own configuration. Git gets its arguments as a list, no user
// configuration, no terminal, no transport, and 30 seconds.
//
// # Concurrency
//
// A View is safe for concurrent use. Nothing is written into the repository.
//
// # Failure
//
// Open returns [ErrNoRepository] where there is no repository. A command that
// git refuses is a [CommandError].
package gitview
