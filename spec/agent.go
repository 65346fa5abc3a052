package spec

import (
	"github.com/deft-dev/deft/schema"
)

// Tool names a tool and the parameters of its making.
type Tool struct {
	Name   string      `json:"name"`
	Params *schema.Map `json:"params"`
}

// Agent is an agent of the wire. Its parts are read from fields; its document goes
// out again, so that nothing a client sent is lost.
type Agent struct {
	Kind                   string         `json:"kind"` // "Agent" or "ACPAgent"
	LLM                    *LLM           `json:"-"`
	Tools                  []Tool         `json:"tools"`
	FilterToolsRegex       *string        `json:"filter_tools_regex"`
	IncludeDefaultTools    []string       `json:"include_default_tools"`
	Context                *Context       `json:"agent_context"`
	SystemPrompt           *string        `json:"system_prompt"`
	SystemPromptFilename   string         `json:"system_prompt_filename"`
	SecurityPolicyFilename string         `json:"security_policy_filename"`
	SystemPromptKwargs     map[string]any `json:"system_prompt_kwargs"`
	Condenser              *Condenser     `json:"-"`
	Critic                 *Critic        `json:"critic"`
	ToolConcurrencyLimit   int            `json:"tool_concurrency_limit"`
	Persona                *string        `json:"persona"`
	MCPServers             *schema.Map    `json:"mcp_config"` // by name, each as MCPSchema has it

	doc *schema.Map
}

// DecodeAgent reads an agent, with its secrets opened by how.Keys. loc is its
// location in the request.
func DecodeAgent(raw []byte, how schema.Reading, loc ...any) (*Agent, error) {
	v, err := schema.Parse(raw)
	if err != nil {
		return nil, err
	}
	return CheckAgent(v, how, loc...)
}

// CheckAgent is [DecodeAgent] for a document that is parsed already.
func CheckAgent(v any, how schema.Reading, loc ...any) (*Agent, error) {
	out, err := schema.Check(AgentSchema, v, how, loc...)
	if err != nil {
		return nil, err
	}
	doc, _ := out.(*schema.Map)
	return AgentFrom(doc)
}

// AgentFrom returns the agent of a checked document.
func AgentFrom(doc *schema.Map) (*Agent, error) {
	a := &Agent{doc: doc}
	if err := schema.Into(doc, a); err != nil {
		return nil, err
	}
	var err error
	if a.LLM, err = LLMFrom(doc.Object("llm")); err != nil {
		return nil, err
	}
	a.Condenser, err = condenserFrom(doc.Object("condenser"))
	return a, err
}

// Doc returns the agent's document, with its secrets in the clear. Callers
// must not change it.
func (a *Agent) Doc() *schema.Map { return a.doc }

// JSON returns the agent as it may leave the process.
func (a *Agent) JSON(how schema.Writing) ([]byte, error) {
	out, err := schema.Dump(AgentSchema, a.doc, how)
	if err != nil {
		return nil, err
	}
	if how.NoNulls {
		out = schema.WithoutNulls(out)
	}
	return schema.Encode(out)
}

// MarshalJSON implements json.Marshaler: secrets are masked.
func (a *Agent) MarshalJSON() ([]byte, error) { return a.JSON(schema.Writing{}) }

// With returns the agent with the value of one field replaced, such as "llm"
// after a switch. The value must be checked already.
func (a *Agent) With(field string, v any) (*Agent, error) {
	doc := a.doc.Copy()
	doc.Set(field, v)
	return AgentFrom(doc)
}

// WithLLM returns the agent with another LLM. A condenser that summarises with
// the one before changes too (docs/openhands/sdk-features.md section 4,
// switch_llm).
func (a *Agent) WithLLM(l *LLM) (*Agent, error) {
	next, err := l.Doc()
	if err != nil {
		return nil, err
	}
	doc := a.doc.Copy()
	doc.Set("llm", next)
	c := doc.Object("condenser")
	if own := c.Object("llm"); own != nil && sameLLM(own, a.doc.Object("llm")) {
		c, next = c.Copy(), next.Copy()
		next.Set("usage_id", own.Get("usage_id"))
		c.Set("llm", next)
		quiet(c)
		doc.Set("condenser", c)
	}
	return AgentFrom(doc)
}

// sameLLM reports whether two LLMs differ at most in the name of their usage, and
// in whether they stream.
func sameLLM(a, b *schema.Map) bool {
	plain := func(m *schema.Map) string {
		m = m.Copy()
		m.Delete("usage_id")
		m.Delete("stream") // a condenser's is off, whatever the agent's
		raw, err := schema.Encode(m)
		if err != nil {
			return ""
		}
		return string(raw)
	}
	one := plain(a)
	return one != "" && one == plain(b)
}
