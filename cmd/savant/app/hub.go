package app

import (
	"context"
	"path/filepath"

	"savant/hub"
	"savant/think/state"
)

// Hub returns the web page of all that there is here, served at address until ctx
// ends.
func (a *App) Hub(ctx context.Context, address string) (*hub.Hub, error) {
	_, decider, err := Reasoner(a.settings.Reasoning, a.options.Version, nil)
	if err != nil {
		return nil, err
	}
	return hub.New(ctx, hub.Options{Address: address, Folder: a.Path, Version: a.options.Version, Decider: decider, Think: a.Think, Keeper: a.Keeper(),
		Agent: a.Agent, Tools: a.Tools, Recorder: a.Recorder, Redactor: a.redactor, Runs: standings{a}, Logs: filepath.Join(a.Path, filepath.FromSlash(a.logs)), Logger: a.Logger})
}

// standings says for the hub where runs stand.
type standings struct{ app *App }

func (s standings) Standing(ctx context.Context, run state.Info) hub.Standing {
	at := s.app.StandingOf(ctx, run)
	return hub.Standing{Status: at.Status, WaitsFor: at.WaitsFor, Steps: at.Steps}
}
