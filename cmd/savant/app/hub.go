package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"savant/fault"
	"savant/hub"
	"savant/hub/notify"
	"savant/internal/access"
	"savant/internal/atomicfile"
	"savant/internal/claim"
	"savant/internal/ownfolder"
	"savant/internal/regular"
	"savant/internal/settings"
	"savant/internal/webguard"
	"savant/packages"
	"savant/reasoning/mongoqueue"
	"savant/rules"
	"savant/think/cases"
	"savant/think/state"
)

// HubAt says where and how a hub is served.
type HubAt struct {
	Address string
	// ReadOnly: no page changes anything. NoAnswers: none takes a person's answers.
	ReadOnly, NoAnswers bool
	// Tokens is the token file for the hub.
	Tokens string
}

// Hub returns the web page of the folder's runs, which lives until ctx ends.
func (a *App) Hub(ctx context.Context, at HubAt) (*hub.Hub, error) {
	door, err := access.NewDoor(access.DoorOptions{File: at.Tokens, Logger: a.Logger})
	if err != nil {
		return nil, err
	}
	sessions := Configuration(a.options.Environment)
	if sessions != "" {
		sessions = filepath.Join(sessions, "savant", "hub")
	}
	if sessions != "" && regular.Controls(a.Path, sessions) {
		sessions = "" // a folder could bring a session that it knows the cookie of
	}
	client, decider, err := a.Reasoner(a.settings.Reasoning, nil)
	if err != nil {
		return nil, err
	}
	queue, _ := client.Transport().(*mongoqueue.Transport)
	journals := state.JournalFolder(a.Path)
	if a.settings.Store == settings.StoreMongo {
		journals = ""
	}
	notifier, err := a.notifier(ctx)
	if err != nil {
		return nil, err
	}
	return hub.New(ctx, hub.Options{Notifier: notifier, Address: at.Address, URL: a.settings.HTTP.URL, Door: door, Sessions: sessions,
		ReadOnly: at.ReadOnly, NoAnswers: at.NoAnswers, Person: UserName() + " in the hub", Folder: a.Path, Version: a.options.Version, Think: a.Think, Driver: a.Driver, Keeper: a.Keeper(),
		Agent: a.Agent, Tools: a.Tools, Recorder: a.Recorder, Redactor: a.redactor, Standings: standings{a, decider, queue}, Calls: a.rules, Sources: sources{a}, Journals: journals, Logs: filepath.Join(a.Path, filepath.FromSlash(a.logs)), Logger: a.Logger})
}

// sources tells the hub of cases and packages.
type sources struct{ app *App }

// Packages implements hub.Sources.
func (s sources) Packages() ([]packages.Package, error) {
	lock, err := s.app.packages.Lock()
	return lock.Packages, err
}

// Rules implements hub.Sources.
func (s sources) Rules() (*rules.Set, error) { return s.app.AllRules() }

// Cases implements hub.Sources.
func (s sources) Cases(ctx context.Context, workflow string) (out hub.Cases, err error) {
	tested, err := s.app.Tested(ctx, []string{workflow})
	if err != nil {
		return out, err
	}
	reached, excuses := cases.Points{}, []cases.Excuse{}
	for _, file := range tested[0].Files {
		if problems := tested[0].Problems(file); len(problems) > 0 {
			out.Problems = append(out.Problems, problems...)
			continue
		}
		excuses = append(excuses, file.Excuses...)
		for _, result := range tested[0].Run(file, "") {
			maps.Copy(reached, result.Reached)
			if out.Passed++; len(result.Differences) > 0 {
				out.Passed--
				first := result.Differences[0]
				out.Failed = append(out.Failed, fault.Diagnostic{Severity: "error", File: file.Name, Line: first.Line, Message: result.Name + ": " + first.String()})
			}
		}
	}
	if tested[0].Graph != nil && out.Passed+len(out.Failed) > 0 {
		out.Coverage = cases.Cover(tested[0].Graph, reached, excuses)
	}
	return out, nil
}

// notifyPause is how long a notification waits after its first failed attempt.
const notifyPause = 2 * time.Second

// notifier returns the receiver of notices about questions to a person. It is nil if no
// address is set.
func (a *App) notifier(ctx context.Context) (hub.Notifier, error) {
	if a.settings.Hub.Notify == "" {
		return nil, nil
	}
	address, secret, _ := strings.Cut(a.settings.Hub.Notify, "#")
	if secret == "" {
		return nil, fault.New(fault.InvalidParams, "hub.notify needs a secret that signs its messages: write ADDRESS#SECRET")
	}
	return notify.New(ctx, address, secret, notifyPause, a.Logger)
}

// UserName returns the name of the user who runs the program.
func UserName() string {
	current, err := user.Current()
	if err != nil {
		return "a person at this machine"
	}
	return cmp.Or(current.Username, current.Name, "user "+current.Uid)
}

// standings answers the hub's questions about the state of runs and deciders.
type standings struct {
	app     *App
	decider string
	queue   *mongoqueue.Transport // nil if no queue carries the questions
}

// Standing returns the state of a run of a workflow.
func (s standings) Standing(ctx context.Context, run state.Info) hub.Standing {
	at := s.app.StandingOf(ctx, run)
	return hub.Standing{Status: at.Status, WaitsFor: at.WaitsFor, Steps: at.Steps}
}

