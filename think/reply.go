package think

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
)

// Reply is the output of think.plan and think.next.
type Reply struct {
	// Note tells a client what to do beyond the instruction. It comes first.
	Note        string       `json:"note,omitempty"`
	Instruction *Instruction `json:"instruction,omitempty"`
	// Instructions are the instructions to do now, if several; a single one is in
	// Instruction.
	Instructions []Instruction `json:"instructions,omitempty"`
	// Outstanding are the ids of instructions issued earlier and not answered yet.
	Outstanding []string `json:"outstanding,omitempty"`
	// Schemas are success schemas that several instructions name.
	Schemas map[string]json.RawMessage `json:"schemas,omitempty"`
	// Ready are the first ids of the other steps that could run; ReadyMore
	// counts the rest.
	Ready     []string `json:"ready"`
	ReadyMore int      `json:"ready_more,omitempty"`
	State     delta    `json:"state"`
	Done      bool     `json:"done"`
	// Drift says that a workflow's file differs from what the run follows.
	Drift    bool               `json:"drift,omitempty"`
	Warnings []fault.Diagnostic `json:"warnings,omitempty"`

	Outcome   string          `json:"outcome,omitempty"`
	Summary   any             `json:"summary,omitempty"` // a text, or its preview
	Outputs   json.RawMessage `json:"outputs,omitempty"`
	Artifacts []artifact      `json:"artifacts,omitzero"`
	Ran       *int            `json:"ran,omitempty"`
	Failed    []flow.Failure  `json:"failed,omitzero"`
}

// Links gives the artifacts of a finished run, as resources.
func (r *Reply) Links(each func(uri, name string, size int)) {
	for _, a := range r.Artifacts {
		each(a.Ref, a.Name, a.Size)
	}
}

// Instruction is flow.Instruction with its values as JSON.
type Instruction struct {
	StepID        string          `json:"step_id"`
	Call          string          `json:"call"`
	Input         json.RawMessage `json:"input"`
	CaptureAs     string          `json:"capture_as,omitempty"`
	SuccessSchema json.RawMessage `json:"success_schema,omitempty"`
	Check         json.RawMessage `json:"check,omitempty"`
	Rationale     string          `json:"rationale,omitempty"`
	Attempt       int             `json:"attempt"`
	Timeout       string          `json:"timeout,omitempty"`
	Witness       string          `json:"witness,omitempty"`
	// Allow lists what the model may call while it answers the step.
	Allow *[]string `json:"allow,omitempty"`
	// Outcome is "unknown" where it is not known whether the last call had an effect.
	Outcome     string             `json:"outcome,omitempty"`
	Diagnostics []fault.Diagnostic `json:"diagnostics,omitempty"`
	Done        bool               `json:"done"`
}

// delta is the change of a run's state by a call.
type delta struct {
	RunID   string      `json:"run_id"`
	Version int         `json:"version"`
	Status  flow.Status `json:"status"`
	// Vars and Steps may be cut; VarsMore and StepsMore count the rest, which
	// think.state.get shows.
	Vars      map[string]json.RawMessage `json:"vars"`
	VarsMore  int                        `json:"vars_more,omitempty"`
	Steps     map[string]flow.StepStatus `json:"steps"`
	StepsMore int                        `json:"steps_more,omitempty"`
}

// preview replaces a value that is too long for a reply.
type preview struct {
	// Artifact is the reference by which think.artifact reads the whole value.
	Artifact string `json:"$artifact"`
	// Size is the length of the value's JSON in bytes.
	Size    int    `json:"size"`
	Preview string `json:"preview,omitempty"`
}

// earlierPreview is how replies were recorded before previews had $artifact.
type earlierPreview struct {
	Preview string `json:"preview,omitempty"`
	Size    int    `json:"size"`
	SHA256  string `json:"sha256,omitempty"`
	Ref     string `json:"ref"`
}

// earlier returns the JSON of a preview as it was recorded earlier; whole is the JSON of
// the value, if that was at hand.
func (p preview) earlier(whole []byte) json.RawMessage {
	short := earlierPreview{Preview: p.Preview, Size: p.Size, Ref: p.Artifact}
	if len(whole) == p.Size {
		short.SHA256 = jsonvalue.HexSum(whole)
	}
	return jsonvalue.Encoded(short)
}

