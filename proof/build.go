package proof

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/think"
	"savant/think/audit"
	"savant/think/state"
)

// Runs are the runs of a folder, of which proofs are made.
type Runs struct {
	Engine   *think.Engine
	Receipts state.Receipts
	// Observations are what hooks of clients saw of a run; it may be nil.
	Observations Observer
	// Rulings has what rules refused; it may be nil.
	Rulings Rulings
}

// Rulings knows the calls that rules refused.
type Rulings interface {
	// RefusedIn returns those of a run, the last first.
	RefusedIn(workflow, run string) ([]think.RuleRefusal, error)
}

// Observer knows what hooks of clients saw.
type Observer interface {
	// Observed returns the calls that answer steps of a run.
	Observed(ctx context.Context, key state.Key, records []state.Record) ([]Observation, error)
}

// Request asks for the proof of a run.
type Request struct {
	Key state.Key
	// By names the program that makes the proof, Time says when.
	By   string
	Time time.Time
	// Commit is a commit that the signer states, "" for none.
	Commit string
}

// maxRecords bounds the records of a proof.
const maxRecords = 30_000

// Build makes the statement of a run, after it has verified the run: STATE_CORRUPT if a
// record does not follow from those before it, UNKNOWN_RUN, LIMIT_EXCEEDED.
func (r Runs) Build(ctx context.Context, in Request) (*Statement, error) {
	records, err := r.Engine.Store.Records(ctx, in.Key, 0, 0)
	if err != nil {
		return nil, err
	}
	if err := bounded(in.Key, len(records)); err != nil {
		return nil, err
	}
	found, err := audit.New(r.Engine).Verify(ctx, in.Key, records)
	if err != nil {
		return nil, err
	}
	if found != nil {
		return nil, fault.New(fault.StateCorrupt, "record %d of %s does not follow from the records before it: savant verify shows the difference", found.Version, in.Key)
	}
	lines, last, err := state.Lines(in.Key, records)
	if err != nil {
		return nil, err
	}
	imported := 0
	if r.Engine.Imports != nil {
		if imported, err = r.Engine.Imports.Imported(ctx, in.Key); err != nil {
			return nil, err
		}
	}
	b := r.builder(in, len(records))
	b.records = records
	run := &b.out.Predicate.Run
	run.Status, run.Head, run.Imported = records[len(records)-1].Status, last.Hash, imported
	for _, line := range lines {
		b.out.Predicate.Records = append(b.out.Predicate.Records, string(line))
	}
	return b.out, b.fill(ctx, in.Commit, b.claims)
}

func bounded(key state.Key, records int) error {
	if records > maxRecords {
		return fault.New(fault.LimitExceeded, "run %s has %d records, and a proof at most %d", key, records, maxRecords)
	}
	return nil
}

func (r Runs) builder(in Request, records int) builder {
	return builder{Runs: r, key: in.Key, out: &Statement{Type: StatementType, PredicateType: PredicateType, Predicate: Predicate{
		Format: Format, Made: Made{in.By, in.Time.UTC().Format(time.RFC3339)}, Texts: map[string]string{}, Sources: []Source{}, Graph: []Node{},
		Run:      Run{Workflow: in.Key.Workflow, ID: in.Key.Run, Records: records},
		Receipts: []Receipt{}, Observations: []Observation{}, Claims: []Claim{}, Redactions: []string{}}}}
}

// Differences says where hooks and the gateway do not tell the same of a run's calls. The
// run is not verified.
func (r Runs) Differences(ctx context.Context, key state.Key) ([]string, error) {
	records, err := r.Engine.Store.Records(ctx, key, 0, 0)
	if err != nil {
		return nil, err
	}
	b := builder{Runs: r, key: key, records: records, out: &Statement{}}
	if err := b.observations(ctx, nil); err != nil || len(b.out.Predicate.Observations) == 0 {
		return nil, err
	}
	for _, record := range records {
		line, err := jsonvalue.Encode(record)
		if err != nil {
			return nil, fault.New(fault.Internal, "encoding a record: %w", err)
		}
		if each, ok := readEntry(string(line)); ok {
			b.entries = append(b.entries, each)
		}
	}
	line, _ := effective(b.entries)
	for _, claim := range answers(line, 0, b.out.Predicate.Observations) {
		b.out.Predicate.Claims = append(b.out.Predicate.Claims, claim)
	}
	if err := b.receipts(ctx, line); err != nil {
		return nil, err
	}
	return b.out.Differences(), nil
}

