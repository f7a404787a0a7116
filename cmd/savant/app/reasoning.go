package app

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"savant"
	"savant/fault"
	"savant/internal/ownfolder"
	"savant/internal/regular"
	"savant/internal/settings"
	"savant/reasoning"
	"savant/reasoning/models"
	"savant/reasoning/mongoqueue"
	"savant/reasoning/service"
	"savant/schemas"
)

// Reasoner returns the client of the deciding service, and the service's name.
// REASONING_API_URL selects only that service, REASONING_TRANSPORT=mongo only the
// queue: there is no fallback to the built-in service. observe is called with each failed
// attempt; nil warns of those that make a person wait.
func (a *App) Reasoner(s settings.Reasoning, observe func(context.Context, reasoning.Attempt)) (client *reasoning.Client, name string, err error) {
	if observe == nil {
		observe = a.warnOfAttempt
	}
	options := reasoning.Options{Timeout: s.Timeout, Retries: s.Retries, Observe: observe}
	if s.Waiting != nil {
		options.Transport = refused{s.Waiting}
		return reasoning.New(options), "nobody", nil
	}
	if s.Transport == settings.TransportMongo {
		database, err := a.openDatabase()
		if err != nil {
			return nil, "", err
		}
		queue := mongoqueue.New(database)
		options.Transport, options.Name, options.Remote = queue, queue.Name(), true
		return reasoning.New(options), options.Name, nil
	}
	if s.URL != "" {
		transport, err := reasoning.NewHTTP(reasoning.HTTPOptions{URL: s.URL, Token: s.Token, UserAgent: "savant/" + a.options.Version})
		if err != nil {
			return nil, "", Misconfigured(err)
		}
		options.Transport, options.Name, options.Remote = transport, transport.Name(), true
		return reasoning.New(options), options.Name, nil
	}
	if undecided(s) {
		options.Transport, options.Name, options.Timeout, options.Retries = &lateService{settings: s, ollamaGiven: a.options.Settings.IsSet("OLLAMA_HOST")}, "the built-in reasoning service", 0, 0
		return reasoning.New(options), options.Name, nil
	}
	inside, err := reasoningService(s)
	if err != nil {
		return nil, "", Misconfigured(err)
	}
	// The built-in service has its own timeouts and its own patience for models.
	options.Transport, options.Name, options.Timeout, options.Retries = inside, inside.Name(), 0, 0
	return reasoning.New(options), options.Name, nil
}

// needsModel reports whether a provider was chosen without any of its models.
func needsModel(s settings.Reasoning) bool {
	return s.SLM == "" && s.LLM == "" && s.Provider != "" && s.Provider != settings.Offline
}

// refused is the transport to a decider in the file of settings that nobody accepted.
type refused struct{ why error }

// RoundTrip sends nothing.
func (r refused) RoundTrip(context.Context, reasoning.Request, reasoning.Observer) (json.RawMessage, error) {
	return nil, r.why
}

// reasoningService returns the built-in service, with the configured models. A provider
// without a model is an error.
func reasoningService(s settings.Reasoning) (*service.Service, error) {
	if needsModel(s) {
		return nil, fault.New(fault.InvalidParams, "LLM_PROVIDER is %s, and no model is named: set SLM_MODEL or LLM_MODEL to the name of a model of %s%s", s.Provider, s.Provider,
			map[bool]string{true: "; it" + lacksDefaults}[s.Provider == "ollama"])
	}
	provider := s.Provider
	if provider == settings.Offline {
		provider = ""
	}
	options := models.Options{Provider: provider, Services: map[string]models.Service{}, Think: s.Think}
	for name, each := range s.Services {
		options.Services[name] = models.Service(*each)
	}
	made := service.Options{Timeout: s.Timeout, Patience: time.Minute, SmallBudget: s.SLMBudget, LargeBudget: s.LLMBudget}
	var err error
	if s.SLM != "" {
		if made.SLM, err = models.Open(s.SLM, options); err != nil {
			return nil, err
		}
	}
	if s.LLM != "" {
		if made.LLM, err = models.Open(s.LLM, options); err != nil {
			return nil, err
		}
	}
	return service.New(made), nil
}

// keptAnswers is the folder of `savant reasoning serve` for answers, below SAVANT_PATH.
const keptAnswers = ownfolder.State + "/answers"

// ReasoningHandler serves the built-in service over HTTP to callers with the token, until
// ctx ends.
func (a *App) ReasoningHandler(ctx context.Context) (http.Handler, error) {
	s := a.settings.Reasoning
	if s.Waiting != nil {
		return nil, Misconfigured(s.Waiting)
	}
	inside, err := reasoningService(withDefaults(ctx, s))
	if err != nil {
		return nil, Misconfigured(err)
	}
	bundled, err := fs.Sub(savant.Files, "schemas")
	if err != nil {
		return nil, err
	}
	set, err := schemas.Load(bundled)
	if err != nil {
		return nil, err
	}
	schema, err := set.Lookup("reasoning_request")
	if err != nil {
		return nil, err
	}
	return service.NewHandler(service.HandlerOptions{Decider: observedDecider{a, inside}, Schema: schema, Token: s.Token, Base: ctx,
		Folder: a.answersFolder(), Logger: a.Logger}), nil
}

