package agents

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"savant/agent"
	"savant/agent/fleet"
	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/fault"
)

// Limits of a worker.
const (
	shortestLease = time.Second
	maxAttempts   = 100
)

// WorkCommand is `savant work`.
func WorkCommand(shared *cli.Program) *cobra.Command {
	p := &program{shared}
	work := fleet.Work{}
	command := &cobra.Command{Use: "work", Short: "Carry out runs of the agent that wait in MongoDB",
		Long: "Carry out runs of the agent that were started on any machine with SAVANT_STORE=mongo. Any number of workers may do so. A worker\n" +
			"that ends gives back its runs; if a worker is lost, another one takes its runs when the lease ends, and continues each from\n" +
			"its last step. A worker takes the runs whose labels it has: those of --label.",
		Example: "  SAVANT_STORE=mongo MONGO_URI=mongodb://db:27017/ \\\n    savant work --concurrency 4 --label folder=shop",
		Args:    cli.Positional(cobra.NoArgs),
		RunE: func(command *cobra.Command, _ []string) error {
			if work.Concurrency < 1 || work.Concurrency > fleet.MaxConcurrency || work.MaxClaims < 1 || work.MaxClaims > maxAttempts || work.Lease < shortestLease {
				return cli.UsageError(fmt.Sprintf("expected --concurrency from 1 to %d, --attempts from 1 to %d and --lease of at least %s", fleet.MaxConcurrency, maxAttempts, shortestLease))
			}
			return p.With(command.Context(), func(a *app.App) error { return p.work(command.Context(), a, work) })
		}}
	command.Flags().IntVar(&work.Concurrency, "concurrency", 1, "how many runs are carried out at once")
	command.Flags().StringSliceVar(&work.Labels, "label", nil, "a label of this machine, such as folder=NAME; may be repeated")
	command.Flags().DurationVar(&work.Lease, "lease", fleet.Lease, "how long a run stays with a worker that sends no heartbeat")
	command.Flags().IntVar(&work.MaxClaims, "attempts", 10, "failed attempts after which a run is set aside")
	return command
}

func (p *program) work(ctx context.Context, a *app.App, work fleet.Work) error {
	if a.Fleet == nil {
		return app.Misconfigured(fault.New(fault.InvalidParams, "workers take runs from a database: set SAVANT_STORE=mongo and MONGO_URI"))
	}
	for _, each := range work.Labels {
		if err := agent.CheckLabel(each); err != nil {
			return cli.UsageError(fault.From(err).Message())
		}
	}
	work.Display = runLines{p.Stderr}
	p.Serving = true
	has := ""
	if len(work.Labels) > 0 {
		has = " with " + strings.Join(work.Labels, ", ")
	}
	fmt.Fprintf(p.Stderr, "savant: working on runs%s\n", has)
	return a.Fleet.Serve(ctx, work)
}

// runLines shows the runs of a worker, a line each time.
type runLines struct{ out io.Writer }

// Took implements fleet.Display.
func (l runLines) Took(run string, claim int) {
	fmt.Fprintf(l.out, "savant: took run %s (claim %d)\n", run, claim)
}

// Ended implements fleet.Display.
func (l runLines) Ended(report agent.Report) {
	fmt.Fprintf(l.out, "savant: run %s: %s, steps %d\n", report.RunID, report.Status, report.Steps)
}