// builder fills in the statement of a run.
type builder struct {
	Runs
	key     state.Key
	records []state.Record
	entries []entry
	out     *Statement
}

func (b *builder) fill(ctx context.Context, commit string, claims func(context.Context, []entry) error) error {
	for _, line := range b.out.Predicate.Records {
		each, ok := readEntry(line)
		if !ok {
			return fault.New(fault.StateCorrupt, "run %s: record %d cannot be read", b.key, len(b.entries)+1)
		}
		b.entries = append(b.entries, each)
	}
	line, ok := effective(b.entries)
	if !ok {
		return fault.New(fault.StateCorrupt, "run %s: a reset names a version that is not before it", b.key)
	}
	for _, part := range []func(context.Context, []entry) error{b.sources, b.receipts, b.observations, b.refusals, claims} {
		if err := part(ctx, line); err != nil {
			return err
		}
	}
	return b.subjects(line, commit)
}

// sources adds what the run is pinned to, and the long results, whole.
func (b *builder) sources(ctx context.Context, _ []entry) error {
	pinned := pinnedSources(b.entries[0])
	for _, each := range pinned {
		if err := b.text(ctx, each.Digest); err != nil {
			return err
		}
	}
	b.out.Predicate.Sources = pinned
	for _, each := range b.entries {
		if each.Data.ResultRef != "" {
			if err := b.text(ctx, each.Data.ResultRef); err != nil {
				return err
			}
		}
	}
	return nil
}

// pinnedSources are the sources that the first record pins, workflows by name.
func pinnedSources(plan entry) []Source {
	found := []Source{}
	for _, name := range slices.Sorted(maps.Keys(plan.Data.Pins)) {
		pin := plan.Data.Pins[name]
		found = append(found, Source{Name: name, Version: pin.Version, File: pin.File, Digest: pin.Digest})
	}
	if plan.Data.Schemas != "" {
		found = append(found, Source{Digest: plan.Data.Schemas})
	}
	return found
}

func (b *builder) text(ctx context.Context, digest string) error {
	text, err := b.Engine.Store.Artifact(ctx, digest)
	if err != nil {
		return err
	}
	if !utf8.Valid(text) {
		return fault.New(fault.StateCorrupt, "the artifact %s of run %s is no text", digest, b.key)
	}
	b.out.Predicate.Texts[digest] = string(text)
	return nil
}

// receipts adds the receipts that are still kept. One that is gone leaves the record's word.
func (b *builder) receipts(ctx context.Context, line []entry) error {
	for _, each := range line {
		if each.Data.Witness != witnessGateway || each.Data.Receipt == "" || b.Runs.Receipts == nil {
			continue
		}
		found, err := b.Runs.Receipts.Receipt(ctx, each.Data.Receipt)
		if errors.Is(err, fault.NotWitnessed) || err == nil && found.Output != each.Data.Digest {
			continue // collected, or another one of the id
		}
		if err != nil {
			return err
		}
		b.out.Predicate.Receipts = append(b.out.Predicate.Receipts, Receipt{ID: found.ID, Tool: found.Tool, Input: found.Input, Output: found.Output,
			Time: found.Time.UTC().Format(time.RFC3339Nano), Failed: found.Failed, Command: found.Command, CommandDigest: found.CommandDigest})
	}
	return nil
}

func (b *builder) observations(ctx context.Context, _ []entry) error {
	if b.Runs.Observations == nil {
		return nil
	}
	found, err := b.Runs.Observations.Observed(ctx, b.key, b.records)
	b.out.Predicate.Observations = append(b.out.Predicate.Observations, found...)
	return err
}

// maxRefusals bounds the refusals of a proof: the last.
const maxRefusals = 1000

func (b *builder) refusals(context.Context, []entry) error {
	if b.Runs.Rulings == nil {
		return nil
	}
	found, err := b.Runs.Rulings.RefusedIn(b.key.Workflow, b.key.Run)
	found = found[:min(len(found), maxRefusals)]
	for _, each := range slices.Backward(found) {
		b.out.Predicate.Refusals = append(b.out.Predicate.Refusals, Refusal{each.Time, each.Tool, each.Rules})
	}
	return err
}

// claims grades each step, and draws the graph.
func (b *builder) claims(ctx context.Context, line []entry) error {
	return b.Engine.View(ctx, b.key, len(b.records), func(view *think.View) error {
		p := &b.out.Predicate
		p.Graph, p.Claims, p.Models = graphOf(view), claimsOf(view, line, p), modelsOf(b.entries, p.Run.Imported)
		return nil
	})
}

