// Package title has the prompt by which a model names a conversation, and makes titles of
// texts.
//
// # Usage
//
//	prompt := title.Fill("", title.Cut(message, 1000), 50)
//	…
//	name := title.Clean(answer, 50)
//
// # Concurrency and failure
//
// The functions depend on their arguments alone and cannot fail.
package title

import (
	"strconv"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// System is the system prompt of the model that writes titles.
const System = `You name conversations between a user and a software engineer.
Answer with the title alone: one line that says what the user wants done, without
quotation marks and without a full stop, in the language of the user.`

const prompt = `Write a title of at most {max_length} characters for a conversation that begins like this:

{conversation_content}`

// Fill puts a conversation into a prompt, or into the built-in one if that is blank. The
// conversation is appended to a prompt without a place for it.
func Fill(own, content string, length int) string {
	const place = "{conversation_content}"
	own = strings.TrimSpace(own)
	switch {
	case own == "":
		own = prompt
	case !strings.Contains(own, place):
		own += "\n\n" + place
	}
	return strings.NewReplacer(place, content, "{max_length}", strconv.Itoa(length)).Replace(own)
}

var thinking = lazyregexp.New(`(?s)<think>.*?(</think>|$)`)

// Clean makes one line of a model's answer.
func Clean(text string, length int) string {
	text = strings.TrimSpace(thinking().ReplaceAllString(text, ""))
	line, _, _ := strings.Cut(text, "\n")
	return Cut(strings.TrimSpace(strings.Trim(strings.TrimSpace(line), `"'`)), length)
}

// Cut makes one line of a text and shortens it to at most n characters.
func Cut(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	return string(r[:max(n-3, 0)]) + "..."
}
