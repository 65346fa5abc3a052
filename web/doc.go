// Package web contains the web app, built into the binary.
//
// # Usage
//
//	mux.Handle("/", web.Handler())
//
// The sources are TypeScript in src; `make web` builds them into dist, which
// the go command embeds. Without that build the package compiles all the same,
// and its page says how to build the app. README.md tells how to work on it.
//
// # Concurrency and failure
//
// A handler serves any number of requests at a time and changes nothing.
// Unknown paths get the app's page, so that its links can be opened directly;
// unknown files below /assets are 404.
package web
