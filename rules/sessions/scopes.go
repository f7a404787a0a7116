package sessions

import (
	"context"
	"fmt"

	"savant/engines"
	"savant/rules"
	"savant/think"
)

// Rulings has the rules of workflows.
type Rulings interface {
	// Rulings returns the workflows with rules that the runs of a call follow.
	Rulings(ctx context.Context, call engines.Call) ([]think.Ruling, error)
}

// Approvals are those in the runs of workflows that cover calls: a person said yes to all
// calls that fit before they are made.
type Approvals interface {
	// About reports whether an approval in a run of the call may be about a tool.
	About(ctx context.Context, call engines.Call, tool string) bool
	// Coverage returns what the approvals in the runs of a call say about it.
	Coverage(ctx context.Context, call engines.Call, tool string, input map[string]any) ([]think.ScopedApproval, error)
	// Use uses an approval up for a call: APPROVAL_REQUIRED where it no longer covers it.
	Use(ctx context.Context, call engines.Call, approval think.ScopedApproval, tool string, input map[string]any) error
}

// consent finds an approval of the call's run that covers it, nil for none. Where one is
// about the tool and does not cover the call, the verdict asks a person, as by a rule. An
// approval answers a rule's question no further than the rule's for, and never lets a call
// pass that rules refuse.
func (k *Keeper) consent(ctx context.Context, call engines.Call, verdict rules.Verdict) (judged rules.Verdict, by *think.ScopedApproval, err error) {
	judged = verdict
	if verdict.Decision == rules.Refuse || k.options.Approvals == nil || verdict.Decision == rules.Ask && k.asked[questionOf(verdict)].agreed(verdict.Call.Time) {
		return judged, nil, nil
	}
	found, err := k.options.Approvals.Coverage(ctx, call, verdict.Call.Tool, verdict.Call.Input)
	for i, each := range found {
		if each.Over == "" && (verdict.Decision == rules.Allow || k.grants(verdict, each)) {
			return verdict, &found[i], nil
		}
		if verdict.Decision == rules.Allow {
			judged = verdict.Asking(each.Step, each.Over)
		}
	}
	return judged, nil, err
}

// grants reports whether the rules that ask take an approval for one more equal call.
func (k *Keeper) grants(verdict rules.Verdict, by think.ScopedApproval) bool {
	return verdict.Grant().Reaches(k.scoped[questionOf(verdict)+scopeOf(by)], verdict.Call.Time-by.Given.UnixMilli())
}

// scopeOf names an approval in the journal.
func scopeOf(by think.ScopedApproval) string { return fmt.Sprintf("%s v%d", by.Key(), by.Version) }

// noted is the record of a judged call. It uses the approval up that covers it, if any.
func (k *Keeper) noted(ctx context.Context, call engines.Call, verdict rules.Verdict, by *think.ScopedApproval) (record, error) {
	added := k.begun(newName(), verdict.Call)
	added.Rules, added.Uses, added.Set = verdict.Summaries(), verdict.Uses, k.digest
	if verdict.Asks() {
		added.Question = questionOf(verdict)
	}
	if by != nil {
		added.Scope = scopeOf(*by)
		if err := k.options.Approvals.Use(ctx, call, *by, verdict.Call.Tool, verdict.Call.Input); err != nil {
			return added, err
		}
	}
	return added, k.journal.keep(k.sources, added.Set)
}
