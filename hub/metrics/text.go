// Package metrics counts events of the trace, and writes the counts in the text format
// of Prometheus.
package metrics

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Kind is a Prometheus type of metrics.
type Kind string

// The types in use.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Family is a metric with its labels; docs/telemetry.md lists all of them.
type Family struct {
	Name   string
	Kind   Kind
	Help   string
	Labels []string
}

// maxSeries is the maximum number of series of a metric, since names of tools and
// models come from outside. Further ones are counted in one series with the labels
// "other".
const maxSeries = 200

// buckets are the upper bounds of histograms, in seconds.
var buckets = [...]float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}

// series is one set of labels with its value.
type series struct {
	labels  []string
	value   float64 // the sum for a histogram
	count   uint64
	buckets [len(buckets)]uint64
}

// table is a metric with its series.
type table struct {
	Family
	series map[string]*series
}

func (t *table) seriesOf(labels []string) *series {
	key := strings.Join(labels, "\xff")
	found := t.series[key]
	if found == nil && len(t.series) >= maxSeries {
		labels = slices.Repeat([]string{"other"}, len(labels))
		key = strings.Join(labels, "\xff")
		found = t.series[key]
	}
	if found == nil {
		found = &series{labels: slices.Clone(labels)}
		t.series[key] = found
	}
	return found
}

// observe adds a duration to a histogram.
func (s *series) observe(seconds float64) {
	s.value += seconds
	s.count++
	for i, bound := range buckets {
		if seconds <= bound {
			s.buckets[i]++
		}
	}
}

// write writes a metric: its help, its type and its series, in a fixed order.
func (t *table) write(out *strings.Builder) {
	out.WriteString("# HELP " + t.Name + " " + t.Help + "\n# TYPE " + t.Name + " " + string(t.Kind) + "\n")
	sorted := slices.SortedFunc(maps.Values(t.series), func(a, b *series) int {
		return cmp.Compare(strings.Join(a.labels, "\xff"), strings.Join(b.labels, "\xff"))
	})
	for _, each := range sorted {
		if t.Kind != Histogram {
			line(out, t.Name, t.Labels, each.labels, number(each.value))
			continue
		}
		names := append(slices.Clone(t.Labels), "le")
		for i, bound := range buckets {
			line(out, t.Name+"_bucket", names, append(slices.Clone(each.labels), number(bound)), strconv.FormatUint(each.buckets[i], 10))
		}
		line(out, t.Name+"_bucket", names, append(slices.Clone(each.labels), "+Inf"), strconv.FormatUint(each.count, 10))
		line(out, t.Name+"_sum", t.Labels, each.labels, number(each.value))
		line(out, t.Name+"_count", t.Labels, each.labels, strconv.FormatUint(each.count, 10))
	}
}

func line(out *strings.Builder, name string, labels, values []string, value string) {
	out.WriteString(name)
	for i, label := range labels {
		out.WriteString(map[bool]string{true: "{", false: ","}[i == 0] + label + `="` + escaped(values[i]) + `"`)
	}
	if len(labels) > 0 {
		out.WriteString("}")
	}
	out.WriteString(" " + value + "\n")
}

func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`).Replace(strings.ToValidUTF8(text, "\uFFFD"))
}

func number(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }

// ContentType is the content type of Write's output.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Write writes all metrics, with the gauges of now.
func (m *Metrics) Write(out io.Writer, now Now) error {
	m.mu.Lock()
	var text strings.Builder
	m.gauge(now)
	for _, each := range m.tables {
		each.write(&text)
	}
	m.mu.Unlock()
	_, err := io.WriteString(out, text.String())
	return err
}
