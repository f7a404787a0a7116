package think

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/state"
)

// The kinds of records that a run's journal holds.
const (
	kindPlan   = "plan"
	kindResult = "result"
	kindPerson = "person"
	kindReset  = "reset"
)

// pin is one workflow that a run follows, whatever becomes of its file. The
// source is an artifact under Digest.
type pin struct {
	Version string `json:"version"`
	Digest  string `json:"digest"`
	File    string `json:"file"`
}

// planData is the data of the first record.
type planData struct {
	Workflow string         `json:"workflow"`
	Pins     map[string]pin `json:"pins"`
	// Schemas is the digest of the named schemas the run is held against.
	Schemas string         `json:"schemas,omitempty"`
	Params  map[string]any `json:"params"`
	// Lineage says what a fork was made from.
	Lineage *lineage `json:"lineage,omitempty"`
	Reply   reply    `json:"reply"`
}

// lineage names the version of the run that a fork continues.
type lineage struct {
	Run     string `json:"run_id"`
	Version int    `json:"version"`
	Hash    string `json:"hash"`
}

// resultData is the data of an answer's record. Result and Reply come behind
// all that a run needs to go on, so that opening a long run need not read them.
type resultData struct {
	resultHead
	// Result is the answer as it came; a large one stands under ResultRef.
	Result json.RawMessage `json:"result,omitempty"`
	Reply  reply           `json:"reply"`
}

// resultHead is what a run needs of an answer's record to go on.
type resultHead struct {
	Step string `json:"step"`
	// Attempt is what the client said, 0 when it said nothing.
	Attempt int    `json:"attempt,omitempty"`
	Digest  string `json:"digest"`
	// Value is the digest of the capture where the step is done with this,
	// sameDigest where that is the answer's own.
	Value   string `json:"value,omitempty"`
	Size    int    `json:"size,omitempty"`
	Person  bool   `json:"person,omitempty"`
	Shown   string `json:"shown,omitempty"`
	Witness string `json:"witness,omitempty"`
	// Receipt is that of the call which gave the result, where the witness is
	// the gateway. What it stood for is in Result: it may be gone by now.
	Receipt string `json:"receipt,omitempty"`
	Late    bool   `json:"late,omitempty"`
	// During is the version of the answer whose call asked the person.
	During int `json:"during,omitempty"`
	// ResultRef is the artifact that holds a large result.
	ResultRef string `json:"result_ref,omitempty"`
}

// encode writes the data as encoding/json would. Its long parts are JSON
// already and are put in as they are: going over them again is what a step
// would cost most.
func (d *resultData) encode() (json.RawMessage, error) {
	head, err := jsonvalue.Encode(d.resultHead)
	if err != nil {
		return nil, err
	}
	replied, err := d.Reply.encode()
	if err != nil {
		return nil, err
	}
	data := bytes.NewBuffer(make([]byte, 0, len(head)+len(d.Result)+len(replied)+32))
	data.Write(head[:len(head)-1])
	if len(d.Result) > 0 {
		data.WriteString(`,"result":`)
		if err := jsonvalue.Compact(data, d.Result); err != nil {
			return nil, err
		}
	}
	data.WriteString(`,"reply":`)
	data.Write(replied)
	data.WriteByte('}')
	return data.Bytes(), nil
}

// resetData is the data of a reset's record.
type resetData struct {
	To    int    `json:"to"`
	Name  string `json:"checkpoint,omitempty"`
	Reply reply  `json:"reply"`
}

// inlineLimit is the size from which a result is kept as an artifact instead
// of in the journal; artifacts are shared by equal results.
const inlineLimit = 8 << 10

// refresh brings a held run up to its journal.
func (e *Engine) refresh(ctx context.Context, l *live) error {
	if l.run != nil {
		version, hash, err := e.Store.Head(ctx, l.key)
		if err != nil {
			l.forget()
			return err
		}
		if l.version == version && l.hash == hash {
			return nil
		}
		if l.version < version && e.follow(ctx, l) == nil {
			return nil
		}
	}
	records, err := e.Store.Records(ctx, l.key, 0, 0)
	if err != nil {
		l.forget()
		return err
	}
	return e.rebuild(ctx, l, records)
}

