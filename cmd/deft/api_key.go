package main

import "github.com/deft-dev/deft/llm/route"

// keyVariables are asked for a key, in this order.
func keyVariables(model string) []string {
	return append([]string{"LLM_API_KEY"}, route.KeyVariables(model)...)
}
