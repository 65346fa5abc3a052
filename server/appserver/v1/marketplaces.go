package v1

import (
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/plugin/gitsource"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/conversations"
	"github.com/deft-dev/deft/server/rest"
)

// mostMarketplaces bounds the repositories that one request has cloned.
const mostMarketplaces = 5

var marketplaceForm = &schema.Object{Name: "MarketplaceRegistration", Fields: []schema.Field{
	{Name: "name", Type: schema.String{}, Required: true},
	{Name: "source", Type: schema.String{}, Required: true},
	{Name: "ref", Type: schema.Opt(schema.String{})},
	{Name: "repo_path", Type: schema.Opt(schema.String{Valid: gitsource.CheckPath})},
	{Name: "auto_load", Type: schema.Any{}},
}}

// marketplacePlugin is a plugin that a marketplace names (MarketplacePluginPreview).
type marketplacePlugin struct {
	Name        string  `json:"name"`
	Description *string `json:"description"`
	Source      string  `json:"source"`
	Marketplace string  `json:"marketplace"`
}

// previews is the content of marketplaces (MarketplaceSkillsPreviewResponse).
type previews struct {
	Skills  []listedSkill       `json:"skills"`
	Plugins []marketplacePlugin `json:"plugins"`
	By      map[string][]string `json:"marketplace_skills"`
	Errors  []string            `json:"errors"`
}

// previewMarketplaces reads which skills and plugins public repositories have. One that
// cannot be read is named in the answer.
func (s *Service) previewMarketplaces(r *http.Request) (any, error) {
	v, err := rest.RequiredDocument(r)
	if err != nil {
		return nil, err
	}
	checked, err := schema.Check(schema.List{Of: marketplaceForm}, v, schema.Reading{}, "body")
	if err != nil {
		return nil, err
	}
	list, _ := checked.([]any)
	if len(list) > mostMarketplaces {
		return nil, schema.Invalid("Too many marketplaces. Ask for them in several requests", len(list), "body")
	}
	out := previews{[]listedSkill{}, []marketplacePlugin{}, map[string][]string{}, []string{}}
	for _, one := range list {
		m, _ := one.(*schema.Map)
		if err := out.add(r, m); err != nil {
			if r.Context().Err() != nil {
				return nil, err
			}
			out.Errors = append(out.Errors, m.Text("name")+": "+fault.Text(err))
		}
	}
	return out, nil
}

func (p *previews) add(r *http.Request, m *schema.Map) error {
	var from plugin.Source
	if err := schema.Into(m, &from); err != nil {
		return err
	}
	if err := conversations.CheckPlugins([]conversations.Plugin{{Source: from}}); err != nil {
		return err
	}
	found, err := plugin.Loader{}.Preview(r.Context(), from)
	if err != nil {
		return err
	}
	name := m.Text("name")
	for _, why := range found.LeftOut {
		p.Errors = append(p.Errors, name+": "+why)
	}
	for _, one := range found.Plugins {
		p.Plugins = append(p.Plugins, marketplacePlugin{one.Name, one.Description, from.Source, name})
	}
	p.By[name] = []string{}
	for _, one := range found.Skills {
		p.Skills = append(p.Skills, listedSkill{one.Name, "knowledge", "marketplace:" + name, one.Triggers})
		p.By[name] = append(p.By[name], one.Name)
	}
	return nil
}
