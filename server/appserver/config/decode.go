package config

import (
	"encoding"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/registryhosts"
	"github.com/deft-dev/deft/sandbox"
)

// decoder turns values of one source into values of settings.
type decoder struct {
	setting Setting
	source  Source
	dir     string // relative paths start here
	env     func(string) string
}

// wrong returns an error about a value. It never contains the value.
func wrong(s Setting, from Source, why string) *fault.Error {
	return fault.New(fault.Invalid, from.String()+": "+s.Key+" "+why)
}

func (d *decoder) wrong(why string) error {
	e := wrong(d.setting, d.source, why)
	if d.setting.Example != "" && !d.setting.Secret {
		e = e.Hint("for example " + d.setting.Example)
	}
	return e
}

// into sets out to a value of a file, or to the text of a variable or a flag.
func (d *decoder) into(out reflect.Value, value any) error {
	if text, ok := value.(string); ok && strings.ContainsFunc(text, unicode.IsControl) {
		return d.wrong("must not have control characters or line breaks")
	}
	switch out.Interface().(type) {
	case time.Duration:
		return d.duration(out, value)
	case sandbox.Network:
		return d.network(out, value)
	}
	if t, ok := reflect.TypeAssert[encoding.TextUnmarshaler](out.Addr()); ok {
		return d.unmarshal(t, value)
	}
	switch out.Kind() {
	case reflect.Pointer:
		v := reflect.New(out.Type().Elem())
		if err := d.into(v.Elem(), value); err != nil {
			return err
		}
		out.Set(v)
		return nil
	case reflect.Slice:
		return d.list(out, value)
	case reflect.Map:
		return d.variables(out, value)
	case reflect.String:
		text, ok := value.(string)
		if !ok {
			return d.wrong("must be a text")
		}
		out.SetString(d.path(text))
		return d.oneOf(text)
	}
	return d.number(out, value)
}

// path makes the text of a path absolute.
func (d *decoder) path(text string) string {
	if d.setting.tag.Get("path") == "" || text == "" {
		return text
	}
	if text = home(text, d.env); !filepath.IsAbs(text) {
		text = filepath.Join(d.dir, text)
	}
	return filepath.Clean(text)
}

// home replaces ~ at the start of a path.
func home(text string, env func(string) string) string {
	if rest, ok := strings.CutPrefix(text, "~/"); ok && env("HOME") != "" {
		return filepath.Join(env("HOME"), rest)
	}
	return text
}

func (d *decoder) oneOf(text string) error {
	allowed := strings.Fields(d.setting.tag.Get("oneof"))
	if len(allowed) == 0 || slices.Contains(allowed, text) {
		return nil
	}
	return wrong(d.setting, d.source, "must be one of "+strings.Join(allowed, ", "))
}

func (d *decoder) number(out reflect.Value, value any) error {
	var n float64
	switch v := value.(type) {
	case int64:
		n = float64(v)
	case float64:
		n = v
	case string:
		var err error
		if n, err = strconv.ParseFloat(strings.TrimSpace(v), 64); err != nil {
			return d.wrong("must be a number")
		}
	default:
		return d.wrong("must be a number")
	}
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return d.wrong("must be a number")
	}
	if err := d.inRange(n, ""); err != nil {
		return err
	}
	if out.Kind() == reflect.Float64 {
		out.SetFloat(n)
		return nil
	}
	if n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
		return d.wrong("must be a whole number below 2147483648")
	}
	out.SetInt(int64(n))
	return nil
}

// inRange checks a value against the tags min and max.
func (d *decoder) inRange(n float64, unit string) error {
	for _, bound := range []struct {
		tag, says string
		sign      float64
	}{{"min", "must be at least ", 1}, {"max", "must be at most ", -1}} {
		text := d.setting.tag.Get(bound.tag)
		if text == "" {
			continue
		}
		limit, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("the tag %s of %s: %w", bound.tag, d.setting.Key, err)
		}
		if (n-limit)*bound.sign < 0 {
			return wrong(d.setting, d.source, bound.says+text+unit)
		}
	}
	return nil
}

