// Package hooks holds the commands that clients run as hooks, which hold a model to the
// run that it planned.
package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/engines"
	"savant/fault"
	"savant/internal/mongo"
	"savant/internal/regular"
	"savant/internal/settings"
	rulesessions "savant/rules/sessions"
	"savant/think"
	"savant/think/gate"
	"savant/think/gate/clients"
	"savant/think/gate/sessions"
	"savant/think/state/mongostate"
)

// The limits of the hook's time: usually, and where the runs are in a database, which may be
// behind a slow network. Clients wait longer, but let the tool pass after their own timeout.
const (
	limit    = 2 * time.Second
	farLimit = 8 * time.Second
)

// flagPath names SAVANT_PATH on the command line.
const flagPath = "path"

// maxEvent is the maximum size of an event, in bytes.
const maxEvent = 64 << 20

// Command is `savant hook`. configure reads the settings, which only `release` needs:
// the hook itself must be fast.
func Command(p *cli.Program, configure func(*cobra.Command, []string) error) *cobra.Command {
	h := &hook{Program: p}
	command := &cobra.Command{
		Use: "hook CLIENT", Short: "Answer a client's hook: keep its model to the run that it planned",
		Long: "Reads an event of the client's hook on stdin and answers in the client's form. While a run that the session planned is open, " +
			"only the issued call passes, and the model's turn does not end.\n\nClients: " + strings.Join(clients.Names(), ", ") + ".\ndocs/enforcement.md says what each can enforce.",
		Args: cli.Positional(cobra.ExactArgs(1)), ValidArgs: clients.Names(),
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE:              h.run,
	}
	command.Flags().StringVar(&h.event, "event", "", "the event's name, for clients that do not say it")
	command.Flags().BoolVar(&h.plugin, "plugin", false, "print the file that the client loads instead of hooks (opencode, cline)")
	release := &cobra.Command{Use: "release [RUN]", Short: "Release a run, or all runs, in every session",
		Args: cli.Positional(cobra.MaximumNArgs(1)), PersistentPreRunE: configure, RunE: h.release}
	command.AddCommand(release)
	return command
}

// hook is one run of the command.
type hook struct {
	*cli.Program
	event  string
	plugin bool
	flags  *pflag.FlagSet // nil: none were given
}

func (h *hook) run(command *cobra.Command, args []string) error {
	client, err := clients.Find(args[0])
	if err != nil {
		return err
	}
	h.flags = command.Flags()
	path := ""
	if flag := command.Flags().Lookup(flagPath); flag != nil && flag.Changed {
		path = flag.Value.String()
	} else if named, ok := h.Variable(settings.EnvPath); ok {
		path = named
	}
	if h.plugin {
		return h.printPlugin(client.Name, path)
	}
	answer := h.answer(command.Context(), client, path)
	if answer.Stderr != "" {
		fmt.Fprint(h.Stderr, answer.Stderr)
	}
	if _, err := io.WriteString(h.Stdout, answer.Stdout); err != nil {
		return err
	}
	if answer.Exit != cli.ExitOK {
		return cli.StatusError(answer.Exit)
	}
	return nil
}

// printPlugin prints a client's plugin, which starts this program.
func (h *hook) printPlugin(client, path string) error {
	program, err := os.Executable()
	if err != nil {
		return fault.New(fault.Internal, "this program's path is not known: %w", err)
	}
	started := []string{program}
	if path != "" {
		if path, err = filepath.Abs(path); err != nil {
			return fault.New(fault.Internal, "the working folder was deleted: %w", err)
		}
		started = append(started, "--"+flagPath, path)
	}
	text, err := clients.Plugin(client, append(started, "hook", client))
	if err != nil {
		return err
	}
	_, err = io.WriteString(h.Stdout, text)
	return err
}

