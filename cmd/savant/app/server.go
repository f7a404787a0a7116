package app

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"savant/cmd/savant/terminal"
	"savant/engines"
	"savant/engines/author"
	"savant/engines/guide"
	"savant/engines/mcpio"
	"savant/fault"
	"savant/hub"
	rulesessions "savant/rules/sessions"
	"savant/telemetry"
)

// apps are the pages that clients show of questions and runs.
func (a *App) apps() (*hub.Apps, error) {
	return hub.NewApps(hub.Options{Think: a.Think, Redactor: a.redactor, Logger: a.Logger})
}

// Server returns an MCP server for the published engines. questions are shared with the
// other servers that serve the folder over HTTP; nil: there are none.
func (a *App) Server(ctx context.Context, published *engines.Registry, questions mcpio.Questions) (_ *mcpio.Server, err error) {
	var offer engines.Offer // prompts and resources are Think's
	if slices.Contains(published.Engines(), "think") {
		if offer, err = guide.Catalog(ctx, a.Think); err != nil {
			return nil, err
		}
		offer.ReadResource = withHints(offer.ReadResource)
	}
	var apps mcpio.Apps // of questions and runs
	if offer.Prompts != nil {
		if apps, err = a.apps(); err != nil {
			return nil, err
		}
	}
	a.offerRules(&offer)
	if a.options.Nowhere != "" {
		says := withoutProject(a.options.Nowhere).says()
		a.Logger.Warn(says)
		offer.Instructions = "# No project\n\n" + says + ". Until then every call is refused.\n\n" + offer.Instructions
	}
	if slices.Contains(published.Engines(), author.Name) {
		offerAuthor(&offer)
	}
	return mcpio.New(mcpio.Options{
		Title:      "Savant",
		Version:    a.options.Version,
		Icons:      hub.Icons(),
		Registry:   published,
		BeforeList: a.Mounts.Reload,
		Offer:      offer,
		Apps:       apps,
		Command:    a.command(),
		Logger:     a.Logger,
		SlowCall:   a.settings.SlowCall,
		Trace:      a.trace(),
		Questions:  questions,
	})
}

// offerAuthor adds the prompts for who writes workflows.
func offerAuthor(offer *engines.Offer) {
	list := offer.Prompts
	offer.Prompts = func(ctx context.Context) (all []engines.Prompt, err error) {
		if list != nil {
			all, err = list(ctx)
		}
		for _, own := range author.Prompts() {
			all = append(slices.DeleteFunc(all, func(p engines.Prompt) bool { return p.Name == own.Name }), own)
		}
		return all, err
	}
}

// offerRules adds the rules to the resources, where there are any.
func (a *App) offerRules(offer *engines.Offer) {
	list, read := offer.Resources, offer.ReadResource
	if names, err := a.RuleFiles(false); list == nil && (err != nil || len(names) == 0) {
		return
	}
	offer.Resources = func(ctx context.Context) (all []engines.Resource, err error) {
		if list != nil {
			all, err = list(ctx)
		}
		if names, wrong := a.RuleFiles(false); wrong == nil && len(names) > 0 {
			all = append(all, engines.Resource{URI: rulesessions.ResourceURI, Name: "rules", Title: "The rules about calls", MIMEType: "application/yaml"})
		}
		return all, err
	}
	offer.ReadResource = func(ctx context.Context, uri string) (text, mimeType string, err error) {
		switch {
		case uri == rulesessions.ResourceURI:
			text, err = a.rules.Resource()
			return text, "application/yaml", err
		case read == nil:
			return "", "", fault.New(fault.InvalidParams, "no resource %q", fault.Cut(uri, 200))
		}
		return read(ctx, uri)
	}
}

// command is the command line that starts this program for the same folder from any
// working folder.
func (a *App) command() string {
	program, err := os.Executable()
	if err != nil {
		program = "savant"
	}
	return shellWord(program) + " --path " + shellWord(a.Path)
}

// shellWord quotes a word for a shell if needed.
func shellWord(word string) string {
	plain := strings.IndexFunc(word, func(r rune) bool {
		return !strings.ContainsRune("/._-+:@%", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0
	if plain && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// trace opens the spans of requests; nil without tracing.
func (a *App) trace() telemetry.Tracer {
	if a.calls.tracing == nil {
		return nil
	}
	return a.Recorder.Span
}

// healthPatience bounds the delay of a start by the engines' status: clients give up on
// a server that is silent for seconds.
const healthPatience = 250 * time.Millisecond

// LogHealth logs one line about the state of the published engines.
func (a *App) LogHealth(ctx context.Context, published *engines.Registry) {
	asking, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	var states []any
	for _, each := range published.Health(asking) {
		state := each.State
		if each.Reason != "" {
			state += ": " + each.Reason
		}
		if each.Left > 0 {
			state += ", " + terminal.Count(each.Left, "call") + " left behind"
		}
		states = append(states, each.Engine, state)
	}
	a.Logger.InfoContext(ctx, "engines", states...)
	if Configuration(a.options.Environment) == "" {
		a.Logger.WarnContext(ctx, "there is no folder of configuration, which tokens and trust are kept in: set XDG_CONFIG_HOME to the absolute path of one")
	}
}
