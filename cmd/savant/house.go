package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"savant"
	"savant/agent"
	"savant/engines"
	"savant/engines/git"
	"savant/engines/guide"
	"savant/engines/mcpio/mount"
	"savant/engines/repo"
	"savant/engines/workflow"
	"savant/fault"
	"savant/internal/ownfolder"
	"savant/internal/settings"
	"savant/think"
	"savant/think/library"
	"savant/think/state"
)

// house is the program put together: what every command works on.
type house struct {
	logger *slog.Logger
	log    *logFile
	root   *os.Root
	files  projectFiles
	path   string // SAVANT_PATH, absolute
	given  string // SAVANT_PATH as it was given, for what people read
	layers []library.Layer
	store  *state.Dir
	think  *think.Engine
	driver *workflow.Driver
	search *repo.Search
	// tools are those of every engine there is.
	tools *engines.Registry
	// mounts are the engines of other MCP servers.
	mounts *mount.Mounts
	// agent works on goals; attended: a person at the terminal can be asked.
	agent    *agent.Runtime
	attended bool
	telling
}

// absolute is SAVANT_PATH from the root.
func (p *program) absolute() (string, error) {
	path, err := filepath.Abs(p.settings.Path)
	if err != nil {
		return "", misconfigured(fault.New(fault.InvalidParams, "%s is %q, and the folder this was started in is gone: go to another, or name one with --path (%w)",
			settings.EnvPath, p.settings.Path, err))
	}
	return path, nil
}

// open puts the program together. Nothing is written yet.
func (p *program) open() (*house, error) {
	path, err := p.absolute()
	if err != nil {
		return nil, err
	}
	files, err := openProject(path)
	if err != nil {
		return nil, misconfigured(fault.New(fault.InvalidParams, "%s: expected a folder, got %q: %w",
			settings.EnvPath, p.settings.Path, errors.Unwrap(err)))
	}
	if err := checkOwnFolder(files.root); err != nil {
		return nil, errors.Join(err, files.Close())
	}
	h := &house{root: files.root, files: files, path: path, given: p.settings.Path, log: &logFile{root: files.root, complain: p.stderr}}
	h.logger = p.newLogger(h.log, path)
	logOfLibraries(h.logger)
	p.warnOfSettings(h)
	h.layers = []library.Layer{{Files: savant.Files}, {Files: files, Folder: path}}
	if h.store, err = state.Open(path, state.Options{}); err != nil {
		return nil, errors.Join(err, files.Close())
	}
	p.openTelemetry(h)
	h.attended = p.attended
	h.tools = engines.NewRegistry(h.toolOptions())
	h.think = h.engine(h.layers...)
	answer, err := p.answerer()
	if err != nil {
		return nil, errors.Join(err, h.store.Close(), files.Close())
	}
	h.driver = workflow.New(workflow.Options{Think: h.think, Toolbox: h.tools, Generate: answer, Logger: h.logger, Claim: h.claimRun})
	if err := p.engines(h, p.settings); err != nil {
		return nil, errors.Join(err, h.close(context.Background()))
	}
	if err := p.openAgent(h); err != nil {
		return nil, errors.Join(err, h.close(context.Background()))
	}
	p.mountServers(h)
	return h, nil
}

// checkOwnFolder refuses a project in which Savant can keep nothing, whatever is
// asked of it. What cannot be looked at is told where it is needed.
func checkOwnFolder(root *os.Root) error {
	info, err := root.Stat(ownfolder.State)
	if err != nil || info.IsDir() {
		return nil
	}
	return misconfigured(fault.New(fault.InvalidParams, "%s is a file in the folder of %s, and Savant keeps its state in a folder of that name: move the file away, or let %s be another folder",
		ownfolder.State, settings.EnvPath, settings.EnvPath))
}

// addEngines fills the registry: one line for each engine.
func (h *house) addEngines(s settings.Settings) error {
	reading := git.Options{Roots: h.gitRoots(s)}
	return errors.Join(
		h.tools.AddEngine(engines.Engine{Name: "think", Description: "guides a model through a workflow"}, guide.Tools(h.think)...),
		h.tools.AddEngine(engines.Engine{Name: "workflow", Description: "runs a workflow without a client"}, h.driver.Tools()...),
		h.tools.AddEngine(git.Engine(reading), git.Tools(reading)...),
		h.addRepositoryEngines(s),
	)
}

// toolOptions is what the registry works with. A large result is kept beside
// those of the runs, and so are receipts, for other processes too.
func (h *house) toolOptions() engines.Options {
	return engines.Options{
		Logger:  h.logger,
		Begin:   h.beginCall,
		Missing: h.seekTool,
		Advise:  adviceOnTool,
		Artifacts: func(ctx context.Context, result json.RawMessage) (string, error) {
			return h.store.PutArtifact(ctx, result)
		},
		Receipts: func(ctx context.Context, receipt engines.Receipt) error {
			return h.store.PutReceipt(ctx, state.Receipt(receipt))
		},
	}
}

// engine returns Think over layers.
func (h *house) engine(layers ...library.Layer) *think.Engine {
	files := library.New(layers...)
	files.Logger = h.logger
	return think.New(think.Options{
		Library:   files,
		Store:     h.store,
		Person:    guide.Person,
		KnownTool: func(name string) bool { _, known := h.tools.Resolve(name); return known },
		ToolNames: h.tools.Names,
		Receipt:   h.store.Receipt,
		Asked:     guide.Asked(h.tools),
		Now:       time.Now,
		NewID:     func() string { return strings.ToLower(ulid.Make().String()) },
		Logger:    h.logger,
	})
}

func (h *house) gitRoots(s settings.Settings) []string {
	return append([]string{h.path}, s.GitRoots...)
}

// published returns the tools of the engines that MCP_SERVICE names.
func (h *house) published(services []string) (*engines.Registry, error) {
	known := h.tools.Engines()
	for _, service := range services {
		if service == settings.All {
			return h.tools, nil
		}
		if !slices.Contains(known, service) {
			return nil, unknownService(service, known)
		}
	}
	return h.tools.Only(services...), nil
}

func unknownService(service string, known []string) error {
	expected := strings.Join(known, ", ") + " or " + settings.All
	if nearest := fault.Nearest(service, known); nearest != "" {
		expected += " (did you mean " + nearest + "?)"
	}
	return misconfigured(&settings.Error{Setting: settings.EnvServices, Value: service, Expected: "engines from " + expected})
}

// closeGrace is how long closing may take once the program was told to end.
// What it cuts short is only the readable copy of what the journals hold.
const closeGrace = 50 * time.Millisecond

// close writes what is still to be projected and lets go of every file. Once
// ctx has ended it waits no longer than the grace.
func (h *house) close(ctx context.Context) error {
	h.closeAgent()
	h.driver.Interrupt() // before the tools go that it calls
	h.closeServers()
	closed := make(chan error, 1)
	go func() {
		h.driver.Close()
		if h.think != nil {
			h.think.Close()
		}
		err := errors.Join(h.search.Close(), h.store.Close(), h.recorder.Close())
		h.flushTraces(ctx)
		closed <- errors.Join(err, h.log.Close(), h.files.Close())
	}()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-closed:
		return err
	case <-time.After(closeGrace + h.flushTime()):
		return nil
	}
}

// with runs work on the program put together, and takes it apart again.
func (p *program) with(ctx context.Context, work func(*house) error) error {
	h, err := p.open()
	if err != nil {
		return err
	}
	return errors.Join(work(h), h.close(ctx))
}
