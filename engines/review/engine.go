// Package review prepares reviews of changes: it resolves what to review, splits it
// into parts that fit a prompt, verifies findings against the patch, and writes the
// report. Models judge; everything here is computed.
package review

import (
	"cmp"
	"context"
	"encoding/json"

	lru "github.com/hashicorp/golang-lru/v2"

	"savant/engines"
	"savant/fault"
)

// Name is the engine's name.
const Name = "review"

// keptChanges is the number of cached changes.
const keptChanges = 4

// defaultPartBytes is the size of a part. It fits the prompt of a small model (8,000 tokens)
// together with the task, the schema and a ticket.
const defaultPartBytes = 16_000

// Tools is the registry: the engine reads changes with its tools, under the caller's
// guards.
type Tools interface {
	Tools() []engines.Tool
	Invoke(ctx context.Context, call engines.Call, name string, args json.RawMessage) (engines.Result, error)
}

type engine struct {
	tools Tools
	kept  *lru.Cache[string, *change]
	from  engines.Call // the call that is answered
}

// answering returns the function of a tool, which makes its own calls for its caller.
func answering[In, Out any](e *engine, answer func(*engine, context.Context, In) (Out, error)) func(context.Context, engines.Call, In) (Out, error) {
	return func(ctx context.Context, call engines.Call, in In) (Out, error) {
		return answer(&engine{e.tools, e.kept, call}, ctx, in)
	}
}

// Engine returns the engine and its tools, all read-only but review.comment. Their
// errors are those of git.diff, git.log and git.status, those of the mounted server
// with the change, and INVALID_PARAMS (no such target, base or part), STATE_CONFLICT
// (the working tree changed since review.change), LIMIT_EXCEEDED and TOOL_FAILED.
func Engine(tools Tools) (engines.Engine, []engines.Tool) {
	kept, err := lru.New[string, *change](keptChanges)
	if err != nil {
		panic("review: " + err.Error()) // only a size below 1 is an error
	}
	e := &engine{tools: tools, kept: kept}
	commenting := engines.BindReadingCall("review.comment", "Post a review", answering(e, (*engine).comment),
		"Posts the report as a comment of the pull or merge request, with GitHub's or GitLab's MCP server; at most once for each head commit.")
	commenting.ReadOnly, commenting.OpenWorld = false, true
	commenting.Destructive = true // a posted comment cannot be taken back, so the agent asks first
	return engines.Engine{Name: Name, Description: "reads changes for reviews, and checks findings against them"}, []engines.Tool{
		engines.BindReadingCall("review.change", "What is reviewed", answering(e, (*engine).change),
			"Says what a review is about: the files of a change, what of it is left out and why, and in how many parts it is read. "+
				"The change is a branch, a range, a pull or merge request, or the uncommitted changes."),
		engines.BindReadingCall("review.part", "A part of a change", answering(e, (*engine).part),
			"One part of a change with the lines around it: each changed line stands in one part, with its number in the new version."),
		engines.BindReadingCall("review.check", "Check findings", answering(e, (*engine).check),
			"Holds findings against a change: keeps those whose evidence stands in the patch of their file, corrects their lines, merges those that say the same."),
		engines.BindReadingCall("review.report", "Report of a review", answering(e, (*engine).report),
			"Writes the report of a review as Markdown: the decision, the findings, and what was and was not seen."),
		commenting,
	}
}

type changeIn struct {
	Repo    string `json:"repo,omitempty" doc:"Folder in the repository; default: the project."`
	Target  string `json:"target,omitempty" doc:"A branch, a range (main...feature), the number or address of a pull or merge request; default: the current branch, or what is not committed."`
	Project string `json:"project,omitempty" doc:"Project on the forge, owner/name, where target is a number."`
	Base    string `json:"base,omitempty" doc:"What a branch is compared with, from where it branched off; default: main or master."`
	Bytes   int    `json:"part_bytes,omitempty" min:"2000" max:"100000" doc:"Most bytes of a part; default 16000."`
}

// placeIn identifies the change of a call.
type placeIn struct {
	Repo   string `json:"repo,omitempty" doc:"As review.change got it."`
	Source source `json:"source" list:"brief" doc:"Of review.change." example:"{\"base\":\"main\",\"head\":\"feature\",\"merge_base\":true}"`
	Digest string `json:"digest,omitempty" doc:"Of review.change: a working tree that changed since is refused."`
	Bytes  int    `json:"part_bytes,omitempty" min:"2000" max:"100000" doc:"As review.change got it."`
}

func (e *engine) change(ctx context.Context, in changeIn) (Manifest, error) {
	wanted, err := e.parseTarget(ctx, in.Repo, in.Target)
	if err != nil {
		return Manifest{}, err
	}
	wanted.project = cmp.Or(wanted.project, in.Project)
	from, err := e.resolve(ctx, in.Repo, wanted, in.Base)
	if err != nil {
		return Manifest{}, err
	}
	c, err := e.load(ctx, in.Repo, from, cmp.Or(in.Bytes, defaultPartBytes))
	if err != nil {
		return Manifest{}, err
	}
	m := c.manifest()
	m.Title, m.Words = from.title(wanted), e.words(ctx, from)
	m.CheckedOut, err = e.checkedOut(ctx, in.Repo, from)
	return m, err
}

