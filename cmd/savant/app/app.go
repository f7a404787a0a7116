// Package app puts the program together: it opens what the commands work on and
// closes it again. It holds the wiring and no command.
package app

import (
	"context"
	"encoding/json"
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
	"savant/engines/mcpio/mount"
	"savant/engines/repo"
	"savant/engines/workflow"
	"savant/fault"
	"savant/internal/mongo"
	"savant/internal/ownfolder"
	"savant/internal/redact"
	"savant/internal/settings"
	"savant/internal/trust"
	"savant/telemetry"
	"savant/think"
	"savant/think/gate/sessions"
	"savant/think/library"
	"savant/think/maintenance"
	"savant/think/state"
)

// Options are what a command knows when it opens the program.
type Options struct {
	// Version is what the program calls itself.
	Version     string
	Environment []string
	Settings    *settings.Loaded
	// Stderr gets the log that people read.
	Stderr io.Writer
	// Serving says that clients are served: the log is all they leave to see.
	Serving bool
	// Looking says that the command only looks: it makes no folder of logs.
	Looking bool
	// Confirm asks the person at the terminal about a destructive call of the
	// agent; nil where nobody can be asked.
	Confirm func(ctx context.Context, tool string, args json.RawMessage) (bool, error)
	// Observe is called with each event of telemetry; it may be nil.
	Observe func(telemetry.Event)
	// Wrote is called with each part of what a model writes for the agent, as it
	// comes, without secrets; nil: models answer at once.
	Wrote func(runID string, step int, text string)
	// WroteStep is called with each part of what a model writes for a step of a driven
	// workflow; of steps that are answered at once, with the text of one. nil: models
	// answer at once.
	WroteStep func(runID, stepID, text string)
	// Progress returns what a call that the agent makes reports its progress to; nil:
	// nobody looks.
	Progress func(tool string) func(done, total float64, message string)
	// Alone opens no engine: the command needs only the folder, the log and the trace.
	Alone bool
	// Engines fills the registry; nil for Savant's own engines.
	Engines func(*App) error
}

// App is the program put together: what every command works on.
type App struct {
	Logger *slog.Logger
	// Root is the folder of SAVANT_PATH, and Path its absolute path.
	Root   *os.Root
	Path   string
	Store  state.Backend
	Think  *think.Engine
	Driver *workflow.Driver
	// Tools are those of every engine there is.
	Tools *engines.Registry
	// Mounts are the engines of other MCP servers.
	Mounts *mount.Mounts
	// Agent works on goals.
	Agent *agent.Runtime
	// Fleet gives runs of the agent to workers; nil where runs are kept in the folder.
	Fleet    *fleet.Fleet
	Recorder *telemetry.Recorder
	// FlushTime is how long closing may take to send the last spans.
	FlushTime time.Duration

	options  Options
	settings settings.Settings
	redactor *redact.Redactor
	log      *logFile
	logs     string // the folder of logs, below Root
	files    projectFiles
	layers   []library.Layer
	trust    *trust.Folder
	search   *repo.Search
	gate     *sessions.Gate
	own      []string // the engines that are not mounted
	calls    callTracing
	database *mongo.Database // nil where runs are kept in the folder
}

// AbsolutePath is SAVANT_PATH from the root.
func AbsolutePath(s settings.Settings) (string, error) {
	path, err := filepath.Abs(s.Path)
	if err != nil {
		return "", Misconfigured(fault.New(fault.InvalidParams, "%s is %q, and the folder this was started in is gone: go to another, or name one with --path (%w)",
			settings.EnvPath, s.Path, err))
	}
	return path, nil
}

// Open puts the program together. It writes nothing yet, except that it makes the folder of
// logs where that is not the usual one. The error is a
// ConfigurationError where a setting or the folder is what is wrong.
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
	if err := checkOwnFolder(a.Root); err != nil {
		return nil, errors.Join(err, a.files.Close())
	}
	a.openLog()
	a.trust = options.Settings.Folder
	project := guardedFiles{a.files.regularFiles, savant.Files, a.trust}
	a.layers = []library.Layer{{Files: savant.Files, Origin: library.Bundled}, {Files: project, Folder: a.Path, Origin: library.Project, Held: project.Held}}
	a.sayUnused()
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

// openEngines opens whatever has tools, Savant's own before mounted ones, which
// may not take their names.
func (a *App) openEngines() error {
	a.Tools = engines.NewRegistry(a.toolOptions())
	a.Think = a.engine(a.layers...)
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

// checkOwnFolder refuses a project in which Savant can keep nothing. A folder
// that cannot be read is reported by whoever needs it.
func checkOwnFolder(root *os.Root) error {
	info, err := root.Stat(ownfolder.State)
	if err != nil || info.IsDir() {
		return nil
	}
	return Misconfigured(fault.New(fault.InvalidParams, "%s is a file in the folder of %s, and Savant keeps its state in a folder of that name: move the file away, or let %s be another folder",
		ownfolder.State, settings.EnvPath, settings.EnvPath))
}

// engine returns Think over layers.
func (a *App) engine(layers ...library.Layer) *think.Engine {
	files := library.New(layers...)
	files.Logger = a.Logger
	return think.New(think.Options{
		Library:      files,
		Store:        a.Store,
		Person:       guide.Person,
		KnownTool:    func(name string) bool { _, known := a.Tools.Resolve(name); return known },
		Tool:         a.knownTool,
		Unpublished:  a.unpublished,
		Missing:      a.Tools.Missing,
		ToolsVersion: a.Tools.Version,
		ToolNames:    a.Tools.Names,
		Receipt:      a.Store.Receipt,
		Latest:       a.Store.LatestCall,
		Imports:      a.Store,
		Commands:     a.commandDigests,
		Asked:        guide.Asked(a.Tools),
		Fits:         a.Tools.Fits,
		Now:          time.Now,
		NewID:        newID,
		Logger:       a.Logger,
	})
}

func newID() string { return strings.ToLower(ulid.Make().String()) }

// Keeper looks after the runs that are kept.
func (a *App) Keeper() *maintenance.Keeper { return maintenance.New(a.Think, a.Store) }

// CloseGrace is how long closing may take once the program was told to end.
// What it cuts short is only the readable copy of what the journals hold.
const CloseGrace = 50 * time.Millisecond

// Close writes what is still to be projected and lets go of every file. Once
// ctx has ended it waits no longer than the grace.
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

// stopCalls ends what calls tools before the tools themselves go. Mounted servers
// are not hurried by the end of the program: no process may be left behind.
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
		a.Think.Close()
	}
	if a.gate != nil {
		_ = a.gate.Close() // only files that were read
	}
	err := errors.Join(a.search.Close(), a.closeStore(ctx), a.Recorder.Close())
	a.flushTraces(ctx)
	return errors.Join(err, a.log.Close(), a.files.Close())
}

// variable returns an environment variable.
func (a *App) variable(name string) (string, bool) { return Variable(a.options.Environment, name) }

// Variable returns the last value that a list of NAME=VALUE has for a name.
func Variable(environment []string, name string) (string, bool) {
	for _, each := range slices.Backward(environment) {
		if key, value, ok := strings.Cut(each, "="); ok && key == name {
			return value, true
		}
	}
	return "", false
}
