package think

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
)

// Reply is what think.plan and think.next answer.
type Reply struct {
	Instruction *Instruction `json:"instruction,omitempty"`
	// Instructions are all that are outstanding, where limits.parallel allows
	// more than one.
	Instructions []Instruction `json:"instructions,omitempty"`
	// Ready are the first ids of the other steps that could run; ReadyMore
	// counts the rest.
	Ready     []string `json:"ready"`
	ReadyMore int      `json:"ready_more,omitempty"`
	State     delta    `json:"state"`
	Done      bool     `json:"done"`
	// Drift says that a workflow's file differs from what the run follows.
	Drift bool `json:"drift,omitempty"`
	// Note tells a client what to do where the instruction cannot.
	Note     string             `json:"note,omitempty"`
	Warnings []fault.Diagnostic `json:"warnings,omitempty"`

	Outcome   string          `json:"outcome,omitempty"`
	Summary   string          `json:"summary,omitempty"`
	Outputs   json.RawMessage `json:"outputs,omitempty"`
	Artifacts []artifact      `json:"artifacts,omitzero"`
	Ran       *int            `json:"ran,omitempty"`
	Failed    []flow.Failure  `json:"failed,omitzero"`
}

// Instruction is flow.Instruction with its values as JSON.
type Instruction struct {
	StepID        string             `json:"step_id"`
	Call          string             `json:"call"`
	Input         json.RawMessage    `json:"input"`
	InputTemplate json.RawMessage    `json:"input_template,omitempty"`
	CaptureAs     string             `json:"capture_as,omitempty"`
	SuccessSchema json.RawMessage    `json:"success_schema,omitempty"`
	Rationale     string             `json:"rationale,omitempty"`
	Attempt       int                `json:"attempt"`
	Timeout       string             `json:"timeout,omitempty"`
	Witness       string             `json:"witness,omitempty"`
	Diagnostics   []fault.Diagnostic `json:"diagnostics,omitempty"`
	Done          bool               `json:"done"`
}

// delta is what a call changed of a run's state.
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

// preview stands for a value that is too long for a reply.
type preview struct {
	Preview string `json:"preview,omitempty"`
	// Size is the length of the value's JSON in bytes. The digest of a long
	// list that a loop made is left out.
	Size   int    `json:"size"`
	SHA256 string `json:"sha256,omitempty"`
	// Ref is the resource that has the whole value.
	Ref string `json:"ref"`
}

// artifact is a value of a finished run, kept by its content.
type artifact struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"`
	Ref    string `json:"ref"`
}

// reply is a recorded reply: Fault is set where the answer was refused. The
// input's second copy is not recorded but put back by restore.
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
	// maxRepeated is the length up to which input_template repeats an input.
	maxRepeated = 600
)

// restored returns what the client is sent for what an event came to.
func restored(replied settled, err error) (*Reply, error) {
	if err != nil {
		return nil, err
	}
	return replied.restore()
}

// restore returns what the client is sent.
func (r reply) restore() (*Reply, error) {
	out := *r.Reply
	if out.Instruction != nil {
		first := *out.Instruction
		out.Instruction = &first
	}
	out.Instructions = slices.Clone(out.Instructions)
	out.each(func(i *Instruction) {
		if len(i.Input) <= maxRepeated {
			i.InputTemplate = i.Input
		}
	})
	if r.Fault == nil {
		return &out, nil
	}
	refused := fault.Error{Code: r.Fault.Code, Details: r.Fault.Message(), Diagnostics: r.Fault.Diagnostics}
	if out.Instruction != nil {
		again := *out.Instruction
		again.Diagnostics = nil // the error has them
		refused.Attach("instruction", &again)
	}
	refused.Attach("state", out.State)
	return nil, &refused
}

// composed makes the reply to an event: what the run hands out now, and of its
// state what the event changed.
func composed(now flow.Outcome, drift bool, artifacts []artifact) *Reply {
	out := &Reply{Drift: drift, Ready: []string{}, State: delta{RunID: now.RunID, Version: now.Version, Status: now.Status}}
	out.State.add(now, maxVars, maxSteps, maxVar)
	if now.Final != nil {
		out.finish(now, artifacts)
		return out.bound(now)
	}
	for i, next := range now.Instructions {
		wired := wire(next)
		if i == 0 {
			out.Instruction = &wired
		}
		if now.Workflow.Limits.Parallel > 1 {
			out.Instructions = append(out.Instructions, wired)
		}
	}
	out.Ready, out.ReadyMore = now.Ready, now.ReadyTotal-len(now.Ready)
	if now.Status == flow.Waiting {
		out.Note = "A person must answer this step, not you. Ask them to run: savant approve " + now.RunID + " " + now.Instructions[0].StepID +
			" — then call think.next with this step_id and no result_snapshot."
	} else if slices.ContainsFunc(now.Instructions, func(i flow.Instruction) bool { return i.Witness != "" }) {
		out.Note = noteWitness
	}
	return out.bound(now)
}

