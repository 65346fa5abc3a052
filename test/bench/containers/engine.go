package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
)

// engine is the engine, and Deft's provider of its containers.
type engine struct {
	*bench
	self     string // the program in its containers
	client   *client.Client
	provider *docker.Provider
}

func (b *bench) engine(self string) (*engine, error) {
	c, err := client.New(client.WithHost(b.docker))
	if err != nil {
		return nil, err
	}
	p, err := docker.New(docker.Options{Dir: filepath.Join(b.dir, "docker"), Image: b.image, Host: b.docker, Self: self})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &engine{b, self, c, p}, nil
}

func (e *engine) close() {
	_ = e.provider.Close() // the bench ends
	_ = e.client.Close()
}

// starts compares Deft's cold start with a plain container's, one after the other.
func (e *engine) starts(ctx context.Context, what, ociRuntime string) error {
	var plain, answered, deft, actions []time.Duration
	for i := range e.runs + 1 {
		p, err := e.plain(ctx, fmt.Sprintf("%s%d", ociRuntime, i), ociRuntime)
		if err != nil {
			return fmt.Errorf("plain container: %w", err)
		}
		answer, d, trips, err := e.deftStart(ctx, fmt.Sprintf("%s%d", ociRuntime, i), ociRuntime)
		if err != nil {
			return fmt.Errorf("sandbox: %w", err)
		}
		if i == 0 { // files are read from the disk for the first time
			continue
		}
		plain, answered, deft, actions = append(plain, p), append(answered, answer), append(deft, d), append(actions, trips...)
	}
	e.row(what+", cold start of a plain server until it answers", "", spread(plain))
	ratio := func(d []time.Duration) string {
		return fmt.Sprintf("%.2fx: ", float64(median(d))/float64(median(plain)))
	}
	e.row(what+", cold start of a sandbox until its server answers", "<= 1.15x of it", ratio(answered)+spread(answered))
	e.row(what+", until the first command is done", "", ratio(deft)+spread(deft))
	budget := ""
	if ociRuntime == "" {
		budget = "p50 <= 2 ms"
	}
	e.row(what+", an action's round trip (terminal: true)", budget, spread(actions))
	return nil
}

// plain starts the server to compare with in a container, and waits until it answers.
func (e *engine) plain(ctx context.Context, name, ociRuntime string) (took time.Duration, err error) {
	dir, err := os.MkdirTemp(e.dir, "plain-")
	if err != nil {
		return 0, err
	}
	began := time.Now()
	made, err := e.client.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name:   "deft-bench-" + filepath.Base(dir) + name,
		Config: &container.Config{Image: e.image, Entrypoint: []string{"/server", "/run/bench/s"}},
		HostConfig: &container.HostConfig{
			NetworkMode: "none", Runtime: ociRuntime, Binds: []string{dir + ":/run/bench", e.server + ":/server:ro"},
		},
	})
	if err != nil {
		return 0, err
	}
	defer func() {
		_, rerr := e.client.ContainerRemove(context.WithoutCancel(ctx), made.ID, client.ContainerRemoveOptions{Force: true})
		err = errors.Join(err, rerr)
	}()
	if _, err := e.client.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		return 0, err
	}
	if err := answers(ctx, filepath.Join(dir, "s")); err != nil {
		return 0, err
	}
	return time.Since(began), nil
}

// answers waits until the server answers.
func answers(ctx context.Context, socket string) error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(500 * time.Microsecond) {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		if err == nil {
			b := make([]byte, 2)
			_, err = conn.Read(b)
			if err = errors.Join(err, conn.Close()); err == nil {
				return nil
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server does not answer: %w", err)
		}
	}
}

// deftStart starts a sandbox, waits until its server answers, and runs a command in it, and
// then more of them.
func (e *engine) deftStart(ctx context.Context, id, ociRuntime string) (answered, took time.Duration, actions []time.Duration, err error) {
	ws, err := e.workspace(id)
	if err != nil {
		return 0, 0, nil, err
	}
	began := time.Now()
	s, err := e.provider.Start(ctx, e.spec(id, ws, ociRuntime))
	if err != nil {
		return 0, 0, nil, err
	}
	defer func() { err = errors.Join(err, e.provider.Remove(context.WithoutCancel(ctx), id)) }()
	rt, err := connect(s)
	if err != nil {
		return 0, 0, nil, err
	}
	defer rt.Close()
	if _, err := rt.Health(ctx); err != nil {
		return 0, 0, nil, err
	}
	answered = time.Since(began)
	if err := command(ctx, rt); err != nil {
		return 0, 0, nil, err
	}
	took = time.Since(began)
	for range 50 {
		began := time.Now()
		if err := command(ctx, rt); err != nil {
			return 0, 0, nil, err
		}
		actions = append(actions, time.Since(began))
	}
	return answered, took, actions, nil
}

func (e *engine) spec(id, ws, ociRuntime string) sandbox.Spec {
	return sandbox.Spec{
		ID: id, Workspace: ws, Argv: []string{e.self, "action-server", "--workspace", ws, "--grace", "1m", "--ignore-signals", "--net=none"},
		Container: sandbox.Container{Pull: sandbox.PullNever, Runtime: ociRuntime},
	}
}

// workspace makes an empty one.
func (b *bench) workspace(id string) (string, error) {
	ws := filepath.Join(b.dir, "workspaces", "of-"+id)
	return ws, os.MkdirAll(ws, 0o755)
}
