package review

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
)

// The parts of SARIF 2.1.0 (OASIS, 2020) in use.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
		Properties  map[string]any    `json:"properties,omitempty"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string       `json:"level"`
		Message sarifMessage `json:"message"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID          string       `json:"id"`
		Description sarifMessage `json:"shortDescription"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifMessage      `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region struct {
				Line    int          `json:"startLine"`
				Snippet sarifMessage `json:"snippet"`
			} `json:"region"`
		} `json:"physicalLocation"`
	}
)

// levels maps severities to SARIF levels.
var levels = map[string]string{"blocker": "error", "major": "error", "minor": "warning", "note": "note"}

// SARIF formats the findings for code scanning (GitHub, GitLab, editors).
func (r Report) SARIF() ([]byte, error) {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "Savant review"}
	ruleIndex := map[string]int{}
	for i, severity := range severities {
		ruleIndex[severity] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: "review/" + severity, Description: sarifMessage{"A finding of a review: " + severity}})
	}
	for _, f := range r.Findings {
		text := f.Message
		if f.Suggestion != "" {
			text += "\n\nSuggestion: " + f.Suggestion
		}
		sum := sha256.Sum256([]byte(f.Path + "\x00" + plain(f.Evidence) + "\x00" + f.Severity))
		result := sarifResult{RuleID: "review/" + f.Severity, RuleIndex: ruleIndex[f.Severity], Level: levels[f.Severity], Message: sarifMessage{text},
			Locations: make([]sarifLocation, 1), Fingerprints: map[string]string{"savantReview/v1": hex.EncodeToString(sum[:16])}}
		at := &result.Locations[0].Physical
		at.Artifact.URI, at.Region.Line, at.Region.Snippet.Text = (&url.URL{Path: f.Path}).EscapedPath(), max(f.Line, 1), f.Evidence
		run.Results = append(run.Results, result)
	}
	invocation := sarifInvocation{Successful: true}
	for _, each := range append(r.vetoed(), r.Warnings...) {
		invocation.Notifications = append(invocation.Notifications, sarifNotification{"warning", sarifMessage{each}})
	}
	run.Invocations = []sarifInvocation{invocation}
	run.Properties = map[string]any{"decision": r.Decision, "summary": r.Summary, "lines": r.Change.Lines}
	return json.MarshalIndent(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}, "", "  ")
}
