package metrics_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/hub/events"
	"savant/hub/metrics"
	"savant/telemetry"
	"savant/test/golden"
)

// sample is a line of the text format.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)+)\})? (\S+)$`)
	labelPair  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"`)
)

// parse reads the text format as Prometheus does: each metric has its help, its type
// and then all of its samples, without duplicates.
func parse(t *testing.T, text string) map[string][]sample {
	t.Helper()
	found, seen, family, kind := map[string][]sample{}, map[string]bool{}, "", ""
	require.True(t, strings.HasSuffix(text, "\n"))
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if rest, help := strings.CutPrefix(line, "# HELP "); help {
			family, _, _ = strings.Cut(rest, " ")
			require.NotContains(t, found, family, "a family comes once")
			found[family] = nil
			continue
		}
		if rest, typed := strings.CutPrefix(line, "# TYPE "); typed {
			require.True(t, strings.HasPrefix(rest, family+" "), line)
			kind = strings.TrimPrefix(rest, family+" ")
			continue
		}
		parts := sampleLine.FindStringSubmatch(line)
		require.NotNil(t, parts, line)
		require.False(t, seen[parts[1]+parts[2]], "twice: %s", line)
		seen[parts[1]+parts[2]] = true
		name := parts[1]
		if kind == "histogram" {
			name = regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		}
		require.Equal(t, family, name, line)
		value, err := strconv.ParseFloat(parts[3], 64)
		require.NoError(t, err, line)
		made := sample{parts[1], map[string]string{}, value}
		for _, pair := range labelPair.FindAllStringSubmatch(parts[2], -1) {
			made.labels[pair[1]] = pair[2]
		}
		found[family] = append(found[family], made)
	}
	return found
}

func written(t *testing.T, m *metrics.Metrics, now metrics.Now) map[string][]sample {
	t.Helper()
	var text strings.Builder
	require.NoError(t, m.Write(&text, now))
	return parse(t, text.String())
}

func TestTheTextIsOneOfPrometheus(t *testing.T) {
	m := metrics.New()
	hostile := "a\"b\\c\nd\xff"
	for i, each := range telemetry.Types() {
		var line events.Line
		require.NoError(t, json.Unmarshal([]byte(`{"metadata":{"cost":0.5,"rule":7,"rules":"seen,once"}}`), &line))
		line.Type = each
		m.Count(line)
		m.Count(events.Line{Type: each, Model: hostile, Tool: hostile, Action: hostile, Status: "ok", DurationMS: float64(i), PromptTokens: 7, Error: &telemetry.Failure{Code: hostile}})
	}
	require.Empty(t, written(t, m, metrics.Now{})["savant_decision_queue_depth"], "no queue is no empty queue")
	questions := 4
	found := written(t, m, metrics.Now{Unanswered: &questions, Open: map[metrics.Standing]int{{Kind: "agent", Status: "running"}: 2}, Waiting: map[string]int{"person": 3}, Records: 9})
	for _, each := range metrics.Families() {
		require.NotEmpty(t, found[each.Name], each.Name)
		for _, made := range found[each.Name] {
			for _, label := range each.Labels {
				require.Contains(t, made.labels, label)
			}
		}
	}
	require.Equal(t, `a\"b\\c\nd`+"\uFFFD", found["savant_tool_calls_total"][0].labels["tool"])
	require.InDelta(t, 7, found["savant_tokens_total"][0].value, 0)
	require.Len(t, found["savant_rule_refused_total"], 2)

	found = written(t, m, metrics.Now{})
	require.Empty(t, found["savant_open_runs"], "what does not stand so any more is gone")
}

