package structured

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/fault"
)

// maxDepth limits the nesting of schemas and answers, maxSteps the number of
// checks: references can multiply.
const (
	maxDepth = 64
	maxSteps = 100_000
)

// checker validates values: type, properties, required, additionalProperties:
// false, items, enum, const, anyOf, oneOf, allOf, minimum, maximum, minItems,
// maxItems and local references. Other keywords are ignored.
type checker struct {
	root  gjson.Result
	steps int
}

// resolve follows a local reference.
func (c *checker) resolve(s gjson.Result) gjson.Result {
	for range maxDepth {
		ref := s.Get(`\$ref`).Str
		if ref != "#" && !strings.HasPrefix(ref, "#/") {
			return s
		}
		s = c.root
		ref = strings.TrimPrefix(ref[1:], "/")
		if ref == "" {
			continue
		}
		for part := range strings.SplitSeq(ref, "/") {
			part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
			s = s.Get(gjson.Escape(part))
		}
	}
	return gjson.Parse("false") // a cycle
}

func misfit(at, format string, args ...any) error {
	return fault.New(fault.Invalid, at+" "+fmt.Sprintf(format, args...))
}

func (c *checker) check(s, v gjson.Result, at string, depth int) error {
	if c.steps++; depth > maxDepth || c.steps > maxSteps {
		return misfit(at, "is nested too deeply")
	}
	s = c.resolve(s)
	if s.Type == gjson.False {
		return misfit(at, "has a schema that no value matches")
	}
	if err := checkScalar(s, v, at); err != nil {
		return err
	}
	for _, part := range s.Get("allOf").Array() {
		if err := c.check(part, v, at, depth+1); err != nil {
			return err
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if err := c.checkAny(s.Get(key).Array(), v, at, depth); err != nil {
			return err
		}
	}
	switch {
	case v.IsObject():
		return c.checkObject(s, v, at, depth)
	case v.IsArray():
		return c.checkArray(s, v, at, depth)
	}
	return nil
}

// checkScalar checks the value itself, not its content.
func checkScalar(s, v gjson.Result, at string) error {
	var names []string
	fits := false
	for _, t := range s.Get("type").Array() {
		names = append(names, t.Str)
		fits = fits || isOf(t.Str, v)
	}
	if len(names) > 0 && !fits {
		return misfit(at, "is not of type %s", strings.Join(names, " or "))
	}
	if enum := s.Get("enum"); enum.IsArray() && !slices.ContainsFunc(enum.Array(), func(e gjson.Result) bool { return equal(e, v) }) {
		return misfit(at, "is not one of %s", enum.Raw)
	}
	if constant := s.Get("const"); constant.Exists() && !equal(constant, v) {
		return misfit(at, "is not %s", constant.Raw)
	}
	if v.Type != gjson.Number {
		return nil
	}
	if least := s.Get("minimum"); least.Exists() && v.Num < least.Num {
		return misfit(at, "is less than %s", least.Raw)
	}
	if most := s.Get("maximum"); most.Exists() && v.Num > most.Num {
		return misfit(at, "is more than %s", most.Raw)
	}
	return nil
}

func (c *checker) checkAny(variants []gjson.Result, v gjson.Result, at string, depth int) error {
	var first error
	for _, variant := range variants {
		err := c.check(variant, v, at, depth+1)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (c *checker) checkObject(s, v gjson.Result, at string, depth int) error {
	for _, name := range s.Get("required").Array() {
		if !v.Get(gjson.Escape(name.Str)).Exists() {
			return misfit(at, "lacks %q", name.Str)
		}
	}
	properties, more := s.Get("properties"), s.Get("additionalProperties")
	var err error
	v.ForEach(func(name, value gjson.Result) bool {
		p := properties.Get(gjson.Escape(name.Str))
		where := at + "." + name.Str
		switch {
		case p.Exists():
			err = c.check(p, value, where, depth+1)
		case more.Type == gjson.False:
			err = misfit(at, "has a property %q that is not in the schema", name.Str)
		case more.IsObject():
			err = c.check(more, value, where, depth+1)
		}
		return err == nil
	})
	return err
}

func (c *checker) checkArray(s, v gjson.Result, at string, depth int) error {
	values := v.Array()
	if least := s.Get("minItems"); least.Exists() && len(values) < int(least.Int()) {
		return misfit(at, "has fewer than %s items", least.Raw)
	}
	if most := s.Get("maxItems"); most.Exists() && len(values) > int(most.Int()) {
		return misfit(at, "has more than %s items", most.Raw)
	}
	items := s.Get("items")
	if !items.IsObject() {
		return nil
	}
	for i, value := range values {
		if err := c.check(items, value, at+"["+strconv.Itoa(i)+"]", depth+1); err != nil {
			return err
		}
	}
	return nil
}

func isOf(name string, v gjson.Result) bool {
	switch name {
	case "string":
		return v.Type == gjson.String
	case "number":
		return v.Type == gjson.Number
	case "integer":
		return v.Type == gjson.Number && v.Num == float64(int64(v.Num))
	case "boolean":
		return v.Type == gjson.True || v.Type == gjson.False
	case "null":
		return v.Type == gjson.Null
	case "array":
		return v.IsArray()
	case "object":
		return v.IsObject()
	}
	return true // a type of a later draft
}

func equal(a, b gjson.Result) bool {
	if a.Type == gjson.JSON || b.Type == gjson.JSON {
		return a.Get("@ugly").Raw == b.Get("@ugly").Raw
	}
	return a.Type == b.Type && a.String() == b.String()
}

// withoutNulls appends doc without null properties that the schema has as
// optional and not nullable.
func (c *checker) withoutNulls(dst []byte, s, doc gjson.Result, depth int) []byte {
	s = c.resolve(s)
	switch {
	case depth > maxDepth || c.steps > maxSteps || !doc.IsObject() && !doc.IsArray():
		return append(dst, doc.Raw...)
	case doc.IsArray():
		dst = append(dst, '[')
		for i, v := range doc.Array() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = c.withoutNulls(dst, s.Get("items"), v, depth+1)
		}
		return append(dst, ']')
	}
	required := s.Get("required").Array()
	dst = append(dst, '{')
	first := true
	doc.ForEach(func(name, v gjson.Result) bool {
		p := s.Get("properties." + gjson.Escape(name.Str))
		must := slices.ContainsFunc(required, func(r gjson.Result) bool { return r.Str == name.Str })
		if v.Type == gjson.Null && p.Exists() && !must && c.check(p, v, "", 0) != nil {
			return true
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(dst, name.Raw...), ':')
		dst = c.withoutNulls(dst, p, v, depth+1)
		return true
	})
	return append(dst, '}')
}
