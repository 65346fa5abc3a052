package event_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Any value of any kind comes back from its JSON as it was. Fields are filled
// at random by their Go types.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	kinds := slices.Concat(event.EventKinds(), event.ActionKinds(), event.ObservationKinds())
	rapid.Check(t, func(t *rapid.T) {
		want := event.NewOfKind(rapid.SampledFrom(kinds).Draw(t, "kind"))
		fillRandom(t, reflect.ValueOf(want).Elem())
		raw, err := encodeAny(want)
		must.Succeed(t, err)
		got, err := decodeAny(raw)
		if err != nil {
			t.Fatalf("%v\n%s", err, raw)
		}
		again, err := encodeAny(got)
		must.Succeed(t, err)
		if diff := cmp.Diff(string(raw), string(again)); diff != "" {
			t.Fatalf("(-first +second):\n%s", diff)
		}
		if diff := cmp.Diff(want, got, alike...); diff != "" {
			t.Fatalf("(-want +got):\n%s\n%s", diff, raw)
		}
	})
}

// alike takes nil and empty lists and maps for the same.
var alike = []cmp.Option{cmp.FilterValues(func(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if !x.IsValid() || !y.IsValid() || x.Type() != y.Type() {
		return false
	}
	return (x.Kind() == reflect.Slice || x.Kind() == reflect.Map) && x.Len() == 0 && y.Len() == 0
}, cmp.Ignore())}

func fillRandom(t *rapid.T, v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *event.Content:
		*p = randomContent(t)
		return
	case *event.ThinkingBlock:
		*p = randomThinking(t)
		return
	case *event.TaskItem:
		*p = event.TaskItem{Title: randomText(t), Status: event.TaskDone}
		return
	case *event.Risk:
		*p = rapid.SampledFrom([]event.Risk{event.RiskUnknown, event.RiskHigh}).Draw(t, "risk")
		return
	case *event.Action:
		*p = &event.ThinkAction{Thought: randomText(t)}
		return
	case *event.Observation:
		*p = &event.InvokeSkillObservation{SkillName: randomText(t)}
		return
	}
	fillKind(t, v)
}

func fillKind(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(randomText(t))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-1e300, 1e300).Draw(t, "float"))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			fillRandom(t, v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(rapid.SampledFrom([]string{`{}`, `[1,null]`, `{"a":18446744073709551616}`, `"x"`, `1e-7`}).Draw(t, "raw")))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 3).Draw(t, "len"), 3))
		for i := range v.Len() {
			fillRandom(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(0, 3).Draw(t, "len") {
			e := reflect.New(v.Type().Elem()).Elem()
			fillRandom(t, e)
			v.SetMapIndex(reflect.ValueOf(randomText(t)).Convert(v.Type().Key()), e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fillRandom(t, v.Field(i))
			}
		}
	}
}

func randomText(t *rapid.T) string {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", awkwardText, `\`, `"`})).Draw(t, "text")
}

func randomContent(t *rapid.T) event.Content {
	c := event.Text(randomText(t))
	if rapid.Bool().Draw(t, "image") {
		c = event.Image(rapid.SliceOf(rapid.String()).Draw(t, "urls")...)
	}
	c.CachePrompt = rapid.Bool().Draw(t, "cache")
	return c
}

func randomThinking(t *rapid.T) event.ThinkingBlock {
	if rapid.Bool().Draw(t, "redacted") {
		return event.ThinkingBlock{Type: event.TypeRedacted, Data: randomText(t)}
	}
	return event.ThinkingBlock{Type: event.TypeThinking, Thinking: randomText(t), Signature: randomText(t)}
}
