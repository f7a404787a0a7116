package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/engines/mcpclient"
	"savant/fault"
	"savant/internal/clientsetup"
	"savant/internal/redact"
	"savant/internal/regular"
	"savant/internal/trust"
	"savant/think"
	"savant/think/library"
)

// patience bounds each check of the doctor.
const patience = 30 * time.Second

// doctor is one run of the command.
type doctor struct {
	*cli.Program
	project bool
	failed  bool
}

// DoctorCommand is `savant doctor`.
func DoctorCommand(p *cli.Program) *cobra.Command {
	d := &doctor{Program: p}
	command := &cobra.Command{Use: "doctor [CLIENT]", Short: "Try the project and the clients, and name what mends them",
		Long: "Starts the server as the client's configuration says, lists its tools, plans a run in an empty folder, and fires the configured\n" +
			"hook with a call that the run does not allow: the hook must refuse it. Only what savant setup would write is started; anything\n" +
			"else is shown. Without CLIENT it checks this project, and tries every client that is set up for you, else for this project.",
		Args: cli.Positional(cobra.MaximumNArgs(1)), ValidArgs: clientsetup.Names(),
		RunE: func(command *cobra.Command, args []string) error { return d.run(command.Context(), args) }}
	command.Flags().BoolVar(&d.project, "project", false, "try the configuration of this project, not your own")
	return command
}

func (d *doctor) run(ctx context.Context, args []string) error {
	list := clientsetup.All()
	if len(args) == 0 && !d.project {
		d.checkProject(ctx)
	}
	if len(args) > 0 {
		client, err := clientsetup.Find(args[0])
		if err != nil {
			return err
		}
		list = []clientsetup.Client{client}
	}
	tried, err := d.try(ctx, list, len(args) > 0)
	if err == nil && tried == 0 && !d.project {
		d.project = true // it may be set up for this project alone
		tried, err = d.try(ctx, list, false)
	}
	if err != nil {
		return err
	}
	if tried == 0 {
		fmt.Fprintln(d.Stdout, "Savant is set up for no client here. savant setup lists the clients.")
	}
	if d.failed {
		return cli.StatusError(cli.ExitFailed)
	}
	return nil
}

// try examines the clients of a list, and counts them; unless they are named, only those
// that are set up.
func (d *doctor) try(ctx context.Context, list []clientsetup.Client, named bool) (tried int, err error) {
	t, err := targetOf(d.Program, d.project, clientsetup.Services)
	if err != nil {
		return 0, err
	}
	for _, client := range list {
		found, err := client.Configured(t)
		if d.project && onPath() {
			common := t
			common.Program = shared
			if other, failed := client.Configured(common); failed == nil && (err != nil || len(other.Missing) < len(found.Missing)) {
				found, err = other, nil
			}
		}
		if !named && (err != nil && t.Project != "" || err == nil && found.Server.None()) {
			if err != nil && client.Projects() {
				d.note(client.Title + " was left out: " + terminal.Visible(fault.From(err).Message()))
			}
			continue
		}
		tried++
		fmt.Fprintf(d.Stdout, "%s\n", client.Title)
		if err != nil {
			d.wrong(fault.From(err).Message(), "correct the file, then run savant setup "+client.Name)
			continue
		}
		d.switches(client, t)
		d.examine(ctx, client, found, t)
		d.unseen(client, found)
		d.trust(ctx, client, t)
		for _, each := range client.Limits {
			d.note(each)
		}
	}
	return tried, nil
}

func (d *doctor) right(format string, args ...any) {
	fmt.Fprintf(d.Stdout, "  ok     %s\n", terminal.Visible(redact.Shapes().Text(fmt.Sprintf(format, args...))))
}

// note tells of what the doctor cannot try.
func (d *doctor) note(what string) { fmt.Fprintf(d.Stdout, "  note   %s\n", what) }

func (d *doctor) wrong(what, remedy string) {
	d.failed = true
	fmt.Fprintf(d.Stdout, "  wrong  %s\n         do: %s\n", terminal.Visible(redact.Shapes().Text(what)), terminal.Visible(remedy))
}

// switches tells which settings keep the client from running what is configured.
func (d *doctor) switches(client clientsetup.Client, t clientsetup.Target) {
	found, unread := client.Off(t)
	for _, err := range unread {
		d.wrong(fault.From(err).Message(), "correct the file")
	}
	for _, each := range found {
		d.wrong("the client runs no hook or server of Savant because of "+each.Setting+" in "+each.Path, "change it in "+each.Path)
	}
}

