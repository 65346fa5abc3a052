package broker

import (
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/llm"
)

// Texts in the place of an image: of a model that takes none, and of a server that refuses it.
const (
	imageOmitted = "(An image was left out: this model does not see images.)"
	imageRefused = "(An image was left out: the model's server refuses it.)"
)

// Servers have no code for a picture that a model cannot take; their words differ. Those
// about one picture, such as its format, are no reason to leave out all.
var (
	noImages = lazyregexp.New(`(?i)unknown variant .?image|image_?url.{0,20} is only supported|invalid content type.{0,20}image|` +
		`(?:image|vision|multi-?modal)[\w ]{0,40}(?:(?:is|are) not (?:supported|enabled|allowed)|not supported|unsupported)|` +
		`(?:do(?:es)? not|doesn.t|don.t|cannot|can.t|not) (?:support|accept|take|have)[\w ]{0,20} (?:image|vision|multi-?modal|picture)|not supported: (?:image|picture)|tag .image.{0,60} does not match|content.{0,40}\['text'\]|` +
		`unsupported[\w ]{0,20} (?:image|.image_url)|not a (?:multi-?modal|vision)|at most 0 image|` +
		`no endpoints found that support image|missing data required for image|content.{0,40}(?:must be a string|should be a valid string)`)
	oneImage = lazyregexp.New(`(?i)\bformat|media.?type|mime|too (?:large|big|many)|exceed|dimension|base64|corrupt|animated|download|fetch`)
)

// refusesImages reports whether a call was refused because the model takes no images.
func refusesImages(e *llm.Error, r *llm.Request) bool {
	text := e.Error()
	return hasImage(r.Messages) && noImages().MatchString(text) && !oneImage().MatchString(text)
}

// aboutImages matches the words of any other refusal for an image: a format, a size, a damage.
var aboutImages = lazyregexp.New(`(?i)image|picture|vision|media.?type|multi-?modal`)

// refusesAnImage reports whether a call was refused for one of its images. They would be in every
// later call, so these would be refused as well.
func refusesAnImage(e *llm.Error, r *llm.Request) bool {
	return hasImage(r.Messages) && fault.KindOf(e) == fault.Invalid && aboutImages().MatchString(e.Error())
}

// withoutImages returns the messages with a text for each image. The input is not changed.
func withoutImages(msgs []event.Message, instead string) []event.Message {
	if !hasImage(msgs) {
		return msgs
	}
	out := slices.Clone(msgs)
	for i := range out {
		if !hasImage(out[i : i+1]) {
			continue
		}
		out[i].Content = slices.Clone(out[i].Content)
		for j := range out[i].Content {
			if c := &out[i].Content[j]; len(c.ImageURLs) > 0 {
				*c = event.Text(instead)
			}
		}
	}
	return out
}
