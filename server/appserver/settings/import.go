package settings

import (
	"net/http"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings/openhands"
)

var importBody = &schema.Object{Fields: []schema.Field{
	{Name: "files", Type: schema.List{Of: &schema.Object{Fields: []schema.Field{
		{Name: "name", Type: schema.String{Min: 1, Max: 256}, Required: true},
		{Name: "content", Type: schema.String{}, Required: true},
	}}}, Required: true},
	{Name: "apply", Type: schema.Bool{}, Default: false},
}}

// imported is the result of reading files of OpenHands. Nothing in it is a secret.
type imported struct {
	Taken   []openhands.Taken `json:"taken"`
	Left    []openhands.Left  `json:"left"`
	Applied bool              `json:"applied"`
}

// takeOver reads files of OpenHands, and stores their settings if it is told to
// apply.
func (u user) takeOver(w http.ResponseWriter, r *http.Request) error {
	var form struct {
		Files []struct {
			Name    string `json:"name"`
			Content string `json:"content"`
		} `json:"files"`
		Apply bool `json:"apply"`
	}
	if err := rest.Read(r, importBody, &form); err != nil {
		return err
	}
	files := make([]openhands.File, len(form.Files))
	for i, f := range form.Files {
		files[i] = openhands.File{Name: f.Name, Content: []byte(f.Content)}
	}
	plan, err := openhands.Read(files...)
	if err != nil {
		return err
	}
	out := imported{Taken: plan.Taken, Left: plan.Left, Applied: form.Apply}
	if form.Apply {
		var check openhands.Check
		if u.s.o.Tokens != nil {
			check = u.s.o.Tokens.CheckToken
		}
		more, err := plan.Apply(r.Context(), u.Service, check)
		if err != nil {
			return err
		}
		out.Left = append(out.Left, more...)
	}
	return rest.JSON(w, http.StatusOK, out)
}
