package browser_test

import (
	"testing"

	"github.com/deft-dev/deft/event"
)

// BenchmarkActions measures actions on a page of this machine: a click, a state with 100 elements, the text, a
// navigation. The budget is 60 ms for the median of each.
func BenchmarkActions(b *testing.B) {
	u := open(b, map[string]string{"/": `<title>Bench</title><body><script>for (let i = 0; i < 100; i++) document.write('<a href=#' + i + '>link ' + i + '</a><p>text</p>')</script>`})
	u.visit("/")
	index := u.index("link 3")
	for name, a := range map[string]event.Action{
		"click": &event.BrowserClickAction{Index: index}, "state": &event.BrowserGetStateAction{}, "content": &event.BrowserGetContentAction{},
		"screenshot": &event.BrowserGetStateAction{IncludeScreenshot: true}, "navigate": &event.BrowserNavigateAction{URL: u.url + "/"},
	} {
		b.Run(name, func(b *testing.B) {
			if name == "click" {
				u.visit("/")
				a = &event.BrowserClickAction{Index: u.index("link 3")}
			}
			for b.Loop() {
				u.do(a, true)
			}
		})
	}
}
