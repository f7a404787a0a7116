package metrics

import (
	"cmp"
	"strings"
	"sync"

	"savant/hub/events"
	"savant/telemetry"
)

// The metrics, by what they count.
const (
	steps           = "savant_steps_total"
	decisions       = "savant_decisions_total"
	decisionSeconds = "savant_decision_duration_seconds"
	calls           = "savant_tool_calls_total"
	callSeconds     = "savant_tool_call_duration_seconds"
	models          = "savant_llm_calls_total"
	modelSeconds    = "savant_llm_call_duration_seconds"
	tokens          = "savant_tokens_total"
	cost            = "savant_cost_total"
	denied          = "savant_policy_denied_total"
	refused         = "savant_rule_refused_total"
	retries         = "savant_retries_total"
	failures        = "savant_errors_total"
	runsStarted     = "savant_agent_runs_started_total"
	runsFinished    = "savant_agent_runs_finished_total"
	runSeconds      = "savant_agent_run_duration_seconds"
	open            = "savant_open_runs"
	queue           = "savant_queue_depth"
	unanswered      = "savant_decision_queue_depth"
	lost            = "savant_trace_lost_total"
)

// Families are all metrics, in the order in which they are written.
func Families() []Family {
	return []Family{
		{steps, Counter, "Steps of the agent, and records of workflows.", []string{"kind"}},
		{decisions, Counter, "Decisions of the agent by action.", []string{"action", "model"}},
		{decisionSeconds, Histogram, "Time for a decision of the agent.", []string{"model"}},
		{calls, Counter, "Completed calls of tools by outcome.", []string{"tool", "source", "outcome"}},
		{callSeconds, Histogram, "Time for a call of a tool.", []string{"tool"}},
		{models, Counter, "Calls of models by outcome.", []string{"model", "provider", "purpose", "outcome"}},
		{modelSeconds, Histogram, "Time for a call of a model.", []string{"model"}},
		{tokens, Counter, "Tokens that models read and wrote.", []string{"model", "direction"}},
		{cost, Counter, "What calls of models cost by llm.prices, in its currency.", []string{"model"}},
		{denied, Counter, "Calls that policy did not let through.", []string{"rule"}},
		{refused, Counter, "Calls that rules of the project refused.", []string{"rule"}},
		{retries, Counter, "Repeated attempts of decisions and calls.", nil},
		{failures, Counter, "Errors by code.", []string{"code"}},
		{runsStarted, Counter, "Runs of the agent that were started.", nil},
		{runsFinished, Counter, "Runs of the agent that ended, by status.", []string{"status"}},
		{runSeconds, Histogram, "Time for a run of the agent.", []string{"status"}},
		{open, Gauge, "Runs that have not ended.", []string{"kind", "status"}},
		{queue, Gauge, "Open runs of workflows that wait, by who must answer.", []string{"for"}},
		{unanswered, Gauge, "Questions for a decision in the queue in MongoDB that have no answer yet.", nil},
		{lost, Counter, "How often events may have been missed because the trace rotated twice between two reads, or this process could not write it.", nil},
	}
}

// Metrics count the lines of the trace. They are safe for concurrent use.
type Metrics struct {
	mu     sync.Mutex
	tables []*table
	named  map[string]*table
}

// New returns metrics with zero counts.
func New() *Metrics {
	m := &Metrics{named: map[string]*table{}}
	for _, each := range Families() {
		made := &table{Family: each, series: map[string]*series{}}
		m.tables, m.named[each.Name] = append(m.tables, made), made
		if len(each.Labels) == 0 && each.Name != unanswered {
			made.seriesOf(nil) // 0 is known from the start
		}
	}
	return m
}

// Now is the current state, for gauges.
type Now struct {
	// Open counts the runs that have not ended, by kind and status; Waiting counts
	// waiting runs of workflows, by whom they wait for.
	Open    map[Standing]int
	Waiting map[string]int
	// Unanswered counts the unanswered questions to deciders; nil without a reachable
	// queue.
	Unanswered *int
	// Records counts the written records of workflows, Lost how often events may have
	// been missed.
	Records, Lost uint64
}

// Standing is the state of runs of a kind.
type Standing struct{ Kind, Status string }

// gauge sets the gauges. The caller holds the lock.
func (m *Metrics) gauge(now Now) {
	clear(m.named[open].series)
	clear(m.named[queue].series)
	for standing, count := range now.Open {
		m.named[open].seriesOf([]string{standing.Kind, standing.Status}).value = float64(count)
	}
	clear(m.named[unanswered].series)
	if now.Unanswered != nil {
		m.named[unanswered].seriesOf(nil).value = float64(*now.Unanswered)
	}
	for whom, count := range now.Waiting {
		m.named[queue].seriesOf([]string{whom}).value = float64(count)
	}
	m.named[steps].seriesOf([]string{"workflow"}).value = float64(now.Records)
	m.named[lost].seriesOf(nil).value = float64(now.Lost)
}

func (m *Metrics) add(name string, by float64, labels ...string) {
	m.named[name].seriesOf(labels).value += by
}

func (m *Metrics) observe(name string, milliseconds float64, labels ...string) {
	m.named[name].seriesOf(labels).observe(max(milliseconds, 0) / 1000)
}

// Count counts a line of the trace.
func (m *Metrics) Count(line events.Line) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch line.Type {
	case telemetry.ReasoningStep:
		m.add(steps, 1, "agent")
		m.add(decisions, 1, line.Action, line.Model)
		m.observe(decisionSeconds, line.DurationMS, line.Model)
	case telemetry.ToolCallCompleted:
		m.add(calls, 1, line.Tool, line.Source, outcome(line))
		m.observe(callSeconds, line.DurationMS, line.Tool)
		for rule := range strings.SplitSeq(text(line.Metadata.Rules), ",") {
			if rule != "" {
				m.add(refused, 1, rule)
			}
		}
	case telemetry.LLMCall:
		m.countModel(line)
	case telemetry.PolicyDenied:
		m.add(denied, 1, text(line.Metadata.Rule))
	case telemetry.Retry:
		m.add(retries, 1)
	case telemetry.Error:
		if line.Error != nil {
			m.add(failures, 1, line.Error.Code)
		}
	case telemetry.RunStarted:
		m.add(runsStarted, 1)
	case telemetry.RunFinished:
		m.add(runsFinished, 1, line.Status)
		m.observe(runSeconds, line.DurationMS, line.Status)
	}
}

func (m *Metrics) countModel(line events.Line) {
	m.add(models, 1, line.Model, text(line.Metadata.Provider), text(line.Metadata.Purpose), outcome(line))
	m.observe(modelSeconds, line.DurationMS, line.Model)
	m.add(tokens, float64(max(line.PromptTokens, 0)), line.Model, "input")
	m.add(tokens, float64(max(line.OutputTokens, 0)), line.Model, "output")
	if spent, known := line.Metadata.Cost.(float64); known && spent > 0 {
		m.add(cost, spent, line.Model)
	}
}

// outcome is the status of a call; without a status it succeeded unless it has an
// error.
func outcome(line events.Line) string {
	if line.Status == "" && line.Error != nil {
		return "failed"
	}
	return cmp.Or(line.Status, "ok")
}

func text(value any) string {
	text, _ := value.(string)
	return text
}
