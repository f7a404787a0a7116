// Package sarif has the parts of a SARIF 2.1.0 log (OASIS, 2020) that Savant writes.
package sarif

import "slices"

// Log is a whole log.
type Log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []Run  `json:"runs"`
}

// Run is what one program found.
type Run struct {
	Tool        Tool           `json:"tool"`
	ColumnKind  string         `json:"columnKind,omitempty"`
	Invocations []Invocation   `json:"invocations,omitempty"`
	Results     []Result       `json:"results"`
	Properties  map[string]any `json:"properties,omitempty"`
}

// Tool is the program, with its rules.
type Tool struct {
	Driver Driver `json:"driver"`
}

// Driver is the part of the program that has the rules.
type Driver struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Rules   []Rule `json:"rules"`
}

// Rule is a kind of result.
type Rule struct {
	ID          string   `json:"id"`
	Description *Message `json:"shortDescription,omitempty"`
}

// Message is a text.
type Message struct {
	Text string `json:"text"`
}

// Invocation says how the program ended.
type Invocation struct {
	Successful    bool           `json:"executionSuccessful"`
	Notifications []Notification `json:"toolExecutionNotifications,omitempty"`
}

// Notification is something that the program says of its own work.
type Notification struct {
	Level   string  `json:"level"`
	Message Message `json:"message"`
}

// Result is one finding.
type Result struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      Message           `json:"message"`
	Locations    []Location        `json:"locations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints,omitempty"`
}

// Location is a place in a file.
type Location struct {
	Physical Physical `json:"physicalLocation"`
}

// Physical is a file and a region of it.
type Physical struct {
	Artifact Artifact `json:"artifactLocation"`
	Region   *Region  `json:"region,omitempty"`
}

// Artifact is a file.
type Artifact struct {
	URI string `json:"uri"`
}

// Region is a line, with its text.
type Region struct {
	StartLine   int      `json:"startLine"`
	StartColumn int      `json:"startColumn,omitempty"`
	Snippet     *Message `json:"snippet,omitempty"`
}

// NewLog returns the log of a run.
func NewLog(run Run) Log {
	return Log{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []Run{run}}
}

// Rule returns the index of a rule, which it adds if it is new.
func (r *Run) Rule(rule Rule) int {
	rules := &r.Tool.Driver.Rules
	if i := slices.IndexFunc(*rules, func(known Rule) bool { return known.ID == rule.ID }); i >= 0 {
		return i
	}
	*rules = append(*rules, rule)
	return len(*rules) - 1
}
