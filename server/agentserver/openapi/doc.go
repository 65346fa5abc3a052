// Package openapi describes the server's operations: /openapi.json, and pages
// that show it, /docs and /redoc, which need nothing from the network.
//
// # Usage
//
//	docs := openapi.New(openapi.Options{Routes: routes, Version: version})
//	routes = append(routes, docs.Routes()...)
//
// # Where the description comes from
//
// contract.json.gz holds the facts of the reference's document: parameters,
// statuses, and the names and types of fields. test/openapi/strip.py makes it
// from the reference's document without its prose. operations.txt has
// one line for each operation, and the statuses that we answer
// beside the contract's. The document lists the operations that are in the
// table of routes, no others, so that it is always about this server.
//
// # Concurrency and failure
//
// A Service is safe for concurrent use. The document is made when the first
// client asks for it. A route without a description is in the document with
// its path only; [Service.Undescribed] lists them for tests.
package openapi
