package app

import (
	"cmp"
	"context"
	"os/user"
	"path/filepath"

	"savant/hub"
	"savant/internal/access"
	"savant/think/state"
)

// HubAt says where a hub is served, and how.
type HubAt struct {
	Address  string
	ReadOnly bool
	// Tokens is the file of tokens that open it.
	Tokens string
}

// Hub returns the web page of all that there is here, until ctx ends.
func (a *App) Hub(ctx context.Context, at HubAt) (*hub.Hub, error) {
	door, err := access.NewDoor(access.DoorOptions{File: at.Tokens, Logger: a.Logger})
	if err != nil {
		return nil, err
	}
	sessions := Configuration(a.options.Environment)
	if sessions != "" {
		sessions = filepath.Join(sessions, "savant", "hub")
	}
	client, decider, err := Reasoner(a.settings.Reasoning, a.options.Version, nil)
	if err != nil {
		return nil, err
	}
	late, _ := client.Transport().(*lateService)
	return hub.New(ctx, hub.Options{Address: at.Address, URL: a.settings.Hub.URL, Door: door, Token: a.settings.Hub.Token, Sessions: sessions,
		ReadOnly: at.ReadOnly, NoAnswers: !a.settings.Hub.Answers, Person: UserName() + " in the hub", Folder: a.Path, Version: a.options.Version, Think: a.Think, Driver: a.Driver, Keeper: a.Keeper(),
		Agent: a.Agent, Tools: a.Tools, Recorder: a.Recorder, Redactor: a.redactor, Standings: standings{a, decider, late}, Logs: filepath.Join(a.Path, filepath.FromSlash(a.logs)), Logger: a.Logger})
}

// UserName is the name of whoever runs the program.
func UserName() string {
	current, err := user.Current()
	if err != nil {
		return "a person at this machine"
	}
	return cmp.Or(current.Username, current.Name, "user "+current.Uid)
}

// standings says for the hub how things stand.
type standings struct {
	app     *App
	decider string
	late    *lateService // nil where the models are known
}

// Standing is where a run of a workflow is.
func (s standings) Standing(ctx context.Context, run state.Info) hub.Standing {
	at := s.app.StandingOf(ctx, run)
	return hub.Standing{Status: at.Status, WaitsFor: at.WaitsFor, Steps: at.Steps}
}

// Driven reports whether a process drives a run of a workflow now.
func (s standings) Driven(run state.Key) bool { return s.app.Driven(run) }

// Decider is who decides for the agent: of models that nobody set, those that are
// found when it is first asked.
func (s standings) Decider(ctx context.Context) string {
	if s.late != nil {
		return s.late.name(ctx)
	}
	return s.decider
}