// TestHistogramsAddUp checks that buckets are cumulative, that the last one counts
// everything, and that the sum is in seconds.
func TestHistogramsAddUp(t *testing.T) {
	m := metrics.New()
	for _, each := range []float64{0, 5, 5.001, 80, 400_000} {
		m.Count(events.Line{Type: telemetry.ToolCallCompleted, Tool: "git.log", DurationMS: each})
	}
	last, counted := 0.0, map[string]float64{}
	for _, each := range written(t, m, metrics.Now{})["savant_tool_call_duration_seconds"] {
		if each.name == "savant_tool_call_duration_seconds_bucket" {
			require.GreaterOrEqual(t, each.value, last)
			last = each.value
			counted[each.labels["le"]] = each.value
		} else {
			counted[each.name] = each.value
		}
	}
	require.InDelta(t, 2, counted["0.005"], 0)
	require.InDelta(t, 3, counted["0.025"], 0)
	require.InDelta(t, 4, counted["300"], 0)
	require.InDelta(t, 5, counted["+Inf"], 0)
	require.InDelta(t, 5, counted["savant_tool_call_duration_seconds_count"], 0)
	require.InDelta(t, 400.090001, counted["savant_tool_call_duration_seconds_sum"], 1e-6)
}

// TestSeriesAreBounded checks that calls of invented tool names cannot fill the memory.
func TestSeriesAreBounded(t *testing.T) {
	m := metrics.New()
	for i := range 1000 {
		m.Count(events.Line{Type: telemetry.ToolCallCompleted, Tool: fmt.Sprint("tool", i)})
	}
	all := written(t, m, metrics.Now{})["savant_tool_calls_total"]
	require.Len(t, all, 201)
	sum, others := 0.0, 0.0
	for _, each := range all {
		sum += each.value
		if each.labels["tool"] == "other" {
			others = each.value
		}
	}
	require.InDelta(t, 1000, sum, 0)
	require.InDelta(t, 800, others, 0)
	require.False(t, math.IsNaN(sum))
}

var update = flag.Bool("update", false, "write docs/telemetry.md anew")

// TestTheDashboardAsksForMetricsThatThereAre checks that every metric in the
// dashboard's queries is published, and writes the table of docs/telemetry.md.
func TestTheDashboardAsksForMetricsThatThereAre(t *testing.T) {
	known := map[string]metrics.Family{}
	for _, each := range metrics.Families() {
		known[each.Name] = each
		if each.Kind == metrics.Histogram {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				known[each.Name+suffix] = each
			}
		}
	}
	source, err := os.ReadFile("../../docs/grafana-savant.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(source, &dashboard))
	asked := map[string]bool{}
	name, grouped := regexp.MustCompile(`savant_[a-z_]+`), regexp.MustCompile(`by \(([^)]*)\)`)
	for _, panel := range dashboard.Panels {
		require.NotEmpty(t, panel.Targets, panel.Title)
		for _, target := range panel.Targets {
			names := name.FindAllString(target.Expr, -1)
			require.NotEmpty(t, names, panel.Title)
			var labels []string
			for _, each := range names {
				require.Contains(t, known, each, panel.Title)
				require.NotEqual(t, known[each].Kind == metrics.Histogram, known[each].Name == each, "%s: a histogram is asked for by its parts", panel.Title)
				labels = append(labels, known[each].Labels...)
				asked[known[each].Name] = true
			}
			for _, by := range grouped.FindAllStringSubmatch(target.Expr, -1) {
				for label := range strings.SplitSeq(by[1], ",") {
					require.Contains(t, append(labels, "le"), strings.TrimSpace(label), "%s: %s", panel.Title, target.Expr)
				}
			}
		}
	}
	var table strings.Builder
	table.WriteString("| metric | type | labels | counts |\n| --- | --- | --- | --- |\n")
	for _, each := range metrics.Families() {
		require.True(t, asked[each.Name], "no panel shows %s", each.Name)
		labels := "–"
		if len(each.Labels) > 0 {
			labels = "`" + strings.Join(each.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", each.Name, each.Kind, labels, each.Help)
	}
	golden.Section(t, *update, "../../docs/telemetry.md", "metrics", table.String())
}
