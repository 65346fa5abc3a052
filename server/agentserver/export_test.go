package agentserver

import (
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/agentserver/conversation"
	"github.com/deft-dev/deft/server/agentserver/deferredinit"
	"github.com/deft-dev/deft/server/agentserver/info"
	"github.com/deft-dev/deft/server/agentserver/skills"
	"github.com/deft-dev/deft/server/agentserver/socket"
	"github.com/deft-dev/deft/server/rest"
)

// Routes are the operations of a server, which cannot be called.
func Routes() []rest.Route {
	v := &services{
		cfg: &config.Loaded{Config: config.Default()}, adapters: noAdapters{},
		conversations: &conversation.Service{}, sockets: &socket.Service{}, skills: skills.New(skills.Options{}),
	}
	s := &Server{details: &info.Service{}, deferred: &deferredinit.Service{}}
	return s.routes(v, v.cfg)
}
