// Package schema describes JSON documents as data: which fields they have, of
// which types, with which defaults, which of them are secrets and how a
// settings page shows them. From one description it checks a document, fills
// in defaults, seals, opens and masks secrets, and writes the schema that
// pages are drawn from.
//
// # Usage
//
//	var server = &Object{Fields: []Field{
//		{Name: "url", Type: Opt(String{})},
//		{Name: "key", Type: Opt(Secret{})},
//	}}
//
//	doc, err := server.Check(raw, Reading{Keys: ring}, "body") // secrets open
//	out := server.Dump(doc, Writing{Mode: Masked})
//
// A document is of plain JSON values: nil, bool, string, json.Number, []any
// and *[Map], which keeps the order of keys. A checked document has every
// field, in the order of the description, with its secrets in the clear; it
// must not leave the process but through Dump.
//
// # Concurrency
//
// Descriptions are immutable. Documents are values of their owner; Check and Dump
// never change their arguments.
//
// # Failure
//
// Mistakes are returned as Violations, in the words of the reference's validation.
// A stored secret that no key opens is [ErrSealed] if the Reading is strict, else
// it is read as if there were none.
package schema
