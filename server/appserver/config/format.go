package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deft-dev/deft/sandbox"
)

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