// follow applies the records that another process has added to a run in
// memory. After an error the run is in no state: it must be rebuilt.
func (e *Engine) follow(ctx context.Context, l *live) error {
	records, err := e.Store.Records(ctx, l.key, l.version, 0)
	if err != nil {
		return err
	}
	if len(records) == 0 || records[0].Prev != l.hash {
		return fault.New(fault.StateConflict, "run %s has another history now", l.key)
	}
	for _, record := range records {
		if record.Kind == kindReset {
			return fault.New(fault.StateConflict, "run %s was reset", l.key)
		}
		if err := e.apply(ctx, l.run, record); err != nil {
			return err
		}
		if at, err := time.Parse(time.RFC3339Nano, record.Time); err == nil {
			l.note(record.Version, at)
		}
	}
	last := records[len(records)-1]
	if l.run.Hash() != last.State {
		return fault.New(fault.StateCorrupt, "run %s: record %d does not follow from the records before it", l.key, last.Version)
	}
	l.version, l.hash = last.Version, last.Hash
	return nil
}

func (e *Engine) rebuild(ctx context.Context, l *live, records []state.Record) error {
	l.forget()
	replayed, err := e.replayFrom(ctx, l.key, records, 0, e.reading(l.key))
	if err != nil {
		return err
	}
	l.run, l.pins, l.times = replayed.run, replayed.pins, replayed.times
	last := records[len(records)-1]
	l.version, l.hash = last.Version, last.Hash
	return nil
}

// replayed is a run made again from its records.
type replayed struct {
	run   *flow.Run
	pins  map[string]pin
	plan  planData
	times map[int]time.Time
}

// replay makes a run again from its records up to a version (0: all of them)
// and holds it against the hash that was recorded: STATE_CORRUPT when it
// differs.
func (e *Engine) replay(ctx context.Context, key state.Key, records []state.Record, upTo int) (*replayed, error) {
	return e.replayFrom(ctx, key, records, upTo, func(_ context.Context, version int) (state.Record, error) { return records[version-1], nil })
}

// reader returns the record of a version, when a value of it is needed.
type reader func(ctx context.Context, version int) (state.Record, error)

// reading reads records of a run from the store, so that a long run does not
// hold all its results in memory.
func (e *Engine) reading(key state.Key) reader {
	return func(ctx context.Context, version int) (state.Record, error) {
		records, err := e.Store.Records(ctx, key, version-1, 1)
		if err == nil && len(records) == 0 {
			err = fault.New(fault.StateCorrupt, "run %s: record %d is gone", key, version)
		}
		if err != nil {
			return state.Record{}, err
		}
		return records[0], nil
	}
}

func (e *Engine) replayFrom(ctx context.Context, key state.Key, records []state.Record, upTo int, read reader) (*replayed, error) {
	if len(records) == 0 || records[0].Kind != kindPlan {
		return nil, fault.New(fault.StateCorrupt, "run %s: record 1 is not a plan", key)
	}
	if upTo <= 0 || upTo > len(records) {
		upTo = len(records)
	}
	var plan planData
	if err := decodeData(records[0], &plan); err != nil {
		return nil, err
	}
	graph, err := e.pinned(ctx, plan)
	if err != nil {
		return nil, err
	}
	out := &replayed{run: graph.Start(key.Run, plan.Params), pins: plan.Pins, plan: plan, times: map[int]time.Time{}}
	line, err := effective(records[:upTo])
	if err != nil {
		return nil, err
	}
	for i, record := range line {
		if at, err := time.Parse(time.RFC3339Nano, record.Time); err == nil {
			out.times[record.Version] = at
		}
		if record.Kind == kindPlan {
			continue
		}
		resumed, err := false, error(nil)
		if i < len(line)-1 {
			resumed, err = e.resume(out.run, record, read)
		}
		if err == nil && !resumed {
			err = e.apply(ctx, out.run, record)
		}
		if err != nil {
			return nil, err
		}
	}
	out.handOutAgain(records[:upTo])
	out.times = needed(out.times, out.run)
	out.run.SkipTo(upTo)
	if err := out.run.Lost(); err != nil {
		return nil, err
	}
	if got, want := out.run.Hash(), records[upTo-1].State; got != want {
		return nil, fault.New(fault.StateCorrupt, "run %s: record %d does not follow from the records before it (state %.12s, recorded %.12s)", key, upTo, got, want)
	}
	return out, nil
}

// handOutAgain makes a reset the time at which all that is outstanding since
// before it was handed out.
func (r *replayed) handOutAgain(records []state.Record) {
	for _, record := range slices.Backward(records) {
		if record.Kind != kindReset {
			continue
		}
		reset, err := time.Parse(time.RFC3339Nano, record.Time)
		for version, at := range r.times {
			if err == nil && at.Before(reset) {
				r.times[version] = reset
			}
		}
		return
	}
}