// artifact is a value of a finished run, kept by its content.
type artifact struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"`
	Ref    string `json:"ref"`
}

// reply is a recorded reply: Fault is set where the answer was refused.
type reply struct {
	Fault *fault.Error `json:"fault,omitempty"`
	Reply *Reply       `json:"reply"`
	// More are the digests of artifacts that the reply had no room for.
	More []string `json:"more_artifacts,omitempty"`
}

// The bounds of a reply. Cline cuts a result at 8,000 characters, text and
// structured content together, hence 3,700 for each, less the rendered input.
const (
	maxReply       = 3700
	maxVar         = 256
	maxVarShort    = 120 // where maxVar makes the reply too long
	maxVarShortest = 60  // and where that does
	maxPreview     = 160
	maxSteps       = 12
	maxVars        = 8
	maxOutputs     = 1200
	maxSummary     = 800
)

// maxIssued bounds the instructions of one reply after the first, in bytes.
const maxIssued = 60_000

// restored converts the outcome of an event to the reply or error for the client.
func restored(replied eventResult, err error) (*Reply, error) {
	if err == nil && replied.Fault != nil {
		err = replied.refusal()
	}
	if err != nil {
		return nil, err
	}
	return replied.Reply, nil
}

// refusal returns the error that the client is sent for an answer that was refused.
func (r reply) refusal() error {
	refused := &fault.Error{Code: r.Fault.Code}
	if r.Reply.State.Status == flow.Blocked {
		refused = fault.New(r.Fault.Code, "%w", Blocked{r.Reply.State.RunID})
	}
	refused.Details, refused.Diagnostics = r.Fault.Message(), r.Fault.Diagnostics
	if r.Reply.Instruction != nil {
		again := *r.Reply.Instruction
		again.Diagnostics = nil // the error has them
		refused.Attach("instruction", &again)
	}
	if len(r.Reply.Outstanding) > 0 {
		refused.Attach("outstanding", r.Reply.Outstanding)
	}
	return refused.Attach("state", r.Reply.State)
}

// scope selects the instructions that a reply has in full.
type scope bool

const (
	// changes: those that the event issued, or issued again.
	changes scope = false
	// everything: all that wait, as far as they fit.
	everything scope = true
)

// composeReply builds the reply to an event: the issued instructions and the change of
// state. kept are the artifacts of the run if the event ended it.
func composeReply(now flow.Outcome, whole scope, drift bool, kept []artifact) reply {
	out := &Reply{Drift: drift, Ready: []string{}, State: delta{RunID: now.RunID, Version: now.Version, Status: now.Status}}
	out.State.add(now, maxVars, maxSteps, maxVar)
	if now.Final != nil {
		out.finish(now, kept)
	} else {
		out.handOut(now, whole)
		out.Ready, out.ReadyMore = now.Ready, now.ReadyTotal-len(now.Ready)
	}
	out.Note = strings.TrimSpace(out.Note + " " + reopening(now))
	out.bound(now)
	made := reply{Fault: now.Rejected, Reply: out}
	if now.Blocked != nil {
		made.Fault = blockedFault(now)
	}
	for _, each := range kept[min(len(out.Artifacts), len(kept)):] {
		made.More = append(made.More, each.SHA256)
	}
	return made
}

// handOut puts the instructions into a reply, one alone as Instruction, with the ids
// of the others that wait and a note on what they cannot say.
func (r *Reply) handOut(now flow.Outcome, whole scope) {
	switch {
	case now.Status == flow.Waiting:
		r.Note = waitingNote(now.RunID, now.Instructions[0])
	case slices.ContainsFunc(now.Instructions, func(i flow.Instruction) bool { return i.Outcome != "" }):
		r.Note = noteOutcome
	case slices.ContainsFunc(now.Instructions, func(i flow.Instruction) bool { return i.Witness != "" }):
		r.Note = noteWitness
	}
	size := 0
	var names []string
	for _, next := range now.Instructions {
		wired := wire(next)
		size += len(wired.Input) + len(wired.SuccessSchema) + len(wired.Rationale)
		if fits := len(r.Instructions) == 0 || size <= maxIssued-maxReply; whole == everything && fits || whole == changes && next.New {
			r.Instructions, names = append(r.Instructions, wired), append(names, next.SchemaName)
			continue
		}
		r.Outstanding = append(r.Outstanding, next.StepID)
	}
	if len(r.Instructions) == 1 {
		r.Instruction, r.Instructions = &r.Instructions[0], nil
		return
	}
	r.shareSchemas(names)
}

