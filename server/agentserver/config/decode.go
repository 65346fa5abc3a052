package config

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// presetter is a type with defaults other than zero.
type presetter interface{ preset() }

// fields yields the settings of a struct by their names, with the settings of
// embedded structs.
func fields(t reflect.Type) iter.Seq2[string, reflect.StructField] {
	return func(yield func(string, reflect.StructField) bool) {
		for _, f := range reflect.VisibleFields(t) {
			if name := f.Tag.Get("json"); name != "" && !yield(name, f) {
				return
			}
		}
	}
}

// decoder decodes trees into structs.
type decoder struct{ warnings []string }

// wrong returns an error about a setting. It never contains the value.
func wrong(path, why string) error {
	name := path
	if path != "" {
		name += " (OH_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_")) + ")"
	}
	return fault.New(fault.Invalid, "setting "+name+" "+why)
}

// into sets out to the tree's value; null keeps the default.
func (d *decoder) into(out reflect.Value, tree any, path string) error {
	switch {
	case tree == any(absent):
		return nil
	case tree == nil:
		if out.Kind() == reflect.Pointer || out.Kind() == reflect.Slice {
			out.SetZero()
		}
		return nil
	}
	switch out.Kind() {
	case reflect.Pointer:
		v := reflect.New(out.Type().Elem())
		if err := d.into(v.Elem(), tree, path); err != nil {
			return err
		}
		out.Set(v)
		return nil
	case reflect.Struct:
		return d.object(out, tree, path)
	case reflect.Slice:
		return d.list(out, tree, path)
	case reflect.Map:
		return d.dictionary(out, tree, path)
	case reflect.Interface:
		if !boolOrNames(tree) {
			return wrong(path, "must be a truth value or a list of names")
		}
		out.Set(reflect.ValueOf(tree))
		return nil
	}
	return scalar(out, tree, path)
}

func (d *decoder) object(out reflect.Value, tree any, path string) error {
	m, ok := tree.(map[string]any)
	if !ok {
		return wrong(path, "must be an object")
	}
	if p, ok := reflect.TypeAssert[presetter](out.Addr()); ok {
		p.preset()
	}
	known := map[string]bool{}
	for name, f := range fields(out.Type()) {
		known[name] = true
		at, v := join(path, name), out.FieldByIndex(f.Index)
		if err := d.into(v, lookup(m, name), at); err != nil {
			return err
		}
		if err := inRange(v, f.Tag, at); err != nil {
			return err
		}
	}
	for name := range m {
		if !known[name] {
			d.warnings = append(d.warnings, "unknown setting: "+join(path, name))
		}
	}
	return nil
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

func (d *decoder) list(out reflect.Value, tree any, path string) error {
	items, ok := tree.([]any)
	if !ok {
		return wrong(path, "must be a list")
	}
	s := reflect.MakeSlice(out.Type(), len(items), len(items))
	for i, it := range items {
		at := join(path, strconv.Itoa(i))
		if it == nil || it == any(absent) {
			return wrong(at, "is missing")
		}
		if err := d.into(s.Index(i), it, at); err != nil {
			return err
		}
	}
	out.Set(s)
	return nil
}

func (d *decoder) dictionary(out reflect.Value, tree any, path string) error {
	m, ok := tree.(map[string]any)
	if !ok {
		return wrong(path, "must be an object")
	}
	made := reflect.MakeMapWithSize(out.Type(), len(m))
	for k, item := range m {
		v := reflect.New(out.Type().Elem()).Elem()
		if err := d.into(v, item, join(path, k)); err != nil {
			return err
		}
		made.SetMapIndex(reflect.ValueOf(k), v)
	}
	out.Set(made)
	return nil
}

// scalar also accepts numbers and truth values as texts, as the reference does.
func scalar(out reflect.Value, tree any, path string) error {
	text := strings.TrimSpace(fmt.Sprint(tree))
	_, isText := tree.(string)
	_, isNumber := tree.(json.Number)
	truth, isBool := tree.(bool)
	switch out.Kind() {
	case reflect.String:
		s, ok := tree.(string)
		if !ok || strings.ContainsRune(s, 0) {
			return wrong(path, "must be text")
		}
		out.SetString(s)
		return nil
	case reflect.Bool:
		switch strings.ToLower(text) {
		case "1", "true", "t", "yes", "y", "on":
			truth, isBool = true, true
		case "0", "false", "f", "no", "n", "off":
			isBool = true
		}
		if !isBool {
			return wrong(path, "must be true or false")
		}
		out.SetBool(truth)
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !isText && !isNumber || math.IsNaN(f) || math.IsInf(f, 0) {
		return wrong(path, "must be a number")
	}
	if out.Kind() == reflect.Float64 {
		out.SetFloat(f)
		return nil
	}
	if f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return wrong(path, "must be a whole number")
	}
	out.SetInt(int64(f))
	return nil
}

// inRange checks a setting against the tags of its field.
func inRange(v reflect.Value, tag reflect.StructTag, path string) error {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if allowed := strings.Fields(tag.Get("oneof")); len(allowed) > 0 && !slices.Contains(allowed, v.String()) {
		return wrong(path, "must be one of: "+strings.Join(allowed, ", "))
	}
	var n float64
	switch v.Kind() {
	case reflect.Int:
		n = float64(v.Int())
	case reflect.Float64:
		n = v.Float()
	default:
		return nil
	}
	for _, rule := range []struct {
		tag, says string
		holds     func(n, bound float64) bool
	}{
		{"min", "must be at least ", func(n, b float64) bool { return n >= b }},
		{"max", "must be at most ", func(n, b float64) bool { return n <= b }},
		{"above", "must be above ", func(n, b float64) bool { return n > b }},
		{"below", "must be below ", func(n, b float64) bool { return n < b }},
	} {
		text := tag.Get(rule.tag)
		if text == "" {
			continue
		}
		bound, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("the tag %s of %s: %w", rule.tag, path, err)
		}
		if !rule.holds(n, bound) {
			return wrong(path, rule.says+text)
		}
	}
	return nil
}

func boolOrNames(tree any) bool {
	list, ok := tree.([]any)
	if !ok {
		_, ok = tree.(bool)
		return ok
	}
	return !slices.ContainsFunc(list, func(v any) bool { _, text := v.(string); return !text })
}
