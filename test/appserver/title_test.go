package appserver_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/waittest"
)

// TestTitle: a conversation has no title until a model has written it, and its first message
// meanwhile.
func TestTitle(t *testing.T) {
	t.Parallel()
	d := join(t, `default: {reply: {text: A title}}`)
	c, _ := d.begin(t, map[string]any{"initial_message": text("make it")})
	waittest.Until(t, "the title of the model", func() bool {
		var found []struct {
			Title *string `json:"title"`
			First *string `json:"provisional_title"`
		}
		d.owner.do(t, "GET", d.url+"/api/v1/app-conversations?ids="+c.ID, nil, &found)
		switch one := found[0]; {
		case one.Title == nil && (one.First == nil || *one.First == "make it" || *one.First == "A title"):
			return false
		case one.Title == nil:
			t.Fatalf("without a title, the provisional one is %q", *one.First)
		case *one.Title != "A title" || one.First != nil:
			t.Fatalf("the title is %q, the provisional one %v", *one.Title, one.First)
		}
		return true
	})
}