// minShared is the length from which a schema is worth a name.
const minShared = 60

// shareSchemas puts a schema that several instructions have into the reply once,
// under its name.
func (r *Reply) shareSchemas(names []string) {
	uses := map[string]int{}
	for _, each := range r.Instructions {
		uses[string(each.SuccessSchema)]++
	}
	for i := range r.Instructions {
		each, name := &r.Instructions[i], names[i]
		if uses[string(each.SuccessSchema)] < 2 || len(each.SuccessSchema) < minShared {
			continue
		}
		if known, taken := r.Schemas[name]; taken && string(known) != string(each.SuccessSchema) {
			continue
		}
		if r.Schemas == nil {
			r.Schemas = map[string]json.RawMessage{}
		}
		r.Schemas[name], each.SuccessSchema = each.SuccessSchema, jsonvalue.Encoded(name)
	}
}

// reopening explains how to reopen a step whose last attempt failed.
func reopening(now flow.Outcome) string {
	if now.Exhausted == "" {
		return ""
	}
	return "The last attempt of step " + now.Exhausted + " failed. To open it again: " + flow.Reopen(now.RunID, now.Exhausted, now.Final != nil)
}

// noteOutcome explains how to answer an instruction with outcome "unknown".
const noteOutcome = "Where outcome is unknown, the last call may have had an effect: find out, do not call it again, and say what happened with result_snapshot: " +
	`{"unknown_outcome": "done", "result": …} or {"unknown_outcome": "not_done"}.`

// noteWitness explains how to answer an instruction with witness "required".
const noteWitness = "Where witness is required, Savant must see the call: make it through Savant and answer with result_ref, the _receipt of its reply."

func wire(i flow.Instruction) Instruction {
	out := Instruction{StepID: i.StepID, Call: i.Call, Input: jsonvalue.Encoded(i.Input), CaptureAs: i.CaptureAs, Rationale: i.Rationale,
		Attempt: i.Attempt, Timeout: i.Timeout, Witness: i.Witness, Allow: i.Allow, Outcome: i.Outcome, Diagnostics: i.Diagnostics}
	if i.SuccessSchema != nil {
		out.SuccessSchema = jsonvalue.Encoded(i.SuccessSchema)
	}
	if i.Check != nil {
		out.Check = jsonvalue.Encoded(i.Check)
	}
	return out
}

// add adds a limited number of changes to a delta.
func (d *delta) add(now flow.Outcome, vars, steps, size int) {
	change := now.Change
	d.Vars, d.Steps, d.VarsMore, d.StepsMore = map[string]json.RawMessage{}, map[string]flow.StepStatus{}, 0, 0
	for _, v := range change.Vars {
		if len(d.Vars) == vars {
			d.VarsMore = len(change.Vars) - vars
			break
		}
		d.Vars[v.Name] = shorten(now, v, size)
	}
	for _, s := range change.Steps {
		if len(d.Steps) == steps {
			d.StepsMore = len(change.Steps) - steps
			break
		}
		s.Details = fault.Cut(s.Details, 200)
		d.Steps[s.ID] = s
	}
}

// shorten returns the JSON of a capture, or its preview if it is long.
func shorten(now flow.Outcome, v flow.Var, size int) json.RawMessage {
	if short, long := previewOf(now, v, size); long {
		return jsonvalue.Encoded(short)
	}
	return v.Value
}

func previewOf(now flow.Outcome, v flow.Var, size int) (short preview, long bool) {
	if utf8.RuneCount(v.Value) <= size {
		return preview{}, false
	}
	most := min(size, maxPreview)
	begun := string(v.Value[:min(len(v.Value), utf8.UTFMax*(most+1))]) // enough to cut, and no copy of all of it
	return preview{Artifact: varURI(now.Workflow.Name, now.RunID, v.Name), Size: v.Size, Preview: fault.Cut(begun, most)}, true
}

