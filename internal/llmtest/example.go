package llmtest

import _ "embed"

// Example is a script that works with `deft run`, with comments.
//
//go:embed example.yaml
var Example []byte
