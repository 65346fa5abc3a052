package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Trees of settings are decoded JSON with numbers as json.Number. absent stands
// for a missing value, unlike null.
type absence struct{}

var absent = absence{}

// maxItems bounds a list of which a variable gives the length.
const maxItems = 1000

// environment reads trees out of variables.
type environment struct {
	vars     map[string]string
	used     map[string]bool
	warnings []string
}

func newEnvironment(environ []string) *environment {
	e := &environment{vars: map[string]string{}, used: map[string]bool{}}
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			e.vars[name] = value
		}
	}
	return e
}

// get returns a variable and marks it as known.
func (e *environment) get(name string) (string, bool) {
	v, ok := e.vars[name]
	if ok {
		e.used[name] = true
	}
	return v, ok
}

// tree returns the value of type t that the variables beginning with name set.
func (e *environment) tree(name string, t reflect.Type) (any, error) {
	tree, err := e.value(name, t)
	if err != nil || tree != any(absent) {
		return tree, err
	}
	if v, _ := e.get(name + "_IS_NONE"); v == "1" || strings.EqualFold(v, "true") {
		return nil, nil
	}
	return absent, nil
}

func (e *environment) value(name string, t reflect.Type) (any, error) {
	switch t.Kind() {
	case reflect.Pointer:
		return e.value(name, t.Elem())
	case reflect.Struct:
		return e.object(name, t)
	case reflect.Slice:
		return e.list(name, t.Elem())
	case reflect.Map:
		return e.wholly(name, map[string]any{})
	}
	v, ok := e.get(name)
	switch {
	case !ok:
		return absent, nil
	case t.Kind() == reflect.Bool:
		return e.truth(name, v), nil
	case t.Kind() == reflect.Interface:
		if parsed, err := parse([]byte(v)); err == nil {
			return parsed, nil
		}
	}
	return v, nil
}

// truth is true for 1 and true; the reference reads everything else as false.
func (e *environment) truth(name, v string) bool {
	switch strings.ToLower(v) {
	case "1", "true":
		return true
	case "0", "false", "":
	default:
		e.warnings = append(e.warnings, name+" is neither 1 nor 0 and counts as 0")
	}
	return false
}

// wholly reads a variable with JSON of the same type as like. An empty one counts
// as missing.
func (e *environment) wholly(name string, like any) (any, error) {
	v, _ := e.get(name)
	if strings.TrimSpace(v) == "" {
		return absent, nil
	}
	tree, err := parse([]byte(v))
	if err != nil {
		bad := fault.New(fault.Invalid, name+" is not JSON")
		if _, list := like.([]any); list {
			return nil, bad.Hint("for one value set " + name + "_0")
		}
		return nil, bad
	}
	if reflect.TypeOf(tree) != reflect.TypeOf(like) {
		return nil, fault.New(fault.Invalid, name+" is JSON of the wrong type")
	}
	return tree, nil
}

func (e *environment) object(name string, t reflect.Type) (any, error) {
	out, err := e.wholly(name, map[string]any{})
	if err != nil {
		return nil, err
	}
	for field, ft := range fields(t) {
		tree, err := e.tree(name+"_"+strings.ToUpper(field), ft.Type)
		if err != nil {
			return nil, err
		}
		if tree == any(absent) {
			continue
		}
		m, ok := out.(map[string]any)
		if !ok {
			m = map[string]any{}
		}
		m[field] = merge(lookup(m, field), tree)
		out = m
	}
	return out, nil
}

func lookup(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return absent
}

func (e *environment) list(name string, item reflect.Type) (any, error) {
	whole, _ := e.get(name)
	if n, err := strconv.Atoi(strings.TrimSpace(whole)); err == nil {
		if n < 0 || n > maxItems {
			return nil, fault.New(fault.Invalid, name+" is the length of a list, which must be 0 to "+strconv.Itoa(maxItems))
		}
		return e.items(name, item, make([]any, n))
	}
	tree, err := e.wholly(name, []any{})
	if err != nil {
		return nil, err
	}
	if given, ok := tree.([]any); ok {
		return e.items(name, item, given)
	}
	var out []any
	for i := range maxItems {
		it, err := e.tree(name+"_"+strconv.Itoa(i), item)
		if err != nil {
			return nil, err
		}
		if it == any(absent) {
			break
		}
		out = append(out, it)
	}
	if out == nil {
		return absent, nil
	}
	return out, nil
}

// items overrides items of the list by their own variables. An item that neither
// sets comes from the file.
func (e *environment) items(name string, item reflect.Type, given []any) (any, error) {
	for i, was := range given {
		it, err := e.tree(name+"_"+strconv.Itoa(i), item)
		if err != nil {
			return nil, err
		}
		if was == nil {
			was = absent
		}
		given[i] = merge(was, it)
	}
	return given, nil
}

// merge puts b over a. Items of lists are merged one by one.
func merge(a, b any) any {
	if b == any(absent) {
		return a
	}
	switch b := b.(type) {
	case map[string]any:
		if a, ok := a.(map[string]any); ok {
			out := maps.Clone(a)
			for k, v := range b {
				out[k] = merge(lookup(a, k), v)
			}
			return out
		}
	case []any:
		a, _ := a.([]any)
		out := append([]any(nil), a...)
		for i, v := range b {
			if i < len(out) {
				out[i] = merge(out[i], v)
			} else {
				out = append(out, v)
			}
		}
		return out
	}
	return b
}

// parse reads exactly one JSON value.
func parse(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fault.New(fault.Invalid, "more than one value")
	}
	return out, nil
}
