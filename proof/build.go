package proof

import (
	"context"
	"errors"
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
	// RulesIn returns the files of rules that judged calls in a time, or those that hold.
	RulesIn(from, to time.Time) ([]RuleFile, error)
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
	at, found, err := audit.New(r.Engine).Verify(ctx, in.Key, records)
	if err != nil {
		return nil, err
	}
	if found != nil {
		return nil, fault.New(fault.StateCorrupt, "record %d of %s does not follow from the records before it: savant verify shows the difference", found.Version, in.Key)
	}
	imported := 0
	if r.Engine.Imports != nil {
		if imported, err = r.Engine.Imports.Imported(ctx, in.Key); err != nil {
			return nil, err
		}
	}
	return r.build(ctx, in, records, min(imported, len(records)), at) // more may have come since
}

// build makes the statement of records that were verified. They leave the run as at has it,
// nil for one of the agent, which has no other steps than its answers.
func (r Runs) build(ctx context.Context, in Request, records []state.Record, imported int, at *think.Replay) (*Statement, error) {
	if len(records) > maxRecords {
		return nil, fault.New(fault.LimitExceeded, "run %s has %d records, and a proof at most %d", in.Key, len(records), maxRecords)
	}
	lines, last, err := state.Lines(in.Key, records)
	if err != nil {
		return nil, err
	}
	b, err := r.builder(in.Key, records)
	if err != nil {
		return nil, err
	}
	b.out.Type, b.out.PredicateType = StatementType, PredicateType
	p := &b.out.Predicate
	p.Made = Made{in.By, in.Time.UTC().Format(time.RFC3339)}
	p.Run = Run{Workflow: in.Key.Workflow, ID: in.Key.Run, Status: records[len(records)-1].Status, Head: last.Hash, Imported: imported, Whole: len(records)}
	for _, line := range lines {
		p.Records = append(p.Records, string(line))
	}
	for _, part := range []func(context.Context) error{b.texts, b.receipts, b.observations, b.refusals, b.rules} {
		if err := part(ctx); err != nil {
			return nil, err
		}
	}
	if p.Claims = b.out.inOrder(b.out.answers()); at != nil {
		p.Graph, p.Claims = graphOf(&at.View), b.out.claimsOf(&at.View)
	}
	return b.out, b.out.addSubjects(in.Commit)
}

// Differences says where hooks and the gateway do not tell the same of a run's calls. The
// run is not verified.
func (r Runs) Differences(ctx context.Context, key state.Key) ([]string, error) {
	records, err := r.Engine.Store.Records(ctx, key, 0, 0)
	if err != nil {
		return nil, err
	}
	b, err := r.builder(key, records)
	if err != nil {
		return nil, err
	}
	if err := b.observations(ctx); err != nil || len(b.out.Predicate.Observations) == 0 {
		return nil, err
	}
	if err := b.receipts(ctx); err != nil {
		return nil, err
	}
	b.out.Predicate.Claims = b.out.inOrder(b.out.answers())
	return b.out.Differences(), nil
}

// builder fills in the statement of a run.
type builder struct {
	Runs
	key     state.Key
	records []state.Record
	out     *Statement
}

// builder reads the records of a run.
func (r Runs) builder(key state.Key, records []state.Record) (b builder, err error) {
	b = builder{Runs: r, key: key, records: records, out: &Statement{}}
	for _, record := range records {
		each := entry{Record: record}
		if !each.readData() {
			return b, fault.New(fault.StateCorrupt, "run %s: record %d cannot be read", key, record.Version)
		}
		b.out.entries = append(b.out.entries, each)
	}
	if !b.out.count() {
		return b, fault.New(fault.StateCorrupt, "run %s: a reset names a version that is not before it", key)
	}
	return b, nil
}

// texts adds what the records name by digest, whole.
func (b *builder) texts(ctx context.Context) error {
	for _, digest := range digests(b.out.entries) {
		text, err := b.Engine.Store.Artifact(ctx, digest)
		if err != nil {
			return err
		}
		if !utf8.Valid(text) {
			return fault.New(fault.StateCorrupt, "the artifact %s of run %s is no text", digest, b.key)
		}
		b.out.Predicate.Texts = append(b.out.Predicate.Texts, string(text))
	}
	return nil
}

// receipts adds the receipts that are still kept. One that is gone leaves the record's word.
func (b *builder) receipts(ctx context.Context) error {
	for each, asked := range b.out.calls() {
		if b.Runs.Receipts == nil {
			break
		}
		found, err := b.Runs.Receipts.Receipt(ctx, each.Receipt)
		if errors.Is(err, fault.NotWitnessed) {
			continue // collected
		}
		if err != nil {
			return err
		}
		made := Receipt{ID: found.ID, Tool: found.Tool, Input: found.Input, Output: found.Output,
			Time: found.Time.UTC().Format(time.RFC3339Nano), Failed: found.Failed, Command: found.Command, CommandDigest: found.CommandDigest}
		if answer, err := think.ResultOfCall(found); err == nil && found.Failed && jsonvalue.HexSum(answer) == each.Digest {
			made.Output = each.Digest // the step got the failure as a client would have
		}
		if b.out.fits(made, each, asked) { // else it is of another call under the same id
			b.out.Predicate.Receipts = append(b.out.Predicate.Receipts, made)
		}
	}
	b.out.match()
	return nil
}