// Driven reports whether a process drives a run of a workflow now.
func (s standings) Driven(run state.Key) bool { return s.app.IsDriven(run) }

// probePatience bounds how long a decider may take to accept a connection, queuePatience
// how long a database may take to count the questions, the handshake included.
const (
	probePatience = 700 * time.Millisecond
	queuePatience = 2 * time.Second
)

// Unanswered counts the questions in the queue.
func (s standings) Unanswered(ctx context.Context) (count int, queued bool) {
	if s.queue == nil {
		return 0, false
	}
	count, err := s.askQueue(ctx)
	return count, err == nil
}

func (s standings) askQueue(ctx context.Context) (int, error) {
	asking, cancel := context.WithTimeout(ctx, queuePatience)
	defer cancel()
	return s.queue.Unanswered(asking)
}

// Deciders returns who decides for the agent, and whether they are reachable. It
// connects without sending anything, and only to deciders that a person accepted.
func (s standings) Deciders(ctx context.Context) []hub.Decider {
	given := s.app.settings.Reasoning
	if given.Waiting != nil {
		return []hub.Decider{{Name: "nobody", State: "denied", About: fault.From(given.Waiting).Message()}}
	}
	if s.queue != nil {
		count, err := s.askQueue(ctx)
		if err != nil {
			return []hub.Decider{{Name: s.decider, State: "offline", About: "a queue in MongoDB", Reason: err.Error()}}
		}
		return []hub.Decider{{Name: s.decider, State: "reachable", About: fmt.Sprintf("unanswered questions: %d; savant reasoning work answers them", count)}}
	}
	if given.URL != "" {
		return []hub.Decider{reached(ctx, hub.Decider{Name: s.decider, About: "an external Reasoning API"}, given.URL)}
	}
	found := withDefaults(ctx, given)
	var out []hub.Decider
	for _, each := range []struct{ model, about string }{{found.SLM, "the small model"}, {found.LLM, "the large model"}} {
		if each.model != "" {
			out = append(out, reached(ctx, hub.Decider{Name: each.model, About: each.about}, providerURL(found, each.model)))
		}
	}
	if len(out) == 0 {
		out = []hub.Decider{{Name: "offline-planner", State: "ready", About: "not a model: it searches, reads and quotes. Name a model with SLM_MODEL or LLM_MODEL"}}
	}
	return out
}

// providerURL returns the address of a model's provider.
func providerURL(s settings.Reasoning, model string) string {
	provider, _, named := strings.Cut(model, ":")
	if address := s.Service(provider).URL; named && address != "" {
		return address
	}
	return cmp.Or(s.Service(s.Provider).URL, s.Service("ollama").URL)
}

// reached reports whether something listens at an address.
func reached(ctx context.Context, who hub.Decider, address string) hub.Decider {
	where, err := url.Parse(address)
	if err != nil || where.Hostname() == "" {
		who.State, who.Reason = "offline", "its address cannot be read"
		return who
	}
	who.Host = where.Host
	port := cmp.Or(where.Port(), map[string]string{"https": "443"}[where.Scheme], "80")
	dialer := net.Dialer{Timeout: probePatience}
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(where.Hostname(), port))
	if err != nil {
		who.State, who.Reason = "offline", "nothing answers there"
		return who
	}
	_ = connection.Close() // it only tests reachability
	who.State = "reachable"
	return who
}

// maxHubAddress bounds the file with the address of a hub, in bytes.
const maxHubAddress = 100

// A hub says below .savant where it serves, so that other processes of the folder send a
// person there. They believe it only while a process of this machine holds the claim to
// that address, under a name that no clone can bring, and only an address of this machine.
func (a *App) hubFile() string {
	return ownfolder.State + "/hub." + ownfolder.Identity(a.Root, ownfolder.State)
}

func hubClaim(file, address string) string { return file + " " + address }

// AnnounceHub says where the hub is until end is called. At another address than one of
// this machine a person's browser may be elsewhere, so a setting has to say it.
func (a *App) AnnounceHub(ctx context.Context, at HubAt, listening net.Addr) (end func()) {
	address, end := listening.String(), func() {}
	if at.ReadOnly || at.NoAnswers || !webguard.IsLoopback(address) {
		return end
	}
	err := ownfolder.Mkdir(a.Root, ownfolder.State, 0o700)
	if err == nil || errors.Is(err, fs.ErrExist) {
		file := a.hubFile()
		var release func()
		if release, err = claim.Take(ctx, a.Root, hubClaim(file, address)); err == nil {
			end = release
			err = atomicfile.Write(a.Root, file, []byte(address), 0o600)
		}
	}
	if err != nil {
		a.Logger.Info("other processes do not learn where the hub is", "cause", err.Error())
	}
	return end
}

// hubOf finds the hub of a folder.
type hubOf struct{ app *App }

// URL implements think.Hub.
func (h hubOf) URL() string {
	given := h.app.settings.HTTP
	if given.URL != "" {
		return given.URL
	}
	if given.Address != "" && !webguard.IsLoopback(given.Address) {
		return "" // whoever asks may be at another machine
	}
	file := h.app.hubFile()
	text, err := regular.ReadFile(h.app.Root, file, maxHubAddress)
	address := string(text)
	if err != nil || !webguard.IsLoopback(address) {
		return ""
	}
	if held, _ := claim.State(h.app.Root, hubClaim(file, address)); !held {
		return ""
	}
	return "http://" + address
}
