package app

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"

	"savant"
	"savant/internal/ownfolder"
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
// attempt and may be nil.
func (a *App) Reasoner(s settings.Reasoning, observe func(context.Context, reasoning.Attempt)) (client *reasoning.Client, name string, err error) {
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
		options.Transport, options.Name, options.Timeout, options.Retries = &lateService{settings: s}, "the built-in reasoning service", 0, 0
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

// refused is the transport to a decider in the file of settings that nobody accepted.
type refused struct{ why error }

// RoundTrip sends nothing.
func (r refused) RoundTrip(context.Context, reasoning.Request) (json.RawMessage, error) {
	return nil, r.why
}

// reasoningService returns the built-in service, with the configured models.
func reasoningService(s settings.Reasoning) (*service.Service, error) {
	provider := s.Provider
	if provider == settings.Offline {
		provider = ""
	}
	options := models.Options{Provider: provider, OllamaURL: s.OllamaURL, AnthropicURL: s.AnthropicURL, AnthropicKey: s.AnthropicKey,
		OpenAIURL: s.OpenAIURL, OpenAIKey: s.OpenAIKey, Think: s.Think}
	made := service.Options{Timeout: s.ModelTimeout, Patience: s.Patience, SmallBudget: s.SLMBudget, LargeBudget: s.LLMBudget}
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
	schema, err := set.Named("reasoning_request")
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
		folder, err = a.Root.OpenRoot(keptAnswers)
	}
	if err != nil {
		a.Logger.Warn("answers are kept in memory only", "cause", ownfolder.Reason(err).Error())
		return nil
	}
	return folder
}

// AnswerQueue answers questions of the queue with the built-in service, until ctx ends.
// It fails at once if the database is not configured.
func (a *App) AnswerQueue(ctx context.Context, work mongoqueue.Work, begun func(decider, queue string)) error {
	s := a.settings.Reasoning
	if s.Waiting != nil {
		return Misconfigured(s.Waiting)
	}
	database, err := a.openDatabase()
	if err != nil {
		return err
	}
	inside, err := reasoningService(withDefaults(ctx, s))
	if err != nil {
		return Misconfigured(err)
	}
	begun(inside.Name(), mongoqueue.New(database).Name())
	work.Log = a.Logger
	return mongoqueue.Serve(ctx, database, work, func(ctx context.Context, request reasoning.Request) (json.RawMessage, error) {
		intent, err := observedDecider{a, inside}.Decide(ctx, request)
		if err != nil {
			return nil, err
		}
		return json.Marshal(intent)
	})
}

// observedDecider records the model calls behind a service's decisions.
type observedDecider struct {
	app    *App
	inside *service.Service
}

// Decide decides, and records the model calls.
func (d observedDecider) Decide(ctx context.Context, request reasoning.Request) (reasoning.Intent, error) {
	ctx, recorded := d.app.Observe(ctx, request)
	defer recorded()
	intent, err := d.inside.Decide(ctx, request)
	if observer := reasoning.ObserverFrom(ctx); err == nil && intent.Prompt != nil {
		observer.Prompted(intent.Model, *intent.Prompt)
	}
	return intent, err
}

// Observe returns a context for the decision of a request, and a function that records
// the decision's model calls.
func (a *App) Observe(ctx context.Context, request reasoning.Request) (_ context.Context, recorded func()) {
	of := decision{runID: request.RunID, step: request.Step}
	if request.Question != nil {
		of = decision{runID: request.RunID, workflow: request.Question.Workflow, stepID: request.Question.StepID}
	}
	return a.observe(ctx, of, reasoning.ObserverFrom(ctx).Wrote)
}
