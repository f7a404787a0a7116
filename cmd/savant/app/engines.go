package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"savant/agent"
	"savant/engines"
	"savant/engines/author"
	"savant/engines/ci"
	"savant/engines/git"
	"savant/engines/guide"
	"savant/engines/repo"
	"savant/engines/review"
	"savant/engines/workflow"
	"savant/fault"
	"savant/internal/settings"
	"savant/internal/withheld"
	"savant/think"
	"savant/think/flow"
	"savant/think/gate"
	"savant/think/gate/sessions"
)

// stepsAtOnce is the maximum number of concurrent calls of Think: each may hold a
// thread while the disk writes.
const stepsAtOnce = 256

// AddEngines fills the registry: one line per engine.
func (a *App) AddEngines() error {
	kept, err := withheld.Except(a.settings.ShownFiles)
	if err != nil {
		return Misconfigured(&settings.Error{Setting: withheld.Setting, Value: strings.Join(a.settings.ShownFiles, ","), Expected: "patterns such as *.pem or deploy/prod.env"})
	}
	reading := git.Options{Roots: a.gitRoots(), Untrusted: a.settings.Untrusted, Withheld: kept}
	commands, commandTools := ci.Engine(a.ciOptions())
	a.search = repo.NewSearch(repo.SearchOptions{Path: a.Path, Repos: a.settings.Repos, Withheld: kept, Logger: a.Logger})
	files, fileTools := repo.Engine(repo.Options{Path: a.Path, Repos: a.settings.Repos, Withheld: kept, Past: a.finishedRuns, Redactor: a.redactor}, a.search)
	reviewing, reviewTools := review.Engine(a.Tools)
	authoring, authorTools := author.Engine(a.Think)
	opened, err := sessions.Open(a.Path, a, time.Now)
	if err != nil {
		return err
	}
	a.gate = opened
	return errors.Join(
		a.Tools.AddEngine(reviewing, reviewTools...),
		a.Tools.AddEngine(authoring, authorTools...),
		a.Tools.AddEngine(engines.Engine{Name: "think", Description: "guides a model through a workflow", Concurrency: stepsAtOnce, OrderBy: "run_id"}, guide.Tools(a.Think, a.hooks(opened))...),
		a.Tools.AddEngine(engines.Engine{Name: "workflow", Description: "runs a workflow without a client", OrderBy: "run_id"}, a.Driver.Tools()...),
		a.Tools.AddEngine(engines.Engine{Name: "rules", Description: "says what the project's rules say about a call"}, a.rules.Tools(a.Tools)...),
		a.Tools.AddEngine(git.Engine(), git.Tools(reading)...),
		a.Tools.AddEngine(commands, commandTools...),
		a.Tools.AddEngine(files, fileTools...),
	)
}

// hooks returns how clients' hooks take part in Think's tools.
func (a *App) hooks(opened *sessions.Gate) guide.Hooks {
	return guide.Hooks{Required: a.settings.Enforce == flow.EnforceRequired, Announcements: opened, Rulings: a.rules}
}

// Shared implements sessions.Project.
func (a *App) Shared() (sessions.Shared, error) {
	shared, _ := a.Store.(sessions.Shared) // the store of a folder is none
	return shared, nil
}

// Described implements sessions.Project.
func (a *App) Described() ([]gate.Tool, error) {
	apps, err := a.apps()
	if err != nil {
		return nil, err
	}
	var out []gate.Tool
	for _, each := range slices.Concat(a.Tools.Tools(), apps.Tools().Tools()) {
		if !each.Mounted {
			out = append(out, gate.Tool{Name: each.Name, ReadOnly: each.ReadOnly})
		}
	}
	return out, nil
}

// DescribeTools returns what the gate needs to know of Savant's tools. It opens no
// runs and starts nothing.
func DescribeTools(path string) ([]gate.Tool, error) {
	a := &App{Path: path, Logger: slog.New(slog.DiscardHandler), Tools: engines.NewRegistry(engines.Options{})}
	a.Think = think.New(think.Options{})
	defer a.Think.Close()
	a.Driver, a.Agent = workflow.New(workflow.Options{}), agent.New(agent.Options{})
	err := errors.Join(a.AddEngines(), a.addAgent())
	if a.gate != nil {
		_ = a.gate.Close() // its files were only read
	}
	described, failed := a.Described()
	return described, errors.Join(err, failed)
}

func (a *App) ciOptions() ci.Options {
	return ci.Options{Path: a.Path, ReadYAML: flow.ReadYAMLPlaces, Trust: a.trust}
}

func (a *App) gitRoots() []string { return append([]string{a.Path}, a.settings.GitRoots...) }

// toolOptions returns the options of the registry. Receipts and large results are
// stored with the runs, where other processes find them.
func (a *App) toolOptions() engines.Options {
	options := engines.Options{
		Logger:    a.Logger,
		Observer:  callObserver{a},
		Seeker:    mountSeeker{a},
		Advisor:   advisor{},
		Rules:     a.rules,
		Receipts:  a.Store,
		Artifacts: a.Store,
	}
	if a.options.Nowhere != "" {
		options.Rules = withoutProject(a.options.Nowhere)
	}
	return options
}

// withoutProject refuses every call of a server that was started in the named place.
type withoutProject string

// Reserve implements engines.Rules.
func (w withoutProject) Reserve(context.Context, engines.Call, engines.Tool, json.RawMessage) (engines.Reservation, error) {
	return nil, fault.New(fault.InvalidParams, "%s", w.says())
}

// ToolNotes implements engines.Rules.
func (withoutProject) ToolNotes() func(string) string { return func(string) string { return "" } }

func (w withoutProject) says() string {
	return "Savant was started in " + string(w) + ", which is no project, and no " + settings.EnvPath + " names one: set it to the absolute path of a project " +
		"where the client configures this server, or start the client in the project"
}

// Published returns the tools of the engines in MCP_SERVICE.
func (a *App) Published() (*engines.Registry, error) {
	known := a.Tools.Engines()
	for _, service := range a.settings.Services {
		if service == settings.All {
			return a.Tools, nil
		}
		if !slices.Contains(known, service) {
			return nil, unknownService(service, known)
		}
	}
	return a.Tools.Only(a.settings.Services...), nil
}

func unknownService(service string, known []string) error {
	expected := strings.Join(known, ", ") + " or " + settings.All + fault.NearestHint(" (did you mean %s?)", service, known)
	return Misconfigured(&settings.Error{Setting: settings.EnvServices, Value: service, Expected: "engines from " + expected})
}
