package config

import (
	"cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

// Runtimes of conversations (docs/openhands/sdk-wire-1.58.md section D).
const (
	RuntimeLocal  = "local"
	RuntimeDocker = "docker"
)

// Containers reports whether conversations can have containers.
func (l *Loaded) Containers() bool {
	return l.ConversationRuntime == RuntimeDocker || l.ConversationRuntimeSelectable
}

// chooseRuntime makes --sandbox docker and conversation_runtime say the same.
func (f *Flags) chooseRuntime(c *Config) error {
	switch {
	case f.Sandbox == RuntimeDocker: // the class of containers has the contract's name
		c.ConversationRuntime = RuntimeDocker
	case c.ConversationRuntime != RuntimeDocker:
	case f.Sandbox != "" && f.Sandbox != sandbox.None.Name:
		return fault.New(fault.Invalid, "--sandbox "+f.Sandbox+" and conversation_runtime docker exclude each other").
			Hint("leave one of them out")
	default:
		f.Sandbox = RuntimeDocker
		f.Image = cmp.Or(f.Image, c.ConversationImage)
	}
	return nil
}

// applyContainer fills in the parameters of containers: the flags, then the
// settings of the contract.
func (l *Loaded) applyContainer(f Flags) error {
	if !l.Containers() {
		if l.Sandbox.Has(sandbox.FeatureImage) {
			l.Container = f.container()
		}
		return nil
	}
	d := l.DockerRuntime
	image := f.Image
	if d.ConversationImage != Default().ConversationImage {
		image = cmp.Or(image, d.ConversationImage)
	}
	l.Container = f.container()
	l.Container.Image = image
	memory := sandbox.Size(-1)
	if d.ConversationContainerMemory != nil {
		if memory.UnmarshalText([]byte(*d.ConversationContainerMemory)) != nil {
			return wrong("conversation_container_memory", "is not a size, such as 4g")
		}
	}
	or := sandbox.Limits{MemoryBytes: int64(memory), CPUs: -1, PIDs: -1}
	if d.ConversationContainerCPUs != nil {
		or.CPUs = *d.ConversationContainerCPUs
	}
	if d.ConversationContainerPidsLimit != nil {
		or.PIDs = *d.ConversationContainerPidsLimit
	}
	l.ContainerLimits = l.Limits.Or(or)
	return nil
}

// container makes a container of the flags. Mounts are checked later.
func (f Flags) container() sandbox.Container {
	return sandbox.Container{
		Image: f.Image, Pull: f.Pull, Runtime: f.OCIRuntime, DiskBytes: max(0, int64(f.Disk)),
		ExtraHosts: f.AddHost, ReadOnly: f.ReadOnly, GPUs: f.GPUs,
	}
}

// ineffective warns of settings without effect.
func (d DockerRuntime) ineffective() (out []string) {
	usual := Default().DockerRuntime
	if d.ConversationContainerStartupTimeout != usual.ConversationContainerStartupTimeout {
		out = append(out, "conversation_container_startup_timeout has no effect: a container has a minute from the start of its program")
	}
	if d.ConversationImageHasBrowser != nil {
		out = append(out, "conversation_image_has_browser has no effect: an agent is told where its image has no browser")
	}
	if d.ConversationStorageDiskBudget != nil {
		out = append(out, "conversation_storage_disk_budget has no effect: files of builds in workspaces are kept. "+
			"conversation_storage_retention_days archives unused conversations")
	}
	return out
}
