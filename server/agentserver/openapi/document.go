// Package openapi describes a server's operations: /openapi.json, and pages
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

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/server/rest"
)

// document describes the routes.
func (o Options) document() (object, error) {
	of := o.contract()
	c, err := of.unpack()
	if err != nil {
		return nil, err
	}
	known, ours := c.index(), of.operations()
	paths := object{}
	for _, r := range o.Routes {
		if r.Hidden {
			continue
		}
		path, op := of.describe(r, known, ours)
		ops, ok := paths[path].(object)
		if !ok {
			ops = object{}
			paths[path] = ops
		}
		ops[strings.ToLower(r.Method)] = op
	}
	schemas := map[string]any{"Failure": failure()}
	for _, ops := range paths {
		c.reachable(ops, schemas)
	}
	c.name(paths)
	c.name(schemas)
	for name, schema := range schemas {
		entitle(name, schema)
		if strings.HasSuffix(name, "-Output") {
			readable(schema)
		}
	}
	doc := object{
		"openapi":    "3.1.0",
		"info":       object{"title": of.Title, "version": o.Version, "description": of.Description},
		"paths":      paths,
		"components": object{"schemas": schemas, "securitySchemes": c.Components.Schemes},
	}
	if o.Path != "" {
		doc["servers"] = []any{object{"url": o.Path}}
	}
	return doc, nil
}

// entitle gives a schema its name as its title, as in the reference: all but unions
// have one.
func entitle(name string, schema any) {
	s, ok := schema.(object)
	if !ok || s["title"] != nil || s["oneOf"] != nil || s["anyOf"] != nil || s["$ref"] != nil {
		return
	}
	s["title"] = strings.TrimSuffix(strings.TrimSuffix(name, "-Input"), "-Output")
}

// failure is the form of errors that no schema of the contract has. Each document has
// one of its own, since naming schemas changes it.
func failure() object {
	return object{
		"type": "object",
		"properties": object{
			"detail": object{}, "exception": object{"type": "string"}, "error_id": object{"type": "string"},
		},
		"required": []any{"detail"},
	}
}

// describe returns the description of one route and the path it stands under.
func (o *Contract) describe(r rest.Route, known map[string]described, ours map[string]operation) (string, object) {
	path := r.OpenAPIPath()
	k := key(r.Method, path)
	op := object{"responses": object{"200": object{}}, "tags": []any{r.Tag}}
	if in, ok := known[k]; ok {
		path, op = in.path, in.op
	} else if in := pathParameters(path); in != nil {
		op["parameters"] = in
	}
	if op["operationId"] == nil { // nor has it the rest
		op["operationId"], op["tags"] = identifier(r.Method, path), []any{r.Tag}
		if r.Scope != rest.Public {
			op["security"] = []any{object{o.Scheme: []any{}}}
		}
	}
	if r.Unsupported {
		op["x-unsupported"] = true
	}
	line := ours[k]
	if line.summary != "" {
		op["summary"] = line.summary
	}
	responses, _ := op["responses"].(object)
	for _, status := range slices.Concat(line.statuses, o.general(r, op)) {
		if code, media, ok := strings.Cut(status, "="); ok {
			also(responses, code, media)
		} else if responses[status] == nil {
			responses[status] = object{"content": object{"application/json": object{"schema": object{"$ref": "#/components/schemas/Failure"}}}}
		}
	}
	for status, answer := range responses {
		complete(status, answer)
	}
	return path, op
}

// also adds a type of content to an answer.
func also(responses object, status, media string) {
	r, ok := responses[status].(object)
	if !ok {
		r = object{}
		responses[status] = r
	}
	content, ok := r["content"].(object)
	if !ok {
		content = object{}
		r["content"] = content
	}
	content[media] = object{"schema": object{"type": "string"}}
}

// general are the statuses that follow from the kind of a route.
func (o *Contract) general(r rest.Route, op object) (out []string) {
	if r.Scope != rest.Public && r.Scope != rest.Checked {
		out = append(out, "401", "403")
	}
	if !r.Dormant && o.Dormant {
		out = append(out, "503") // while a server waits for its configuration
	}
	if op["requestBody"] != nil {
		out = append(out, "400", "413", "422")
	}
	if op["parameters"] != nil {
		out = append(out, "422")
	}
	if strings.Contains(r.Path, "{") {
		out = append(out, "404", "422")
	}
	return sortedCompact(out)
}

// complete gives an answer the members that OpenAPI wants and the facts do not
// have. A success with another status than the contract's has the form of its
// success; statuses without a body lose theirs.
func complete(status string, answer any) {
	a, ok := answer.(object)
	if !ok {
		return
	}
	n, _ := strconv.Atoi(status) // ranges such as 4XX have no text
	if text := http.StatusText(n); text != "" {
		a["description"] = text
	} else {
		a["description"] = status
	}
	switch {
	case n == http.StatusNoContent, n == http.StatusNotModified, n >= 300 && n < 400, n == http.StatusPartialContent:
		delete(a, "content")
	case status == "422":
		loosen(a)
	}
}

// loosen lets a 422 have a text for its detail too, as some have (the
// reference answers so as well, and does not document it).
func loosen(a object) {
	const of = "#/components/schemas/"
	content, _ := a["content"].(object)
	media, _ := content["application/json"].(object)
	if media == nil {
		return
	}
	if s, _ := media["schema"].(object); s["$ref"] == of+"HTTPValidationError" {
		media["schema"] = object{"anyOf": []any{s, object{"$ref": of + "Failure"}}}
	}
}

func identifier(method, path string) string {
	return strings.ToLower(method) + strings.NewReplacer("/", "_", "{", "", "}", "", "-", "_").Replace(path)
}

func pathParameters(path string) []any {
	var out []any
	for _, name := range names(path) {
		out = append(out, object{"in": "path", "name": name, "required": true, "schema": object{"type": "string"}})
	}
	return out
}

// Undescribed returns the routes that the document only names: they lack a
// line in operations.txt, or are new to the contract.
func (o Options) Undescribed() []string {
	ours := o.contract().operations()
	var out []string
	for _, r := range o.Routes {
		if k := key(r.Method, r.OpenAPIPath()); !r.Hidden && ours[k].summary == "" {
			out = append(out, k)
		}
	}
	return sortedCompact(out)
}

// Unserved returns the operations of the contract without a route.
func (o Options) Unserved() ([]string, error) {
	c, err := o.contract().unpack()
	if err != nil {
		return nil, err
	}
	missing := map[string]string{}
	for k, d := range c.index() {
		method, _, _ := strings.Cut(k, " ")
		missing[k] = method + " " + d.path
	}
	for _, r := range o.Routes {
		delete(missing, key(r.Method, r.OpenAPIPath()))
	}
	return slices.Sorted(maps.Values(missing)), nil
}