func graphOf(view *think.View) []Node {
	nodes := []Node{}
	for _, each := range view.Graph().Picture().Nodes {
		deps := append([]string{}, each.Deps...)
		if each.HeldBy != "" {
			deps = append(deps, each.HeldBy)
		}
		handle, err := view.Step(each.ID)
		nodes = append(nodes, Node{ID: each.ID, Call: each.Call, Deps: deps, Writes: err == nil && handle.Writes()})
	}
	return nodes
}

// claimsOf grades the steps of a run in their order. Answered steps of which the run knows
// no more, such as an earlier round of a loop, follow in the order of their answers.
func claimsOf(view *think.View, line []entry, p *Predicate) []Claim {
	answered := answers(line, p.Run.Imported, p.Observations)
	claims := []Claim{}
	for each := range view.Steps() {
		claim, ok := answered[each.ID]
		switch {
		case ok:
			delete(answered, each.ID)
		case each.Status == "done" || each.Status == "failed":
			claim = Claim{Step: each.ID, Grade: Engine}
		default:
			claim = Claim{Step: each.ID, Grade: Absent}
		}
		claim.Status = string(each.Status)
		claims = append(claims, claim)
	}
	for _, each := range line {
		if claim, ok := answered[each.Data.Step]; ok && claim.Version == each.Version {
			claims = append(claims, claim)
		}
	}
	return claims
}

// final is what the last record says of a finished run.
type final struct {
	Outputs   map[string]json.RawMessage `json:"outputs"`
	Artifacts []struct {
		Name   string `json:"name"`
		SHA256 string `json:"sha256"`
	} `json:"artifacts"`
}

func finalOf(line string) (found final) {
	var record struct {
		Data struct {
			Reply struct {
				Reply final `json:"reply"`
			} `json:"reply"`
		} `json:"data"`
	}
	if jsonvalue.Unmarshal([]byte(line), &record) != nil {
		return final{}
	}
	return record.Data.Reply.Reply
}

var commitPattern = pattern.Lazy(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// IsCommit reports whether a text is the whole name of a commit.
func IsCommit(text string) bool { return commitPattern().MatchString(text) }

func (b *builder) subjects(line []entry, stated string) error {
	p := &b.out.Predicate
	kind, head := digestSHA256, p.Run.Head
	if salted, redacted := strings.CutPrefix(head, placeholderPrefix); redacted {
		kind, head = digestSalted, salted
	}
	b.out.Subject = []Subject{{SubjectRun, map[string]string{kind: head}}}
	add := func(name, kind, digest string) {
		b.out.Subject = append(b.out.Subject, Subject{name, map[string]string{kind: digest}})
	}
	if seen := seenCommit(line, p.Run.Imported); seen != "" {
		add(SubjectSeen, digestCommit, seen)
	}
	if stated != "" {
		if !IsCommit(stated) {
			return fault.New(fault.InvalidParams, "%q is no commit: give all 40 or 64 hexadecimal digits", fault.Cut(stated, 80))
		}
		add(SubjectStated, digestCommit, stated)
	}
	end := finalOf(p.Records[len(p.Records)-1])
	for _, each := range end.Artifacts {
		add(SubjectArtifact+each.Name, digestSHA256, each.SHA256)
	}
	for _, name := range slices.Sorted(maps.Keys(end.Outputs)) {
		text, err := jsonvalue.Canonical(end.Outputs[name])
		if err != nil {
			return fault.New(fault.Internal, "the output %s: %w", name, err)
		}
		add(SubjectOutput+name, digestSHA256, jsonvalue.HexSum(text))
	}
	return nil
}

// seenCommit returns the head of the repository in the last result that the gateway
// witnessed and that has one.
func seenCommit(line []entry, imported int) (commit string) {
	for _, each := range line {
		if each.Kind != kindResult || each.Data.Witness != witnessGateway || each.Version <= imported {
			continue
		}
		var result struct {
			Head string `json:"head"`
		}
		if jsonvalue.Unmarshal(each.Data.Result, &result) == nil && IsCommit(result.Head) {
			commit = result.Head
		}
	}
	return commit
}

// steps counts steps in words.
func steps(count int) string {
	if count == 1 {
		return "1 step is"
	}
	return strconv.Itoa(count) + " steps are"
}
