package security_test

import "encoding/json"

// arguments returns the JSON of a tool call's arguments.
func arguments(pairs ...string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings always encode
	}
	return string(b)
}
