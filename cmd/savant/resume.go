package main

import (
	"github.com/spf13/cobra"

	"savant/agent"
)

// ofNewRuns are the flags that a run has from its beginning: one that goes on
// keeps its own.
var ofNewRuns = [...]string{"agent-input", "agent-file", "dry-run", "force-tool", "force-args", "force-finish", "allow", "deny", "read-only", "workflow",
	"persona", "run-id", "slm", "llm", "skip-git"}

// readResume refuses with --resume what would be of no effect, and takes the
// new limit of steps, where one is given.
func readResume(command *cobra.Command, want *errand) error {
	if want.resume == "" {
		return nil
	}
	for _, name := range ofNewRuns {
		if command.Flags().Changed(name) {
			return usageError("--resume goes on with a run as it was ordered: leave out --" + name + ", or begin a new run")
		}
	}
	if command.Flags().Changed("max-steps") {
		want.limit = want.maxSteps
	}
	return nil
}

// howToGoOn is what to type for a run that can go on, "" for others.
func howToGoOn(report agent.Report) string {
	switch report.Status {
	case agent.StatusCanceled, agent.StatusInterrupted:
		return "savant run --resume " + report.RunID
	case agent.StatusMaxSteps:
		return "savant run --resume " + report.RunID + " --max-steps N"
	}
	return ""
}
