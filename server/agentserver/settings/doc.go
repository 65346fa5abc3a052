// Package settings has the routes of what users configure: settings, secrets,
// profiles, provider connections and workspaces. What they do is in package
// settings.
//
// # Usage
//
//	routes := settings.Routes(of, log) // of finds the settings of a request's caller
//	routes = append(routes, settings.Workspaces(store)...)
//
// # Concurrency
//
// Handlers are safe for concurrent use.
//
// # Failure
//
// Names and files that cannot be used are answered 400, bodies that do not fit
// 422, as the reference does.
package settings
