// Package app is the composition root: it opens and closes what the commands work on,
// and contains no command.
package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"savant"
	"savant/agent"
	"savant/agent/fleet"
	"savant/engines"
	"savant/engines/guide"
	"savant/engines/mount"
	"savant/engines/repo"
	"savant/engines/workflow"
	"savant/fault"
	"savant/internal/jobs"
	"savant/internal/mongo"
	"savant/internal/ownfolder"
	"savant/internal/redact"
	"savant/internal/settings"
	"savant/internal/trust"
	"savant/packages"
	rulesessions "savant/rules/sessions"
	"savant/telemetry"
	"savant/think"
	"savant/think/gate/sessions"
	"savant/think/library"
	"savant/think/maintenance"
	"savant/think/state"
)

// Options configure the program for a command.
type Options struct {
	// Version is the program's version.
	Version     string
	Environment []string
	Settings    *settings.Loaded
	// Stderr gets the log for people.
	Stderr io.Writer
	// LogLines gets the lines of that log in the place of Stderr, if whatever else a
	// command writes there must not be interrupted; nil: Stderr gets them.
	LogLines io.Writer
	// Serving: the command serves clients, whose only trace is the log.
	Serving bool
	// Looking: the command only reads and creates no folder of logs.
	Looking bool
	// Approver asks the person at the terminal about a destructive call of the agent, also
	// while it asks about another one; nil without a terminal.
	Approver engines.Approver
	// Watcher gets each telemetry event; it may be nil.
	Watcher telemetry.Watcher
	// Display shows runs of the agent; nil: nobody looks, and the log says what matters.
	Display agent.Display
	// StepDisplay shows what models write for steps of driven workflows; nil disables
	// streaming.
	StepDisplay StepDisplay
	// Nowhere says where a server was started instead of in a project; then it refuses
	// every call. "" in a project.
	Nowhere string
	// Alone: no engine is opened; the command needs only the folder, the log and the
	// trace.
	Alone bool
	// Engines fills the registry; nil means Savant's engines.
	Engines func(*App) error
}

// StepDisplay shows each piece of a model's text for a step of a driven workflow; of
// concurrent steps, for only one.
type StepDisplay interface {
	WroteStep(runID, stepID, text string)
}

// App is the opened program, on which every command works.
type App struct {
	Logger *slog.Logger
	// Root is the folder SAVANT_PATH, Path its absolute name.
	Root   *os.Root
	Path   string
	Store  state.Backend
	Think  *think.Engine
	Driver *workflow.Driver
	// Tools are the tools of all engines.
	Tools *engines.Registry
	// Mounts are the mounted MCP servers.
	Mounts *mount.Mounts
	// Agent executes goals.
	Agent *agent.Runtime
	// Fleet assigns runs of the agent to workers; nil if runs are kept in the folder.
	Fleet    *fleet.Fleet
	Recorder *telemetry.Recorder
	// FlushTime bounds how long Close may take to send the last spans.
	FlushTime time.Duration

	options  Options
	settings settings.Settings
	redactor *redact.Redactor
	log      *logFile
	logs     string // the folder of logs, below Root
	files    projectFiles
	layers   []library.Layer
	packages *packages.Files
	trust    *trust.Folder
	search   *repo.Search
	gate     *sessions.Gate
	rules    *rulesessions.Keeper
	own      []string // the engines that are not mounted
	calls    callTracing
	database *mongo.Database // nil if runs are kept in the folder
	drivers  *jobs.Queue     // of runs in the database; nil if runs are kept in the folder
}

// AbsolutePath returns SAVANT_PATH as an absolute path.
func AbsolutePath(s settings.Settings) (string, error) {
	path, err := filepath.Abs(s.Path)
	if err != nil {
		return "", Misconfigured(fault.New(fault.InvalidParams, "%s is %q, and the working folder was deleted: change to another one, or name one with --path (%w)",
			settings.EnvPath, s.Path, err))
	}
	return path, nil
}

// Open opens the program. It writes nothing, except that it creates an unusual folder
// of logs. An error of a setting or of the folder is a ConfigurationError.
func Open(ctx context.Context, options Options) (*App, error) {
	a := &App{options: options, settings: options.Settings.Settings, redactor: Redactor(options.Environment, options.Settings), FlushTime: flushUsually}
	var err error
	if a.Path, err = AbsolutePath(a.settings); err != nil {
		return nil, err
	}
	if a.files, err = openProject(a.Path); err != nil {
		return nil, Misconfigured(fault.New(fault.InvalidParams, "%s: expected a folder, got %q: %w",
			settings.EnvPath, a.settings.Path, errors.Unwrap(err)))
	}
	a.Root = a.files.root
	unusable := checkOwnFolder(a.Root)
	if unusable != nil && !options.Serving {
		return nil, errors.Join(unusable, a.files.Close())
	}
	a.openLog()
	if unusable != nil { // what needs no runs goes on
		a.Logger.Error("no run can be kept", "reason", unusable)
	}
	a.trust = options.Settings.Folder
	project := guardedFiles{regularFiles: a.files.regularFiles, bundled: savant.Files, folder: a.trust}
	shown := a.Path
	if a.settings.HTTP.Address != "" { // whoever asks is elsewhere
		shown = filepath.Base(a.Path)
	}
	a.packages = packages.NewFiles(a.files.regularFiles)
	a.layers = []library.Layer{{Files: savant.Files, Origin: library.Bundled}, {Files: newPackageFiles(a.packages, a.trust)},
		{Files: projectLayer{project, a.packages}, Folder: a.Path, Shown: shown, Origin: library.Project, Held: project.HeldWorkflow}}
	about := ""
	if options.Looking { // what it would start it does not need
		about = "setting:"
	}
	a.SayUnused(about)
	if a.Store, err = a.openStore(); err != nil {
		return nil, errors.Join(err, a.files.Close())
	}
	a.openTelemetry()
	if a.options.Alone {
		return a, nil
	}
	if err := a.openEngines(); err != nil {
		return nil, errors.Join(err, a.Close(context.Background()))
	}
	return a, nil
}

