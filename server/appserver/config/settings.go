package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/sandbox"
)

// Setting describes a value of [Config].
type Setting struct {
	// Key is its dotted name in the file, such as server.address.
	Key string
	// Variable is the environment variable, Flag the flag of `deft serve`; empty if the
	// setting has none.
	Variable, Flag string
	// Default is in the form of a variable; empty for none.
	Default string
	// Help explains it in a sentence or two; Example is a value.
	Help, Example string
	// Secret says that the value is never shown.
	Secret bool

	index []int
	typ   reflect.Type
	tag   reflect.StructTag
}

// Settings returns the settings in the order of the file. The slice is shared.
var Settings = sync.OnceValue(func() []Setting {
	return settingsOf(reflect.TypeFor[Config](), "", nil, flagNames())
})

func settingsOf(t reflect.Type, section string, index []int, flags map[string]string) (out []Setting) {
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		key, at := section+f.Tag.Get("toml"), append(index[:len(index):len(index)], i)
		if f.Type.Kind() == reflect.Struct {
			out = append(out, settingsOf(f.Type, key+".", at, flags)...)
			continue
		}
		variable := f.Tag.Get("env")
		if variable == "" {
			variable = "DEFT_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
		}
		out = append(out, Setting{
			Key: key, Variable: variable, Flag: flags[key], Default: f.Tag.Get("default"),
			Help: f.Tag.Get("help"), Example: f.Tag.Get("example"),
			Secret: f.Type == reflect.TypeFor[llm.Secret](), index: at, typ: f.Type, tag: f.Tag,
		})
	}
	return out
}

// TOML returns a value of a variable as it is written in a file.
func (s Setting) TOML(text string) string {
	switch s.typ.Kind() {
	case reflect.Int, reflect.Float64, reflect.Pointer:
		return text
	case reflect.Slice:
		var items []string
		for item := range strings.SplitSeq(text, s.separator()) {
			items = append(items, strconv.Quote(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case reflect.Map:
		name, value, _ := strings.Cut(text, "=")
		return "{ " + name + " = " + strconv.Quote(value) + " }"
	}
	return strconv.Quote(text)
}

// separator stands between the items of a variable with a list.
func (s Setting) separator() string {
	if sep := s.tag.Get("sep"); sep != "" {
		return sep
	}
	return ","
}

// Kinds of a [Source].
const (
	FromDefault  = "default"
	FromFile     = "file"
	FromVariable = "variable"
	FromFlag     = "flag"
)

// Source is where a value comes from.
type Source struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"` // of the file, the variable or the flag
	Line int    `json:"line,omitempty"` // in the file
}

// String names the source as people write it.
func (s Source) String() string {
	switch {
	case s.Kind == FromDefault:
		return FromDefault
	case s.Line > 0:
		return s.Name + ":" + strconv.Itoa(s.Line)
	}
	return s.Name
}

// format returns a value in the form of a variable; a secret as [set].
func format(s Setting, v reflect.Value) string {
	switch value := v.Interface().(type) {
	case time.Duration:
		return shortDuration(value)
	case sandbox.Size:
		return size(value)
	case map[string]string:
		var out []string
		for _, name := range slices.Sorted(maps.Keys(value)) {
			out = append(out, name+"=[set]") // perhaps a secret, against all advice
		}
		return strings.Join(out, s.separator())
	}
	switch {
	case s.Secret && v.Len() > 0:
		return "[set]"
	case v.Kind() == reflect.Slice:
		var out []string
		for i := range v.Len() {
			out = append(out, fmt.Sprint(v.Index(i)))
		}
		return strings.Join(out, s.separator())
	case v.Kind() == reflect.Pointer && v.IsNil(), v.Kind() != reflect.Pointer && v.IsZero() && s.Default == "":
		return ""
	case v.Kind() == reflect.Pointer:
		v = v.Elem()
	}
	if v.Kind() == reflect.Float64 {
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// shortDuration is 20m rather than 20m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	text = strings.TrimSuffix(text, "m0s") + map[bool]string{true: "m"}[strings.HasSuffix(text, "m0s")]
	if rest, ok := strings.CutSuffix(text, "h0m"); ok {
		return rest + "h"
	}
	return text
}

func size(n sandbox.Size) string {
	switch {
	case n == 0:
		return ""
	case n < 0:
		return "none"
	}
	for i, unit := range "TGMK" {
		if one := sandbox.Size(1) << (10 * (4 - i)); n%one == 0 {
			return strconv.FormatInt(int64(n/one), 10) + string(unit)
		}
	}
	return strconv.FormatInt(int64(n), 10)
}
