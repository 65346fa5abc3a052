package main

import (
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/route"
)

// maxKey bounds a key file; a longer one is not a key.
const maxKey = 16 << 10

// keyVariables are asked for a key, in this order.
func keyVariables(model string) []string {
	return append([]string{"LLM_API_KEY"}, route.KeyVariables(model)...)
}

func keyFromFile(path string) (llm.Secret, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fault.New(fault.Invalid, "the key file cannot be read").Because(err).Hint("check --api-key-file")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxKey))
	if err != nil {
		return "", fault.New(fault.Invalid, "the key file cannot be read").Because(err).Hint("check --api-key-file")
	}
	return checkKey(string(b), path)
}

// checkKey refuses what cannot be a key, without ever showing it.
func checkKey(key, from string) (llm.Secret, error) {
	key = strings.TrimSpace(key)
	odd := func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsGraphic(r) || unicode.IsSpace(r) }
	if key == "" || len(key) >= maxKey || strings.ContainsFunc(key, odd) {
		return "", fault.New(fault.Invalid, from+" does not hold a key").Hint("a key is one word without spaces or line breaks")
	}
	return llm.Secret(key), nil
}