// openEngines opens all engines. Savant's come first, since mounted ones must not take
// their names.
func (a *App) openEngines() error {
	runs := &guide.Runs{}
	a.rules = rulesessions.Open(rulesessions.Options{Files: a.ruleFiles(), Root: a.Root, Logger: a.Logger, Now: time.Now, Approver: a.options.Approver, Rulings: runs, Approvals: runs})
	a.Tools = engines.NewRegistry(a.toolOptions())
	a.Think = a.engine(a.layers...)
	runs.Engine = a.Think
	answer, err := a.answerer()
	if err != nil {
		return err
	}
	a.Driver = workflow.New(workflow.Options{Think: a.Think, Toolbox: a.Tools, Generate: answer, Logger: a.Logger, Claim: a.claimRun})
	add := a.options.Engines
	if add == nil {
		add = (*App).AddEngines
	}
	if err := errors.Join(add(a), a.openAgent()); err != nil {
		return err
	}
	a.own = a.Tools.Engines()
	a.mountServers()
	return nil
}

// checkOwnFolder refuses a project whose Savant folder cannot be used. An unreadable
// folder is reported when it is used.
func checkOwnFolder(root *os.Root) error {
	info, err := root.Stat(ownfolder.State)
	if err != nil || info.IsDir() {
		return nil
	}
	return Misconfigured(fault.New(fault.InvalidParams, "%s is a file in the folder of %s, and Savant keeps its state in a folder of that name: move the file away (savant hook release does), or set %s to another folder",
		ownfolder.State, settings.EnvPath, settings.EnvPath))
}

// engine returns Think with layers of the library.
func (a *App) engine(layers ...library.Layer) *think.Engine {
	files := library.New(layers...)
	files.Logger, files.Rules = a.Logger, a.rules
	return think.New(think.Options{
		Library:  files,
		Store:    a.storeOfRuns(),
		Tools:    stepTools{a.Tools, a},
		Receipts: a.Store,
		Imports:  a.Store,
		Now:      time.Now,
		NewID:    newID,
		Logger:   a.Logger,
		Hub:      hubOf{a},
		Rules:    &rulesessions.Workflows{Tools: checkedTools{a}},
	})
}

func newID() string { return strings.ToLower(ulid.Make().String()) }

// Keeper maintains the stored runs.
func (a *App) Keeper() *maintenance.Keeper { return maintenance.New(a.Think, a.Store) }

// CloseGrace bounds closing after a signal. Only the projections can be cut short,
// which the journals restore.
const CloseGrace = 50 * time.Millisecond

// Close writes the pending projections and closes all files. After the end of ctx it
// waits only for the grace period.
func (a *App) Close(ctx context.Context) error {
	a.stopCalls()
	closed := make(chan error, 1)
	go func() { closed <- a.closeFiles(ctx) }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-closed:
		return err
	case <-time.After(CloseGrace + flushHurried):
		return nil
	}
}

// stopCalls ends the callers of tools before the tools. Mounted servers get their full
// time: no process may be left behind.
func (a *App) stopCalls() {
	if a.Agent != nil {
		a.Agent.Close() // its runs can be resumed
	}
	if a.Fleet != nil {
		a.Fleet.Close()
	}
	if a.Driver != nil {
		a.Driver.Interrupt()
	}
	if a.Mounts != nil {
		a.Mounts.Close()
	}
}

func (a *App) closeFiles(ctx context.Context) error {
	if a.Driver != nil {
		a.Driver.Close()
	}
	if a.Think != nil {
		a.calls.runs.Wait()
		a.Think.Close()
	}
	if a.gate != nil {
		_ = a.gate.Close() // its files were only read
	}
	err := errors.Join(a.search.Close(), a.closeStore(ctx), a.Recorder.Close())
	a.flushTraces(ctx)
	return errors.Join(err, a.log.Close(), a.files.Close())
}

// variable returns an environment variable.
func (a *App) variable(name string) (string, bool) { return Variable(a.options.Environment, name) }

// Variable returns the last value of a name in a list of NAME=VALUE.
func Variable(environment []string, name string) (string, bool) {
	for _, each := range slices.Backward(environment) {
		if key, value, ok := strings.Cut(each, "="); ok && key == name {
			return value, true
		}
	}
	return "", false
}