// answer decides within the limit, whatever fails.
func (h *hook) answer(ctx context.Context, client clients.Client, path string) clients.Answer {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asked := &asking{client: client, path: path, event: h.event, hook: h, over: time.AfterFunc(limit, cancel)}
	asked.within.Store(int64(limit))
	defer asked.over.Stop()
	decided := make(chan clients.Answer, 1)
	go func() {
		defer func() {
			if panicked := recover(); panicked != nil {
				fmt.Fprintf(h.Stderr, "savant hook: %v\n%s", panicked, debug.Stack())
				decided <- asked.failed(ctx, h, fault.New(fault.Internal, "the gate failed"))
			}
		}()
		decided <- asked.decide(ctx, h)
	}()
	select {
	case answer := <-decided:
		return answer
	case <-ctx.Done():
		return asked.failed(ctx, h, fault.New(fault.Internal, "the gate did not decide within %s", time.Duration(asked.within.Load())))
	}
}

// asking is one event, as far as it is read.
type asking struct {
	client      clients.Client
	path, event string
	hook        *hook
	known       atomic.Pointer[projectReport]
	over        *time.Timer  // ends the decision
	within      atomic.Int64 // when, as a time.Duration
}

// far gives a decision that needs the database its time; nil is of none.
func (a *asking) far() {
	if a != nil && a.over.Stop() {
		a.over.Reset(farLimit)
		a.within.Store(int64(farLimit))
	}
}

// projectReport is an event with its folder SAVANT_PATH.
type projectReport struct {
	clients.Report
	path string
}

func (a *asking) decide(ctx context.Context, h *hook) clients.Answer {
	text, err := io.ReadAll(io.LimitReader(h.Stdin, maxEvent))
	if err != nil {
		return a.failed(ctx, h, fault.New(fault.Internal, "the client's event could not be read: %w", err))
	}
	report, err := a.client.Read(text, a.event)
	a.known.Store(&projectReport{report, a.project(report.Project)})
	if err != nil {
		return a.failed(ctx, h, err)
	}
	opened, err := h.open(a.known.Load().path, a)
	if err != nil { // a folder that cannot be opened has no run of this session
		return a.client.Answer(report.Named, gate.Decision{})
	}
	defer func() { _ = opened.Close() }() // files were only read
	decision := opened.Ask(ctx, report.Event)
	if decision.Verdict == gate.Pass {
		decision = byRules(ctx, a.known.Load().path, report.Event, opened)
	}
	return a.client.Answer(report.Named, decision)
}

// byRules decides by the rules of a folder, and of the runs that the session follows.
func byRules(ctx context.Context, path string, event gate.Event, opened *sessions.Gate) gate.Decision {
	root, err := regular.OpenFolder(path)
	if err != nil {
		return gate.Decision{} // no rules are there
	}
	defer func() { _ = root.Close() }() // its files are closed
	debug.SetGCPercent(400)             // a long history is read once, and the process ends
	keeper := rulesessions.Open(rulesessions.Options{Files: app.RuleFiles(root), Root: root, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Process: rulesessions.OfHooks,
		Rulings: followed{opened, event}})
	return keeper.Ask(ctx, event)
}

// followed are the runs of an event's session. It implements rulesessions.Rulings.
type followed struct {
	gate  *sessions.Gate
	event gate.Event
}

// Rulings implements rulesessions.Rulings.
func (f followed) Rulings(ctx context.Context, _ engines.Call) ([]think.Ruling, error) {
	return f.gate.Rulings(ctx, f.event.Client, f.event.Session, new(rulesessions.Workflows))
}

func (a *asking) project(reported string) string {
	return projectOf(a.client.Name, a.path, a.hook.Variable, reported)
}

// failed is the answer if nothing could be decided: it refuses every tool if a session
// of the client has a run here.
func (a *asking) failed(ctx context.Context, h *hook, cause error) clients.Answer {
	event := a.known.Load()
	if event == nil {
		event = &projectReport{path: a.project("")}
	}
	if event.Named == "" {
		event.Named, event.Kind = a.client.BeforeTool(), gate.BeforeTool
	}
	opened, err := h.open(event.path, nil)
	if err != nil {
		return a.client.Answer(event.Named, gate.Decision{})
	}
	defer func() { _ = opened.Close() }() // files were only read
	if _, err := os.Lstat(filepath.Join(event.path, rulesessions.Folder)); err != nil && !opened.Gated(ctx, a.client.Name, event.Session) {
		return a.client.Answer(event.Named, gate.Decision{})
	}
	return a.client.Answer(event.Named, gate.Failed(event.Kind, cause))
}

