package commands

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/fault"
	"savant/internal/settings"
	"savant/reasoning/mongoqueue"
)

// Limits of a worker.
const (
	maxConcurrency = 1000
	maxAttempts    = 100
	shortestLease  = time.Second
	shortestKeep   = 24 * time.Hour
)

func (p *program) reasoningWorkCommand() *cobra.Command {
	work := mongoqueue.Work{}
	command := &cobra.Command{Use: "work", Short: "Answer or forward the questions of the queue in MongoDB",
		Long: "Answer the questions that agents with REASONING_TRANSPORT=mongo put into the queue " + mongoqueue.Collection + " of MongoDB. Any number of\n" +
			"workers may do so, on any machine. Each question gets one answer, even if two workers computed one. A worker that ends gives back\n" +
			"its open questions; if a worker is lost, they return to the queue when the lease ends.\n\n" +
			"A worker answers with the models of the settings, or forwards to REASONING_API_URL. Without either it does not start, unless\n" +
			"LLM_PROVIDER=offline says that the offline planner, which is not a model, is to answer.",
		Example: "  MONGO_URI=mongodb://db:27017/ savant reasoning work --concurrency 4",
		Args:    cli.Positional(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			if work.Concurrency < 1 || work.Concurrency > maxConcurrency || work.MaxClaims < 1 || work.MaxClaims > maxAttempts || work.Lease < shortestLease || work.Keep < shortestKeep {
				return cli.UsageError(fmt.Sprintf("expected --concurrency from 1 to %d, --attempts from 1 to %d, --lease of at least %s and --keep of at least %s", maxConcurrency, maxAttempts, shortestLease, shortestKeep))
			}
			p.Open.Alone = true
			return p.With(command.Context(), func(a *app.App) error { return p.workOnQueue(command.Context(), a, work) })
		}}
	command.Flags().IntVar(&work.Concurrency, "concurrency", 1, "how many questions are answered at once")
	command.Flags().IntVar(&work.MaxClaims, "attempts", 3, "failed attempts after which a question is set aside with an error")
	command.Flags().DurationVar(&work.Lease, "lease", 30*time.Second, "how long a question stays with a worker that sends no heartbeat")
	command.Flags().DurationVar(&work.Keep, "keep", 30*24*time.Hour, "how long answered questions are kept")
	return command
}

func (p *program) workOnQueue(ctx context.Context, a *app.App, work mongoqueue.Work) error {
	host, err := os.Hostname()
	if err != nil {
		return app.Misconfigured(fault.New(fault.InvalidParams, "this machine has no name: %w", err))
	}
	if work.Owner = fmt.Sprintf("%s/%d", host, os.Getpid()); p.Settings.Mongo.URI == "" && p.Settings.Mongo.Host == "" {
		return app.Misconfigured(fault.New(fault.InvalidParams, "no queue is named: set %s, such as mongodb://127.0.0.1:27017/, or MONGO_HOST", settings.EnvMongoURI))
	}
	p.Serving = true
	return a.AnswerQueue(ctx, work, func(decider, queue string) {
		fmt.Fprintf(p.Stderr, "savant: %s answers questions of %s\n", decider, queue)
	})
}
