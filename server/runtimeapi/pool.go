package runtimeapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/runtimeapi/registry"
)

// pooled is an entry of the file of --pool. It has the fields of start requests.
type pooled struct {
	Image        string  `json:"image"`
	Factor       float64 `json:"resource_factor"`
	User         *int    `json:"run_as_user"`
	Group        *int    `json:"run_as_group"`
	FSGroup      *int    `json:"fs_group"`
	Pull         string  `json:"image_pull_policy"`
	RuntimeClass string  `json:"runtime_class"`
	Size         int     `json:"size"`
	MaxAge       string  `json:"max_age"`
}

// ParsePool reads a list of sandboxes that wait for requests, as JSON.
func ParsePool(raw []byte) (warm []registry.Warm, err error) {
	var all []pooled
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, fault.New(fault.Invalid, "the file of --pool is no list of sandboxes: "+err.Error())
	}
	for i, e := range all {
		w := registry.Warm{Request: registry.Request{
			Image: e.Image, Factor: e.Factor, User: e.User, Group: e.Group, FSGroup: e.FSGroup, RuntimeClass: e.RuntimeClass,
		}}
		if w.Request.Pull, err = ParsePullPolicy(e.Pull); err != nil {
			return nil, err
		}
		w.Size.Ready = e.Size
		if e.MaxAge != "" {
			if w.Size.MaxAge, err = time.ParseDuration(e.MaxAge); err != nil {
				return nil, fault.New(fault.Invalid, fmt.Sprintf("--pool: max_age of entry %d is no duration", i+1))
			}
		}
		if e.Size < 1 || w.Size.MaxAge < 0 {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("--pool: size and max_age of entry %d must be more than 0", i+1))
		}
		warm = append(warm, w)
	}
	return warm, nil
}