func (d *decoder) duration(out reflect.Value, value any) error {
	text, ok := value.(string)
	if n, number := value.(int64); number && n == 0 {
		text, ok = "0", true
	}
	t, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || !ok {
		return d.wrong("must be a duration with its unit")
	}
	if err := d.inRange(t.Seconds(), ""); err != nil {
		return err
	}
	out.SetInt(int64(t))
	return nil
}

func (d *decoder) network(out reflect.Value, value any) error {
	hosts, ok := texts(value, ",")
	if !ok {
		return d.wrong("must be a text or a list of texts")
	}
	text, err := registryhosts.Expand(strings.Join(hosts, ","), registryhosts.Source{Env: d.env})
	if err != nil {
		return d.because(err)
	}
	network, err := sandbox.ParseNetwork(text)
	if err == nil {
		err = network.Check()
	}
	if err != nil {
		return d.because(err)
	}
	out.SetString(string(network))
	return nil
}

// because returns an error of another package with the setting's name. Only settings that
// are no secrets are parsed by other packages.
func (d *decoder) because(err error) error {
	return fault.New(fault.Invalid, d.source.String()+": "+d.setting.Key).Because(err).Hint(fault.HintOf(err))
}

func (d *decoder) unmarshal(t encoding.TextUnmarshaler, value any) error {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case int64: // a size in bytes
		text = strconv.FormatInt(v, 10)
	default:
		return d.wrong("must be a text")
	}
	if text == "" {
		return d.wrong("must not be empty")
	}
	switch out := t.(type) {
	case *netip.Prefix:
		if a, err := netip.ParseAddr(text); err == nil {
			*out = netip.PrefixFrom(a, a.BitLen())
			return nil
		}
	case *sandbox.Mount:
		text = home(text, d.env)
	}
	if err := t.UnmarshalText([]byte(text)); err != nil {
		return d.because(err)
	}
	return nil
}

// texts returns a list of texts, or a text's parts.
func texts(value any, sep string) (out []string, ok bool) {
	switch v := value.(type) {
	case []string:
		return v, true
	case string:
		for part := range strings.SplitSeq(v, sep) {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
		return out, true
	case []any:
		for _, item := range v {
			text, ok := item.(string)
			if !ok {
				return nil, false
			}
			out = append(out, text)
		}
		return out, true
	}
	return nil, false
}

func (d *decoder) list(out reflect.Value, value any) error {
	if _, text := value.(string); text && d.source.Kind == FromFile {
		return d.wrong("must be a list of texts")
	}
	items, ok := texts(value, d.setting.separator())
	if !ok {
		return d.wrong("must be a list of texts")
	}
	list := reflect.MakeSlice(out.Type(), len(items), len(items))
	for i, item := range items {
		if item == "" {
			return d.wrong("must not have empty items")
		}
		if err := d.into(list.Index(i), item); err != nil {
			return err
		}
	}
	out.Set(list)
	return nil
}

// variables adds NAME=VALUE pairs, or a map of them, to a map.
func (d *decoder) variables(out reflect.Value, value any) error {
	given, ok := value.(map[string]string)
	if !ok {
		pairs, isList := texts(value, d.setting.separator())
		if !isList {
			return d.wrong("must be a table of texts")
		}
		given = map[string]string{}
		for _, pair := range pairs {
			name, text, found := strings.Cut(pair, "=")
			if !found {
				return d.wrong("must be NAME=VALUE, with commas between")
			}
			given[name] = text
		}
	}
	all := map[string]string{}
	if before, ok := reflect.TypeAssert[map[string]string](out); ok {
		maps.Copy(all, before)
	}
	for name, text := range given {
		if !variableName(name) || strings.ContainsRune(text, 0) {
			return d.wrong("needs names of letters, digits and underscores")
		}
		all[name] = text
	}
	out.Set(reflect.ValueOf(all))
	return nil
}

func variableName(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