// effective returns the records that make the state after the last one: a
// reset takes the place of all that came after the version it names.
func effective(records []state.Record) ([]state.Record, error) {
	var line []state.Record
	for at := len(records); at > 0; {
		record := records[at-1]
		if record.Kind != kindReset {
			line = append(line, record)
			at--
			continue
		}
		var data resetData
		if err := decodeData(record, &data); err != nil {
			return nil, err
		}
		if data.To < 1 || data.To >= record.Version {
			return nil, fault.New(fault.StateCorrupt, "record %d resets to version %d", record.Version, data.To)
		}
		at = data.To
	}
	slices.Reverse(line)
	return line, nil
}

// apply applies a record as it was applied at first: checks, templates and all.
func (e *Engine) apply(ctx context.Context, run *flow.Run, record state.Record) error {
	answer, err := e.answerOf(ctx, record)
	if err != nil {
		return err
	}
	run.SkipTo(record.Version - 1)
	if _, err = run.Settle(answer); err != nil {
		return fault.New(fault.StateCorrupt, "record %d does not follow from the records before it: %s", record.Version, fault.From(err).Details)
	}
	return run.Lost()
}

// resume applies a record that settled its step as done without reading its
// result; false means that the record has to be applied in full.
func (e *Engine) resume(run *flow.Run, record state.Record, read reader) (bool, error) {
	head, ok := headOf(record.Data)
	if !ok || head.Value == "" {
		return false, nil
	}
	if head.Value == sameDigest {
		head.Value = head.Digest
	}
	switch {
	case head.Person:
		head.Witness = flow.WitnessPerson
	case head.Witness == "":
		head.Witness = flow.WitnessSelf
	}
	run.SkipTo(record.Version - 1)
	err := run.Resume(flow.Recorded{Step: head.Step, Digest: head.Digest, Value: head.Value, Size: head.Size, Witness: head.Witness, Late: head.Late,
		Answer: e.answering(record.Version, read)})
	if err != nil {
		return false, fault.New(fault.StateCorrupt, "record %d does not follow from the records before it: %s", record.Version, fault.From(err).Details)
	}
	return true, nil
}

// answering returns what reads the answer of a version back. It may be called
// long after the request has ended, and must not keep that in memory.
func (e *Engine) answering(version int, read reader) func() (flow.Answer, error) {
	return func() (flow.Answer, error) {
		ctx := context.Background()
		record, err := read(ctx, version)
		if err != nil {
			return flow.Answer{}, err
		}
		return e.answerOf(ctx, record)
	}
}

// headOf reads what stands before the result in an answer's record. Nothing in
// it needs escapes, so the first of the long fields ends it.
func headOf(data json.RawMessage) (head resultHead, ok bool) {
	end := headEnd(data[:min(len(data), maxHead)])
	if end < 0 {
		return head, false
	}
	if head, ok = plainHead(data[:end]); ok {
		return head, true
	}
	err := json.Unmarshal(append(bytes.Clone(data[:end]), '}'), &head)
	return head, err == nil
}

// headEnd returns where the first of the long fields begins, or -1.
func headEnd(data []byte) int {
	for end := 0; ; end++ {
		at := bytes.Index(data[end:], []byte(`,"re`))
		if at < 0 {
			return -1
		}
		end += at
		for _, long := range []string{`,"result":`, `,"result_ref":`, `,"reply":`} {
			if bytes.HasPrefix(data[end:], []byte(long)) {
				return end
			}
		}
	}
}

// plainHead reads the head of an answer that has the usual fields alone, in
// their order: a decoder would take as long as all else of opening a run.
func plainHead(data []byte) (head resultHead, ok bool) {
	fields := bytes.Split(data, []byte(`,"`))
	for i, field := range fields {
		name, value, found := bytes.Cut(field, []byte(`":`))
		if !found {
			return resultHead{}, false
		}
		switch string(name) {
		case `{"step`:
			head.Step, ok = plainText(value)
		case "digest":
			head.Digest, ok = plainText(value)
		case "value":
			head.Value, ok = plainText(value)
		case "witness":
			head.Witness, ok = plainText(value)
		case "size":
			size, err := strconv.Atoi(string(value))
			head.Size, ok = size, err == nil
		case "attempt":
			attempt, err := strconv.Atoi(string(value))
			head.Attempt, ok = attempt, err == nil
		default:
			return resultHead{}, false
		}
		if !ok || (i == 0) != (name[0] == '{') {
			return resultHead{}, false
		}
	}
	return head, true
}

// plainText reads a JSON string without escapes.
func plainText(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' || bytes.ContainsAny(value[1:len(value)-1], `"\\`) {
		return "", false
	}
	return string(value[1 : len(value)-1]), true
}

