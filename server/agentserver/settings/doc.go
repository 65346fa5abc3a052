// Package settings has the routes of users' configuration: settings, secrets,
// profiles, provider connections and workspaces. Package settings at the top does
// the work.
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