// patience bounds a call of the database, so that its absence is told within the limit.
// The first call includes the handshake, which takes eight round trips with TLS and a
// password.
const patience = 3 * time.Second

// settings returns the settings that were given as flags.
func (h *hook) settings() (settings.Lookup, error) {
	if h.flags == nil {
		return func(settings.Setting) (string, bool) { return "", false }, nil
	}
	return cli.SettingsOf(h.flags)
}

// open opens the gate of a folder for an event; nil: for none.
func (h *hook) open(path string, asked *asking) (*sessions.Gate, error) {
	return sessions.Open(path, projectFolder{h, path, asked}, time.Now)
}

// projectFolder is a folder as the hook knows it, which reads settings and lists tools only
// when they are asked for: most sessions are held to no run.
type projectFolder struct {
	hook  *hook
	path  string
	asked *asking
}

// Shared implements sessions.Project: the runs are where the settings of the folder's
// server have them.
func (p projectFolder) Shared() (sessions.Shared, error) {
	flag, err := p.hook.settings()
	if err != nil {
		return nil, err
	}
	loaded, err := settings.Load(func(row settings.Setting) (string, bool) {
		if row.Env == settings.EnvPath {
			return p.path, true
		}
		return flag(row)
	}, func(row settings.Setting) (string, bool) { return p.hook.Variable(row.Env) }, app.Trust(p.hook.World.Environment))
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "the settings: %w", err)
	}
	if loaded.Store != settings.StoreMongo {
		return nil, nil
	}
	p.asked.far()
	at := loaded.Mongo
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: at.URI, Host: at.Host, Environment: at.Environment}, Within: patience})
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "%w", err)
	}
	return mongostate.Open(database, mongostate.Options{}) // this process ends soon, and the connection with it
}

// Described implements sessions.Project.
func (p projectFolder) Described() ([]gate.Tool, error) { return app.DescribeTools(p.path) }

// projectVariables are the variables by which clients name the project to their hooks.
// A client that is started inside another inherits the other's, so each reads its own.
var projectVariables = map[string]string{"claude-code": "CLAUDE_PROJECT_DIR", "gemini-cli": "GEMINI_PROJECT_DIR", "qwen-code": "QWEN_PROJECT_DIR"}

// projectOf finds SAVANT_PATH as the server of the same project does: the named folder,
// else the client's project, or the nearest one above it.
func projectOf(client, named string, variable func(string) (string, bool), reported string) string {
	if named != "" {
		return named
	}
	folder := reported
	if name, ok := projectVariables[client]; ok {
		if text, _ := variable(name); text != "" {
			folder = text
		}
	}
	folder = cmp.Or(folder, ".")
	if absolute, err := filepath.Abs(folder); err == nil {
		folder = absolute
	}
	if found := settings.FindFrom(folder); found != nil {
		return found.Folder
	}
	return folder
}

func (h *hook) release(command *cobra.Command, args []string) error {
	path, err := app.AbsolutePath(h.Settings)
	if err != nil {
		return err
	}
	opened, err := sessions.Open(path, sessions.Folder{}, time.Now) // what it releases is in the folder
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }() // files were only read
	run := ""
	if len(args) == 1 && args[0] != "" {
		held, err := opened.Held(command.Context())
		if err != nil {
			return err
		}
		found, err := app.FindHeld(held, args[0])
		if errors.Is(err, fault.UnknownRun) {
			return fault.New(fault.UnknownRun, "no session is held to a run %q", fault.Cut(args[0], 120))
		}
		if err != nil {
			return err
		}
		run = found.String()
	} else {
		moved, err := opened.MoveAside()
		for _, name := range moved {
			fmt.Fprintf(h.Stdout, "moved what was in the way to %s\n", name)
		}
		if err != nil {
			return err
		}
	}
	released, err := opened.Release(command.Context(), run)
	if err != nil {
		return err
	}
	for _, key := range released {
		fmt.Fprintf(h.Stdout, "released %s\n", key)
	}
	if len(released) == 0 {
		fmt.Fprintln(h.Stdout, "no session is held to a run")
	}
	return nil
}