// answersFolder opens the folder of stored answers; nil, with a warning, if it cannot
// be created. It stays open until the program ends.
func (a *App) answersFolder() *os.Root {
	var folder *os.Root
	err := ownfolder.Mkdir(a.Root, ownfolder.State, 0o700)
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = a.Root.Mkdir(keptAnswers, 0o700)
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		folder, err = regular.OpenBelow(a.Root, keptAnswers)
	}
	if err != nil {
		a.Logger.Warn("answers are kept in memory only", "cause", ownfolder.Reason(err).Error())
		return nil
	}
	return folder
}

// decider decides requests.
type decider interface {
	Decide(context.Context, reasoning.Request, reasoning.Observer) (reasoning.Intent, error)
}

// queueDecider returns what answers the questions of a queue, and its name: the
// Reasoning API of the settings, or the built-in service. A worker for which neither is
// configured would answer a fleet's questions with the offline planner, so that has to
// be chosen.
func (a *App) queueDecider(ctx context.Context) (decider, string, error) {
	s := a.settings.Reasoning
	if s.Waiting != nil {
		return nil, "", s.Waiting
	}
	if s.URL != "" {
		s.Transport = settings.TransportHTTP
		client, name, err := a.Reasoner(s, nil)
		return client, name, err
	}
	s = withDefaults(ctx, s)
	if s.SLM == "" && s.LLM == "" && s.Provider != settings.Offline && !needsModel(s) {
		return nil, "", fault.New(fault.InvalidParams, "nothing is configured that answers questions: set %s or %s to a model, %s to a service that answers, "+
			"or LLM_PROVIDER=offline if the offline planner, which is not a model, is to answer them", settings.EnvSLM, settings.EnvLLM, settings.EnvReasoningURL)
	}
	inside, err := reasoningService(s)
	if err != nil {
		return nil, "", err
	}
	return observedDecider{a, inside}, inside.Name(), nil
}

// awayPause is how long a worker keeps a question that nobody could be asked about,
// before it gives it back.
const awayPause = 5 * time.Second

// AnswerQueue answers questions of the queue until ctx ends. It fails at once if the
// database or what answers is not configured. While the model or the service cannot be
// reached, questions go back to the queue, and it is said once.
func (a *App) AnswerQueue(ctx context.Context, work mongoqueue.Work, begun func(decider, queue string)) error {
	inside, name, err := a.queueDecider(ctx)
	if err != nil {
		return Misconfigured(err)
	}
	database, err := a.openDatabase()
	if err != nil {
		return err
	}
	begun(name, mongoqueue.New(database).Name())
	work.Log = a.Logger
	var away atomic.Bool
	return mongoqueue.Serve(ctx, database, work, func(ctx context.Context, request reasoning.Request) (json.RawMessage, error) {
		intent, err := inside.Decide(ctx, request, reasoning.Unobserved{})
		if err == nil {
			if away.Swap(false) {
				a.Logger.InfoContext(ctx, "what decides can be reached again", "decider", name)
			}
			return json.Marshal(intent)
		}
		if cause := (*reasoning.Away)(nil); errors.As(err, &cause) {
			if !away.Swap(true) {
				a.Logger.WarnContext(ctx, "what decides cannot be reached: questions stay in the queue", "decider", name, "cause", a.redactor.Text(fault.From(err).Details))
			}
			select {
			case <-ctx.Done():
			case <-time.After(awayPause):
			}
		}
		return nil, err
	})
}

// observedDecider records the model calls behind a service's decisions.
type observedDecider struct {
	app    *App
	inside *service.Service
}

// Decide decides, and records the model calls.
func (d observedDecider) Decide(ctx context.Context, request reasoning.Request, outside reasoning.Observer) (reasoning.Intent, error) {
	of := decisionOf(request)
	var wrote func(string)
	if outside.Streams() {
		wrote = outside.Wrote
	}
	observed, recorded := d.app.observe(ctx, of, wrote)
	defer recorded()
	intent, err := d.inside.Decide(ctx, request, warning{observed, d.app, ctx, of})
	if err == nil && intent.Prompt != nil {
		observed.Prompted(intent.Model, *intent.Prompt)
	}
	return intent, err
}

// warning is the observer of a decision that no client makes: it warns of pauses.
type warning struct {
	*reasoning.Observed
	app *App
	ctx context.Context
	of  decision
}

// Waited warns of a pause.
func (w warning) Waited(attempt reasoning.Attempt) {
	attempt.SessionID, attempt.RunID, attempt.Step = w.app.calls.process, w.of.runID, w.of.step
	w.app.warnOfAttempt(w.ctx, attempt)
}

// decisionOf returns what a request is for.
func decisionOf(request reasoning.Request) decision {
	if question := request.Question; question != nil {
		return decision{runID: request.RunID, workflow: question.Workflow, stepID: question.StepID}
	}
	return decision{runID: request.RunID, step: request.Step}
}

// Observe returns the observer of the decision of a request, and a function that records
// the decision's model calls.
func (a *App) Observe(ctx context.Context, request reasoning.Request) (_ reasoning.Observer, recorded func() []reasoning.ModelCall) {
	return a.observe(ctx, decisionOf(request), nil)
}