// noteWitness tells how to answer an instruction with witness "required".
const noteWitness = "Where witness is required, Savant must see the call: make it through Savant and answer with result_ref, the _receipt of its reply."

func wire(i flow.Instruction) Instruction {
	out := Instruction{StepID: i.StepID, Call: i.Call, Input: encoded(i.Input), CaptureAs: i.CaptureAs, Rationale: i.Rationale,
		Attempt: i.Attempt, Timeout: i.Timeout, Witness: i.Witness, Diagnostics: i.Diagnostics}
	if i.SuccessSchema != nil {
		out.SuccessSchema = encoded(i.SuccessSchema)
	}
	return out
}

func encoded(value any) json.RawMessage {
	data, err := jsonvalue.Encode(value)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

// add puts changes into a delta, at most so many.
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

func shorten(now flow.Outcome, v flow.Var, size int) json.RawMessage {
	if utf8.RuneCount(v.Value) <= size {
		return v.Value
	}
	short := preview{Preview: fault.Cut(string(v.Value), min(size, maxPreview)), Size: v.Size,
		Ref: varURI(now.Workflow.Name, now.RunID, v.Name)}
	if len(v.Value) == v.Size {
		short.SHA256 = hexSum(v.Value)
	}
	return encoded(short)
}

func (r *Reply) finish(now flow.Outcome, artifacts []artifact) {
	final := now.Final
	r.Done, r.Outcome, r.Summary, r.Artifacts, r.Ran = true, final.Outcome, fault.Cut(final.Summary, 800), artifacts, &final.Ran
	if r.Artifacts == nil {
		r.Artifacts = []artifact{}
	}
	r.Failed = final.Failed
	if len(r.Failed) > 5 {
		r.Failed = r.Failed[:5]
	}
	r.Outputs = encoded(final.Outputs)
	if len(r.Outputs) > maxOutputs {
		r.Outputs = encoded(preview{Preview: fault.Cut(string(r.Outputs), 400), Size: len(r.Outputs), SHA256: hexSum(r.Outputs),
			Ref: outputsURI(now.Workflow.Name, now.RunID)})
	}
}

// bound cuts what can be asked for again until the reply is short enough:
// state first, then the schema and diagnostics of the instruction.
func (r *Reply) bound(now flow.Outcome) *Reply {
	cuts := []func(){
		func() { r.State.add(now, 4, 6, maxVarShort) },
		func() {
			r.State.add(now, 1, 2, maxVarShortest)
			short := r.Ready[:min(3, len(r.Ready))]
			r.Ready, r.ReadyMore = short, r.ReadyMore+len(r.Ready)-len(short)
		},
		func() { r.each(func(i *Instruction) { i.Rationale = fault.Cut(i.Rationale, 200) }) },
		func() {
			for i := range r.Instructions {
				r.Instructions[i].Rationale = "" // the first has its own in instruction
			}
		},
		func() { r.each(func(i *Instruction) { i.Diagnostics = i.Diagnostics[:min(1, len(i.Diagnostics))] }) },
		func() { r.each(func(i *Instruction) { i.SuccessSchema = named(i.SuccessSchema) }) },
		func() {
			r.Artifacts = r.Artifacts[:min(3, len(r.Artifacts))]
			r.Failed = r.Failed[:min(2, len(r.Failed))]
		},
	}
	for _, cut := range cuts {
		if r.size() <= maxReply {
			break
		}
		cut()
	}
	return r
}

// named replaces a schema by where it can be read.
func named(schema json.RawMessage) json.RawMessage {
	if len(schema) < 200 {
		return schema
	}
	return json.RawMessage(`"see think.explain"`)
}

func (r *Reply) each(change func(*Instruction)) {
	if r.Instruction != nil {
		change(r.Instruction)
	}
	for i := range r.Instructions {
		change(&r.Instructions[i])
	}
}

// size returns the length of the reply as it is sent.
func (r *Reply) size() int {
	size := len(encoded(r))
	r.each(func(i *Instruction) {
		// A short input is sent twice; one copy is counted.
		if len(i.Input) <= maxRepeated {
			size += len(i.Input) + len(`,"input_template":`)
		}
	})
	return size
}