func (d *doctor) examine(ctx context.Context, client clientsetup.Client, found clientsetup.Configured, t clientsetup.Target) {
	remedy := "savant setup " + client.Name
	if d.project {
		remedy += " --project"
	}
	for _, path := range found.Missing {
		d.wrong(path+" lacks an entry of Savant, or its entry differs from the one that setup writes", remedy)
	}
	if found.Server.None() {
		d.wrong("no server is configured", remedy)
	}
	d.foreign("server", found.Server, remedy)
	d.foreign("hook", found.Hook, remedy)
	if path := found.Server.Env["SAVANT_PATH"]; filepath.IsAbs(path) {
		if at, err := os.Stat(path); err != nil || !at.IsDir() {
			d.wrong("SAVANT_PATH of the server names "+path+", which is not a folder", remedy+", or create the folder")
		}
	}
	if !found.Server.Own {
		return
	}
	folder, err := os.MkdirTemp("", "savant-doctor-")
	if err != nil {
		d.wrong("a temporary folder cannot be created: "+err.Error(), "make room in "+os.TempDir())
		return
	}
	defer os.RemoveAll(folder)
	path := regular.SearchPath(t.Folder)
	if err := d.plan(ctx, found.Server, folder, path); err != nil {
		d.wrong("the server does not work: "+fault.From(err).Message(), remedy)
		return
	}
	switch {
	case !client.Hooks:
		d.right("%s has no hooks, so nothing is enforced there", client.Title)
	case found.Hook.None():
		d.wrong("no hook is configured", remedy)
	case found.Hook.Own:
		d.fire(ctx, client, found.Hook, folder, path, remedy)
	}
}

// foreign shows a command that setup does not write. It may be of a folder's author, so it is
// not started.
func (d *doctor) foreign(what string, found clientsetup.Command, remedy string) {
	switch {
	case found.None() || found.Own:
	case len(found.Added) > 0 && !d.project: // in the person's own file setup keeps them
		d.note("the " + what + " was not started, since it has variables that setup does not write: " + terminal.Visible(strings.Join(found.Added, ", ")))
	default:
		d.wrong("the "+what+" is not the one that setup writes, and was not started: "+fault.Cut(commandText(found), 500), remedy)
	}
}

// commandText is a command with its variables.
func commandText(c clientsetup.Command) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		words = append(words, name+"="+c.Env[name])
	}
	if c.Line != "" {
		return c.Line
	}
	return trust.CommandLine(append(words, c.Words...)...)
}

// trust asks Codex whether it runs the hooks: it skips untrusted ones silently.
func (d *doctor) trust(ctx context.Context, client clientsetup.Client, t clientsetup.Target) {
	if client.Name != "codex" {
		return
	}
	path := codexProgram(t)
	if path == "" {
		d.right("codex is not on the PATH outside of this folder, so its trust in the hooks is not known")
		return
	}
	switch hooks, err := untrusted(ctx, path, t); {
	case err != nil:
		d.wrong("Codex did not say whether it trusts the hooks: "+fault.From(err).Message(), "codex app-server")
	case len(hooks) > 0:
		d.wrong("Codex does not trust "+terminal.Count(len(hooks), "hook")+", and runs only trusted hooks", "savant setup codex")
	default:
		d.right("Codex trusts the hooks")
	}
}

// plan starts the server as the client would, but in an empty folder, and plans a run
// of the bundled workflow hello.
func (d *doctor) plan(ctx context.Context, configured clientsetup.Command, folder, path string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	command, err := started(ctx, configured.Words, path)
	if err != nil {
		return err
	}
	command.Dir = folder
	for name, value := range maps.All(configured.Env) {
		command.Env = append(command.Env, name+"="+value)
	}
	command.Env = append(command.Env, "SAVANT_PATH="+folder)
	var said bytes.Buffer // read after Wait only
	command.Stderr = &said
	defer func() {
		_ = command.Wait()
		if text := strings.TrimSpace(said.String()); err != nil && text != "" {
			err = fault.New(fault.From(err).Code, "%s; it said: %s", fault.From(err).Details, fault.Cut(text, 300))
		}
	}()
	server, err := mcpclient.Start(ctx, command, mcpclient.Options{Version: d.World.Version})
	if err != nil {
		return err
	}
	defer server.Close()
	tools, err := server.Definitions(ctx)
	if err != nil {
		return err
	}
	_, version, _ := server.ServerInfo()
	d.right("%s answers: version %s, %s", configured.Words[0], version, terminal.Count(len(tools), "tool"))
	if _, err = server.Call(ctx, "think.plan", map[string]any{"workflow": "hello", "run_id": trialRun}); err != nil {
		return err
	}
	return d.bundled(ctx, server)
}

