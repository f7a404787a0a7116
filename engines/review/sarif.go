package review

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"

	"savant/internal/sarif"
)

// levels maps severities to SARIF levels.
var levels = map[string]string{"blocker": "error", "major": "error", "minor": "warning", "note": "note"}

// SARIF formats the findings for code scanning (GitHub, GitLab, editors).
func (r Report) SARIF() ([]byte, error) {
	run := sarif.Run{Results: []sarif.Result{}, Tool: sarif.Tool{Driver: sarif.Driver{Name: "Savant review"}}}
	for _, severity := range severities {
		run.Rule(ruleOf(severity))
	}
	for _, f := range r.Findings {
		text := f.Message
		if f.Suggestion != "" {
			text += "\n\nSuggestion: " + f.Suggestion
		}
		sum := sha256.Sum256([]byte(f.Path + "\x00" + plain(f.Evidence) + "\x00" + f.Severity))
		rule := ruleOf(f.Severity)
		run.Results = append(run.Results, sarif.Result{RuleID: rule.ID, RuleIndex: run.Rule(rule), Level: levels[f.Severity], Message: sarif.Message{Text: text},
			Locations: []sarif.Location{{Physical: sarif.Physical{Artifact: sarif.Artifact{URI: (&url.URL{Path: f.Path}).EscapedPath()},
				Region: &sarif.Region{StartLine: max(f.Line, 1), Snippet: &sarif.Message{Text: f.Evidence}}}}},
			Fingerprints: map[string]string{"savantReview/v1": hex.EncodeToString(sum[:16])}})
	}
	invocation := sarif.Invocation{Successful: true}
	for _, each := range append(r.vetoed(), r.Warnings...) {
		invocation.Notifications = append(invocation.Notifications, sarif.Notification{Level: "warning", Message: sarif.Message{Text: each}})
	}
	run.Invocations = []sarif.Invocation{invocation}
	run.Properties = map[string]any{"decision": r.Decision, "summary": r.Summary, "lines": r.Change.Lines}
	return json.MarshalIndent(sarif.NewLog(run), "", "  ")
}

// ruleOf is the rule of the findings of a severity.
func ruleOf(severity string) sarif.Rule {
	return sarif.Rule{ID: "review/" + severity, Description: &sarif.Message{Text: "A finding of a review: " + severity}}
}