// manifest describes a change.
func (c *change) manifest() Manifest {
	m := Manifest{Source: c.source, Digest: c.digest, Files: append([]fileChange{}, c.order...), Parts: []partInfo{}} // lists, and never null
	for i, each := range c.parts {
		m.Parts = append(m.Parts, partInfo{Number: i + 1, Paths: each.paths(), Lines: each.changes()})
		m.Lines.Reviewed += each.changes()
	}
	for _, file := range c.order {
		m.Lines.All += file.lines()
	}
	m.Lines.LeftOut = m.Lines.All - m.Lines.Reviewed
	return m
}

// title is a short name of a change: what the person named, without the rest of the
// sentence.
func (s source) title(wanted target) string {
	if s.Number > 0 {
		wanted = target{project: s.Project, kind: s.Kind, number: s.Number}
	}
	switch name := wanted.title(); {
	case wanted.last != "":
		return "the last commits (" + wanted.last + ") of " + cmp.Or(name, "HEAD")
	case name != "":
		return name
	case s.Head == "":
		return "uncommitted changes"
	}
	return s.Head[:min(len(s.Head), 12)]
}

// checkedOut reports whether the files on disk are those of the change.
func (e *engine) checkedOut(ctx context.Context, repo string, from source) (bool, error) {
	if from.Head == "" {
		return true, nil
	}
	if from.Forge != "" {
		return false, nil
	}
	tree, err := e.status(ctx, repo, map[string]any{"limit": 1})
	return tree.Clean && tree.Head == from.Head, err
}

// loaded returns the change of a call.
func (e *engine) loaded(ctx context.Context, in placeIn) (*change, error) {
	c, err := e.load(ctx, in.Repo, in.Source, cmp.Or(in.Bytes, defaultPartBytes))
	if err != nil {
		return nil, err
	}
	if in.Digest != "" && in.Digest != c.digest {
		return nil, fault.New(fault.StateConflict, "the change was edited after review.change described it").
			Hinted(fault.Hint{Call: "review.change", Text: "begins the review again"})
	}
	return c, nil
}

type partIn struct {
	placeIn
	Part int `json:"part" min:"1" doc:"Its number, from 1."`
}

type partOut struct {
	Number int      `json:"number"`
	Of     int      `json:"of"`
	Paths  []string `json:"paths"`
	Lines  int      `json:"lines" doc:"changed lines"`
	Text   string   `json:"text" doc:"The lines: number in the new version, sign, text. A removed line has no number."`
}

func (e *engine) part(ctx context.Context, in partIn) (partOut, error) {
	c, err := e.loaded(ctx, in.placeIn)
	if err != nil {
		return partOut{}, err
	}
	if in.Part > len(c.parts) {
		return partOut{}, fault.New(fault.InvalidParams, "part: the change has %d parts", len(c.parts)).
			With(fault.Diagnostic{Path: "part", Expected: "a number that review.change lists", Message: "unknown part"})
	}
	each := c.parts[in.Part-1]
	return partOut{Number: in.Part, Of: len(c.parts), Paths: each.paths(), Lines: each.changes(), Text: each.text(c.files)}, nil
}

type checkIn struct {
	placeIn
	Findings []Finding `json:"findings" example:"[{\"path\":\"pay.go\",\"line\":7,\"severity\":\"blocker\",\"message\":\"The error is dropped.\",\"evidence\":\"_ = transfer()\"}]"`
}

type checkOut struct {
	Findings []Finding `json:"findings"`
	Dropped  []Dropped `json:"dropped"`
	Merged   int       `json:"merged" doc:"how many said what another one says"`
}

func (e *engine) check(ctx context.Context, in checkIn) (checkOut, error) {
	c, err := e.loaded(ctx, in.placeIn)
	if err != nil {
		return checkOut{}, err
	}
	findings, dropped, merged := c.check(in.Findings)
	return checkOut{append([]Finding{}, findings...), append([]Dropped{}, dropped...), merged}, nil // lists, and never null
}

type reportOut struct {
	Markdown string `json:"markdown"`
	Report   Report `json:"report"`
}

type reportIn struct {
	Report
	Repo  string `json:"repo,omitempty" doc:"As review.change got it."`
	Bytes int    `json:"part_bytes,omitempty" min:"2000" max:"100000" doc:"As review.change got it."`
}

func (e *engine) report(ctx context.Context, in reportIn) (reportOut, error) {
	report := in.Report
	report.Change.Words = nil // they are not the report's
	if warnings := e.from.Warnings; len(warnings) > 0 {
		var parts []part
		// A working tree that has changed since has other parts: the report then names parts
		// and no lines.
		if c, err := e.loaded(ctx, placeIn{in.Repo, report.Change.Source, report.Change.Digest, in.Bytes}); err == nil {
			parts = c.parts
		}
		report.warn(warnings, parts)
	}
	return reportOut{report.Markdown(), report}, nil
}