// sameDigest stands for the digest of a capture that is the answer as it came,
// which most are: two digests would be a twelfth of a record of 1 KB.
const sameDigest = "="

// maxHead bounds the head of a record: a step's id, digests and flags.
const maxHead = 4096

// answerOf reads an answer back from its record.
func (e *Engine) answerOf(ctx context.Context, record state.Record) (flow.Answer, error) {
	var data resultData
	if err := decodeData(record, &data); err != nil {
		return flow.Answer{}, err
	}
	raw, err := e.resultOf(ctx, data)
	if err != nil {
		return flow.Answer{}, err
	}
	value, err := jsonvalue.Decode(raw)
	if err != nil {
		return flow.Answer{}, fault.New(fault.StateCorrupt, "record %d holds a result that is not JSON", record.Version)
	}
	return flow.Answer{Step: data.Step, Attempt: data.Attempt, Result: value, Digest: data.Digest,
		Person: data.Person, Shown: data.Shown, Witness: data.Witness, Late: data.Late}, nil
}

func (e *Engine) resultOf(ctx context.Context, data resultData) (json.RawMessage, error) {
	if data.ResultRef == "" {
		return data.Result, nil
	}
	return e.Store.Artifact(ctx, data.ResultRef)
}

func decodeData(record state.Record, into any) error {
	if err := json.Unmarshal(record.Data, into); err != nil {
		return fault.New(fault.StateCorrupt, "record %d: its data cannot be read", record.Version)
	}
	// Numbers of parameters must be what they were.
	if plan, ok := into.(*planData); ok {
		var exact struct {
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(record.Data, &exact); err != nil {
			return fault.New(fault.StateCorrupt, "record %d: its data cannot be read", record.Version)
		}
		value, err := jsonvalue.Decode(exact.Params)
		if err != nil {
			return fault.New(fault.StateCorrupt, "record %d: its parameters cannot be read", record.Version)
		}
		plan.Params, _ = value.(map[string]any)
	}
	return nil
}

// pinned returns the graph that a run was planned with, from its artifacts.
func (e *Engine) pinned(ctx context.Context, plan planData) (*flow.Graph, error) {
	key := graphKey(plan.Workflow, plan.Pins, plan.Schemas)
	e.mu.Lock()
	graph := e.graphs[key]
	e.mu.Unlock()
	if graph != nil {
		return graph, nil
	}
	set, current, err := e.pinnedSchemas(ctx, plan.Schemas)
	if err != nil {
		return nil, err
	}
	find := func(name, version string) (*flow.Workflow, error) {
		pinned, ok := plan.Pins[flow.Reference(name, version)]
		if !ok {
			return nil, fault.New(fault.StateCorrupt, "the run does not pin the workflow %q", name)
		}
		src, err := e.Store.Artifact(ctx, pinned.Digest)
		if err != nil {
			return nil, err
		}
		if !current {
			return flow.Parse(pinned.File, src, set)
		}
		return e.Library.Parse(pinned.File, src)
	}
	root, err := find(plan.Workflow, "")
	if err != nil {
		return nil, err
	}
	graph, err = flow.Compile(root, find)
	if err != nil {
		return nil, err
	}
	e.remember(key, graph)
	return graph, nil
}

func (e *Engine) remember(key string, graph *flow.Graph) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.graphs) >= maxLive {
		e.graphs = map[string]*flow.Graph{}
	}
	e.graphs[key] = graph
}

func graphKey(root string, pins map[string]pin, schemas string) string {
	names := make([]string, 0, len(pins))
	for name := range pins {
		names = append(names, name+"="+pins[name].Digest)
	}
	slices.Sort(names)
	return root + "\x00" + schemas + "\x00" + strings.Join(names, "\x00")
}

// pins keeps the sources of a graph's workflows and names them.
func (e *Engine) pin(ctx context.Context, graph *flow.Graph) (map[string]pin, error) {
	pins := map[string]pin{}
	for reference, workflow := range graph.Workflows() {
		digest, err := e.Store.PutArtifact(ctx, workflow.Source)
		if err != nil {
			return nil, err
		}
		pins[reference] = pin{Version: workflow.Version, Digest: digest, File: workflow.File}
	}
	return pins, nil
}

// drifted says whether a workflow's file is not what the run follows any more.
func (e *Engine) drifted(pins map[string]pin) bool {
	for reference, pinned := range pins {
		if !e.Library.current(reference, pinned.Digest) {
			return true
		}
	}
	return false
}