// started is a command that finds programs by that PATH alone.
func started(ctx context.Context, words []string, path string) (*exec.Cmd, error) {
	program := words[0]
	if filepath.Base(program) == program {
		var err error
		if program, err = regular.Program(path, program); err != nil {
			return nil, fault.New(fault.EngineOffline, "%s is not on the PATH outside of this folder", words[0])
		}
	}
	command := exec.CommandContext(ctx, program, words[1:]...)
	command.Env = append(os.Environ(), "PATH="+path)
	return command, nil
}

// bundled checks each bundled workflow against the tools of the server, and tells which
// ones cannot be followed with it alone.
func (d *doctor) bundled(ctx context.Context, server *mcpclient.Client) error {
	var list struct {
		Workflows []struct{ ID, Origin string }
	}
	if err := server.Ask(ctx, "think.workflows.list", nil, &list); err != nil {
		return err
	}
	followed := 0
	var needing []string
	for _, each := range list.Workflows {
		if each.Origin != library.Bundled {
			continue
		}
		var found think.ValidateOutput
		if err := server.Ask(ctx, "think.validate", map[string]any{"workflow": each.ID, "strict_tools": true}, &found); err != nil {
			return err
		}
		if found.Valid {
			followed++
			continue
		}
		needing = append(needing, each.ID)
	}
	if len(needing) > 0 {
		d.note("tools of the client itself are needed by the bundled workflows " + terminal.Visible(strings.Join(needing, ", ")) + "; savant workflows validate NAME --strict-tools names them")
	}
	d.right("%s need no other server", terminal.Count(followed, "bundled workflow"))
	return nil
}

// trialRun is the run that the doctor plans.
const trialRun = "doctor"

// fire binds a session to the run by a call of think.next, and then asks the hook about
// a call that was not issued.
func (d *doctor) fire(ctx context.Context, client clientsetup.Client, hook clientsetup.Command, folder, path, remedy string) {
	event := clientsetup.Event{Session: "savant-doctor", Folder: folder, Next: true,
		Input: map[string]any{"workflow": "hello", "run_id": trialRun, "step_id": "greet", "result_snapshot": map[string]any{}}}
	answer, err := d.ask(ctx, client, hook, event, path)
	if err == nil {
		event.Next, event.Input = false, map[string]any{"command": "touch forbidden"}
		answer, err = d.ask(ctx, client, hook, event, path)
	}
	switch {
	case err != nil:
		d.wrong("the hook does not work: "+fault.From(err).Message(), remedy)
	case !strings.Contains(answer, "Refused"):
		d.wrong("the hook permits a call that the run does not allow", remedy)
	default:
		d.right("the hook refuses a call that the run does not allow")
	}
}

// ask runs the hook as the client would, and returns its output.
func (d *doctor) ask(ctx context.Context, client clientsetup.Client, hook clientsetup.Command, event clientsetup.Event, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	words := hook.Words
	if len(words) == 0 && runtime.GOOS == "windows" {
		words = []string{"cmd", "/c", hook.Line}
	} else if len(words) == 0 {
		words = []string{"sh", "-c", hook.Line}
	}
	payload, err := client.Payload(event)
	if err != nil {
		return "", err
	}
	command, err := started(ctx, words, path)
	if err != nil {
		return "", err
	}
	command.Dir = event.Folder
	command.Env = slices.DeleteFunc(command.Env, func(pair string) bool { return strings.HasPrefix(pair, "SAVANT_PATH=") })
	command.Stdin = bytes.NewReader(payload)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	err = command.Run()
	if status := new(exec.ExitError); errors.As(err, &status) && status.ExitCode() == 2 {
		err = nil // Windsurf and Kiro read a refusal from the exit status
	}
	if err != nil {
		return "", fault.New(fault.EngineOffline, "%s: %w: %s", strings.Join(words, " "), err, fault.Cut(said.String(), 300))
	}
	return said.String(), nil
}