func (b *builder) observations(ctx context.Context) (err error) {
	if b.Runs.Observations != nil {
		b.out.Predicate.Observations, err = b.Runs.Observations.Observed(ctx, b.key, b.records)
	}
	return err
}

// maxRefusals bounds the refusals of a proof: the last.
const maxRefusals = 1000

func (b *builder) refusals(context.Context) error {
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

func (b *builder) rules(context.Context) error {
	b.out.Predicate.Rules = []RuleFile{}
	if b.Runs.Rulings == nil {
		return nil
	}
	from, _ := time.Parse(time.RFC3339Nano, b.records[0].Time) // without a time, the rules that hold are taken
	to, _ := time.Parse(time.RFC3339Nano, b.records[len(b.records)-1].Time)
	found, err := b.Runs.Rulings.RulesIn(from, to)
	b.out.Predicate.Rules = append(b.out.Predicate.Rules, found...)
	return err
}

func graphOf(view *think.View) (nodes []Node) {
	for _, each := range view.Graph().Picture().Nodes {
		deps := slices.Clone(each.Deps)
		if each.HeldBy != "" {
			deps = append(deps, each.HeldBy)
		}
		nodes = append(nodes, Node{ID: each.ID, Call: each.Call, Deps: deps})
	}
	return nodes
}

// claimsOf grades the steps of a run in their order. Answered steps of which the run knows
// no more, such as an earlier round of a loop, follow in the order of their answers.
func (s *Statement) claimsOf(view *think.View) (claims []Claim) {
	answered := s.answers()
	for each := range view.Steps() {
		claim, ok := answered[each.ID]
		if !ok {
			claim = Claim{Step: each.ID, Grade: Absent}
			if each.Status == "done" || each.Status == "failed" {
				claim.Grade = Engine
			}
		}
		delete(answered, each.ID)
		claim.Status = string(each.Status)
		claims = append(claims, claim)
	}
	return append(claims, s.inOrder(answered)...)
}

// inOrder returns claims in the order of their answers.
func (s *Statement) inOrder(answered map[string]Claim) (claims []Claim) {
	for _, each := range s.line {
		if claim, ok := answered[each.Step]; ok && claim.Version == each.Version {
			claims = append(claims, claim)
		}
	}
	return claims
}

var commitPattern = pattern.Lazy(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// IsCommit reports whether a text is the whole name of a commit.
func IsCommit(text string) bool { return commitPattern().MatchString(text) }

// addSubjects adds what the proof is about, by the records that count.
func (s *Statement) addSubjects(stated string) error {
	p := &s.Predicate
	add := func(name, kind, digest string) {
		s.Subject = append(s.Subject, Subject{name, map[string]string{kind: digest}})
	}
	if salted, redacted := strings.CutPrefix(p.Run.Head, placeholderPrefix); redacted {
		add(SubjectRun, digestSalted, salted)
	} else {
		add(SubjectRun, digestSHA256, p.Run.Head)
	}
	if seen := s.seenCommit(); seen != "" {
		add(SubjectSeen, digestCommit, seen)
	}
	if stated != "" {
		if !IsCommit(stated) {
			return fault.New(fault.InvalidParams, "%q is no commit: give all 40 or 64 hexadecimal digits", fault.Cut(stated, 80))
		}
		add(SubjectStated, digestCommit, stated)
	}
	end := s.entries[len(s.entries)-1].replied()
	for _, each := range end.Artifacts {
		add(SubjectArtifact+each.Name, digestSHA256, each.SHA256)
	}
	outputs := map[string]string{}
	for name, value := range end.Outputs {
		digest, err := sharedDigest(value)
		if err != nil {
			return fault.New(fault.Internal, "the output %s: %w", name, err)
		}
		outputs[name] = digest
	}
	sorted, err := encode(outputs)
	for name, digest := range jsonvalue.Members(sorted) {
		add(SubjectOutput+name, digestSHA256, jsonvalue.Text(digest))
	}
	return err
}

// seenCommit returns the head of the repository in the last result that has one, and whose
// receipt is in the proof.
func (s *Statement) seenCommit() (commit string) {
	for _, each := range s.line {
		if each.Kind != kindResult || !s.proven[each.Version] || each.Version <= s.Predicate.Run.Imported {
			continue
		}
		var result struct {
			Head string `json:"head"`
		}
		if jsonvalue.Unmarshal(each.Result, &result) == nil && IsCommit(result.Head) {
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
