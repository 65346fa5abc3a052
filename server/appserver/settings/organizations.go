package settings

import (
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/server/rest"
)

// organizations are the operations with which clients of OpenHands' cloud reach what an
// organization has. Here each user is an organization of one, whose id its API keys name.
func (s *Service) organizations() []rest.Route {
	const all, one = "/api/organizations", "/api/organizations/{org_id}"
	r := func(method, path string, h handler) rest.Route {
		return rest.Route{Method: method, Path: path, Tag: "Organizations", Limit: 1 << 20, Scope: rest.Account, Handle: rest.Value(s.user(h))}
	}
	return OfOrganization(
		r("GET", all, user.listOrganizations),
		r("GET", one+"/me", user.member),
		r("GET", one+"/profiles", user.listProfiles),
		r("GET", one+"/profiles/{name}", user.organizationProfile),
		r("POST", one+"/profiles/{name}", user.saveForOrganization),
		r("DELETE", one+"/profiles/{name}", user.deleteProfile),
		r("POST", one+"/profiles/{name}/activate", user.activateForOrganization),
		r("POST", one+"/profiles/{name}/rename", user.renameProfile),
	)
}

// OfOrganization returns routes that refuse the id of an organization that the caller is
// not in. Only users may call them: no sandbox sees what its owner's organization has.
func OfOrganization(routes ...rest.Route) []rest.Route {
	for i, r := range routes {
		routes[i].Scope = rest.Account
		routes[i].Handle = func(w http.ResponseWriter, req *http.Request) error {
			own := organisation(identity.CallerOf(req.Context()).Tenant())
			if id := req.PathValue("org_id"); id != "" && id != own {
				return fault.New(fault.NotFound, "Organization not found")
			}
			return r.Handle(w, req)
		}
	}
	return routes
}

// permissions are the permissions of an organization's owner that have an effect here. There are no automations.
var permissions = []string{"view_llm_settings", "edit_llm_settings", "view_org_settings", "edit_org_settings"}

// listOrganizations answers with the caller's only one (OrgPage).
func (u user) listOrganizations(r *http.Request) (any, error) {
	id := organisation(u.caller.Tenant())
	own := map[string]any{
		"id": id, "name": "Personal", "is_personal": true, "contact_name": string(u.caller.User), "contact_email": "",
	}
	return map[string]any{"items": []any{own}, "next_page_id": nil, "current_org_id": id}, nil
}

// member is the caller as a member of the organization (MeResponse).
func (u user) member(*http.Request) (any, error) {
	return map[string]any{
		"org_id": organisation(u.caller.Tenant()), "user_id": string(u.caller.User), "email": "", "role": "owner", "permissions": permissions,
		"llm_api_key": "", "llm_api_key_for_byor": nil, "agent_settings_diff": map[string]any{}, "conversation_settings_diff": map[string]any{}, "status": "active",
	}, nil
}

// organizationProfile is getProfile in the form of organizations, where the LLM has another
// name.
func (u user) organizationProfile(r *http.Request) (any, error) {
	out, err := u.getProfile(r)
	if err != nil {
		return nil, err
	}
	answer, _ := out.(map[string]any) // as getProfile makes it
	answer["llm"] = answer["config"]
	return answer, nil
}

// activateForOrganization is activateProfile in the form of organizations.
func (u user) activateForOrganization(r *http.Request) (any, error) {
	out, err := u.activateProfile(r)
	if err != nil {
		return nil, err
	}
	doc, err := u.Load()
	if err != nil {
		return nil, err
	}
	answer, _ := out.(map[string]any) // as activateProfile makes it
	answer["llm"] = map[string]any{"model": doc.Agent.Object("llm").Get("model")}
	return answer, nil
}