func (r *Reply) finish(now flow.Outcome, artifacts []artifact) {
	final := now.Final
	r.Done, r.Outcome, r.Artifacts, r.Ran = true, final.Outcome, artifacts, &final.Ran
	if r.Summary = final.Summary; len(final.Summary) > maxSummary {
		r.Summary = preview{Artifact: RunPrefix + now.Workflow.Name + "/" + now.RunID + "/summary", Size: len(final.Summary), Preview: fault.Cut(final.Summary, maxSummary)}
	}
	if r.Artifacts == nil {
		r.Artifacts = []artifact{}
	}
	if final.Outcome == string(flow.Cancelled) {
		r.Note = "A person cancelled this run: do no step of it. A new run with its answers: savant state fork " + now.RunID
	}
	r.Failed = final.Failed
	if len(r.Failed) > 5 {
		r.Failed = r.Failed[:5]
	}
	if r.Outputs = jsonvalue.Encoded(final.Outputs); len(r.Outputs) > maxOutputs {
		r.Outputs = jsonvalue.Encoded(outputsPreview(now, r.Outputs))
	}
}

func outputsPreview(now flow.Outcome, outputs json.RawMessage) preview {
	return preview{Artifact: RunPrefix + now.Workflow.Name + "/" + now.RunID + "/outputs", Size: len(outputs), Preview: fault.Cut(string(outputs), 400)}
}

// bound cuts what can be asked for again until the reply is short enough:
// state first, then the schema and diagnostics of the instruction.
func (r *Reply) bound(now flow.Outcome) {
	cuts := []func(){
		func() { r.State.add(now, 4, 6, maxVarShort) },
		func() {
			r.State.add(now, 1, 2, maxVarShortest)
			short := r.Ready[:min(3, len(r.Ready))]
			r.Ready, r.ReadyMore = short, r.ReadyMore+len(r.Ready)-len(short)
		},
		r.cutRationales,
		func() {
			r.eachInstruction(func(i *Instruction) { i.Diagnostics = i.Diagnostics[:min(1, len(i.Diagnostics))] })
		},
		r.nameSchemas,
		func() {
			r.Artifacts = r.Artifacts[:min(3, len(r.Artifacts))]
			r.Failed = r.Failed[:min(2, len(r.Failed))]
		},
	}
	limit := maxReply * max(1, len(r.Instructions)) // the room that their replies would have had one by one
	for _, cut := range cuts {
		if r.size() <= limit {
			break
		}
		cut()
	}
}

// cutRationales shortens the rationales of the instructions; the items of a loop share
// one.
func (r *Reply) cutRationales() {
	said := map[string]bool{}
	r.eachInstruction(func(i *Instruction) {
		long := i.Rationale
		if i.Rationale = fault.Cut(long, 200); said[long] {
			i.Rationale = ""
		}
		said[long] = true
	})
}

// SeeExplain replaces a schema that does not fit a reply.
const SeeExplain = "see think.explain"

// nameSchemas replaces long schemas by the place where they can be read.
func (r *Reply) nameSchemas() {
	r.eachInstruction(func(i *Instruction) {
		if len(i.SuccessSchema) >= 200 {
			i.SuccessSchema = jsonvalue.Encoded(SeeExplain)
		}
	})
	for name, schema := range r.Schemas {
		if len(schema) >= 200 {
			r.Schemas[name] = jsonvalue.Encoded(SeeExplain)
		}
	}
}

func (r *Reply) eachInstruction(change func(*Instruction)) {
	if r.Instruction != nil {
		change(r.Instruction)
	}
	for i := range r.Instructions {
		change(&r.Instructions[i])
	}
}

// size returns the length of the reply on the wire, except long inputs, which a client
// that truncates replies cuts anyway.
func (r *Reply) size() int {
	inputs := 0
	r.eachInstruction(func(i *Instruction) { inputs += len(i.Input) })
	size := len(jsonvalue.Encoded(r))
	if inputs >= maxReply/2 {
		size -= inputs
	}
	return size
}
