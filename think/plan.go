package think

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/form"
	"savant/think/gate"
	"savant/think/library"
	"savant/think/state"
)

// PlanInput asks for a run.
type PlanInput struct {
	Workflow    string         `json:"workflow" doc:"name or name@version" example:"hello"`
	Params      map[string]any `json:"params,omitempty" doc:"its parameters" example:"{\"name\":\"Ada\"}"`
	RunID       string         `json:"run_id,omitempty" doc:"continue or name a run; omit for a new one"`
	StrictTools bool           `json:"strict_tools,omitempty" list:"no" doc:"refuse tools this server does not know"`
	// Caller makes the call: the run is its own.
	Caller Caller `json:"-"`
	// Driven says that this program carries the steps out itself, also with tools that
	// it does not publish.
	Driven bool `json:"-"`
	// Resumes names a run about which the person at the client was asked, in a call of another
	// server that has ended. They are asked again, and their client has the answer.
	Resumes string `json:"-"`
}

// Plan starts a run, or returns the state of an existing one. Errors: UNKNOWN_WORKFLOW,
// INVALID_PARAMS, UNKNOWN_TOOL (strict), STATE_CONFLICT when the run has other
// parameters, those of the workflow's file, and those that block a run at once.
func (e *Engine) Plan(ctx context.Context, in PlanInput) (*Reply, error) {
	given := in.Params
	name := PlainName(in.Workflow)
	key := state.Key{Workflow: name, Run: in.RunID}
	if in.RunID == "" {
		key.Run = e.NewID()
	}
	if in.Workflow == "" {
		return nil, fault.New(fault.InvalidParams, "workflow is missing").Hinted(fault.Hint{Call: "think.workflows.list", Text: "lists the workflows"})
	}
	if err := key.Validate(); err != nil {
		if meant := e.Library.ByAddress(in.Workflow); meant != "" && meant != name {
			return nil, fault.New(fault.UnknownWorkflow, "no workflow %q", fault.Cut(in.Workflow, 80)).Hinted(fault.DidYouMean(strconv.Quote(meant)))
		}
		return nil, err
	}
	known := state.Key{Workflow: name, Run: cmp.Or(in.RunID, in.Resumes)}
	if known.Validate() == nil { // what is resumed may be made up
		reply, err := e.existing(ctx, in, known, given)
		if !errors.Is(err, fault.UnknownRun) {
			return reply, err
		}
	}
	graph, named, err := e.Library.Snapshot(ctx, in.Workflow)
	if err != nil {
		return nil, err
	}
	workflow := graph.Workflow
	warnings, unseen := e.unknownTools(ctx, graph, in.Driven)
	if len(unseen) > 0 {
		return nil, fault.New(fault.UnknownTool, "%s", unseen[0].Message).With(unseen...)
	}
	if len(warnings) > 0 && (in.StrictTools || workflow.StrictTools) {
		return nil, fault.New(fault.UnknownTool, "%s", warnings[0].Message).With(errorsOf(warnings)...)
	}
	note, err := e.unpublishedNote(graph, in)
	if err != nil {
		return nil, err
	}
	report := e.checkedNow(graph)
	if err := report.Fault(); err != nil {
		return nil, err
	}
	warnings = append(warnings, report.Warnings...)
	given, err = e.elicitParams(ctx, in.Caller.Ask, workflow, given)
	if err != nil {
		return nil, err
	}
	params, err := workflow.Bind(workflow.ConvertTexts(given))
	if err != nil {
		return nil, err
	}
	result, err := e.create(ctx, key, beginning{graph: graph, named: named, params: params, warnings: warnings, note: strings.TrimSpace(note + " " + e.rulesNote(graph)), terms: termsOf(graph), by: in.Caller})
	if errors.Is(err, fault.StateConflict) && in.RunID != "" {
		return e.existing(ctx, in, key, given) // another process planned it first
	}
	if err != nil {
		return nil, err
	}
	if in.Caller.Apps {
		in.Caller.Ask = nil // the app comes first
	}
	return e.askPerson(ctx, result, in.Caller)
}

// StrayParams refuses workflow parameters that a call sends outside params, or as an
// object under another name, because the run would silently start with defaults:
// INVALID_PARAMS.
func (e *Engine) StrayParams(declared, stray map[string]json.RawMessage) error {
	var name string
	if json.Unmarshal(declared["workflow"], &name) != nil {
		return nil
	}
	workflow, err := e.Library.Find(strings.TrimSpace(name), "")
	if err != nil {
		return nil // the call itself fails
	}
	given := map[string]json.RawMessage{}
	_ = json.Unmarshal(declared["params"], &given)
	var beside, within []string
	for _, sent := range slices.Sorted(maps.Keys(stray)) {
		var members map[string]json.RawMessage
		_ = json.Unmarshal(stray[sent], &members)
		for _, param := range workflow.Params {
			if _, inside := members[param.Name]; inside && len(given) == 0 && !slices.Contains(within, sent) {
				within = append(within, sent)
			}
			if !strings.EqualFold(sent, param.Name) {
				continue
			}
			if value, there := given[param.Name]; !there || !sameJSON(value, stray[sent]) {
				beside = append(beside, param.Name)
				given[param.Name] = stray[sent]
			}
		}
	}
	switch {
	case len(beside) > 0:
		wrong := fault.New(fault.InvalidParams, "put %s into params: %s", strings.Join(beside, ", "),
			fault.Cut(string(jsonvalue.Encoded(map[string]any{"workflow": workflow.Name, "params": given})), 600))
		for _, each := range beside {
			wrong.With(fault.Diagnostic{Path: each, Message: "a parameter of the workflow, sent beside params", Expected: "params." + each})
		}
		return wrong
	case len(within) > 0:
		return fault.New(fault.InvalidParams, "there is no argument %q: send the parameters of the workflow as params", fault.Cut(within[0], 80)).
			With(fault.Diagnostic{Path: within[0], Message: "it holds parameters of the workflow", Expected: "params"})
	}
	return nil
}

func sameJSON(a, b json.RawMessage) bool {
	one, err := jsonvalue.Decode(a)
	other, otherErr := jsonvalue.Decode(b)
	return err == nil && otherErr == nil && reflect.DeepEqual(one, other)
}

// PlainName returns the name under which the runs of a workflow are kept: without its
// version, and without the folder by which one of several files of a name is chosen.
func PlainName(workflow string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(workflow), "@")
	if extension := strings.ToLower(path.Ext(name)); extension == ".yaml" || extension == ".yml" || strings.Contains(name, "://") {
		return name // a file or an address, which are no names
	}
	return name[strings.LastIndexByte(name, '/')+1:]
}

// existing returns an existing run in its present state, if its parameters equal the
// given ones, if any.
func (e *Engine) existing(ctx context.Context, in PlanInput, key state.Key, given map[string]any) (*Reply, error) {
	reply, err := e.standing(ctx, in, key, given)
	if err != nil || in.Resumes == "" {
		return restored(e.located(reply, in.Caller), err)
	}
	return e.askPerson(ctx, reply, in.Caller)
}

// standing is the reply of existing before the person is asked.
func (e *Engine) standing(ctx context.Context, in PlanInput, key state.Key, given map[string]any) (reply eventResult, err error) {
	l, err := e.open(ctx, key.Workflow, key.Run)
	if err != nil {
		return reply, err
	}
	defer l.mu.Unlock()
	if given != nil || in.RunID == "" { // a call that names a run continues it without parameters
		workflow, all := l.run.View().Graph().Workflow, map[string]any{}
		if in.Resumes != "" { // their person gave those that are missing
			for _, each := range workflow.Missing(given) {
				all[each.Name] = l.run.View().Params()[each.Name]
			}
		}
		maps.Copy(all, given)
		params, err := workflow.Bind(workflow.ConvertTexts(all))
		if err != nil {
			return reply, err
		}
		if !reflect.DeepEqual(params, l.run.View().Params()) {
			return reply, fault.New(fault.StateConflict, "run %q exists with other parameters; use another run_id, or omit it", key.Run)
		}
	}
	e.callers.note(in.Caller, key)
	if l.version == 1 {
		reply, err = e.repeat(ctx, l, 1)
	} else {
		reply, err = e.currentReply(ctx, l)
	}
	reply.waiting = l.waiting()
	return reply, err
}

// currentReply is the reply to "where is this run?".
func (e *Engine) currentReply(ctx context.Context, l *live) (eventResult, error) {
	if l.now.Blocked != nil {
		return eventResult{}, blockedFault(l.now)
	}
	if l.now.Final != nil {
		return e.repeat(ctx, l, l.version)
	}
	return eventResult{reply: composeReply(l.now, everything, e.drifted(l.pins), nil), waiting: l.waiting()}, nil
}

// repeat returns the recorded reply of a version.
func (e *Engine) repeat(ctx context.Context, l *live, version int) (eventResult, error) {
	record, err := e.record(ctx, l.history(), version)
	if err != nil {
		return eventResult{}, err
	}
	answer, err := replyOf(record)
	if err != nil {
		return eventResult{}, err
	}
	for at := version + 1; at <= l.version; at++ { // one by one: what follows may be long
		record, err := e.record(ctx, l.history(), at)
		if err != nil {
			return eventResult{}, err
		}
		var data resultData
		if isAside(record) {
			continue
		}
		if record.Kind != kindPerson || decodeData(record, &data) != nil || data.During != version {
			break
		}
		answer = data.Reply // the same call went on to ask the person
	}
	return eventResult{reply: answer}, nil
}

func replyOf(record state.Record) (reply, error) {
	var data struct {
		Reply reply `json:"reply"`
	}
	if err := decodeData(record, &data); err != nil {
		return reply{}, err
	}
	if data.Reply.Reply == nil {
		return reply{}, fault.New(fault.StateCorrupt, "record %d has no reply", record.Version)
	}
	return data.Reply, nil
}

// beginning is the initial data of a run.
type beginning struct {
	graph *flow.Graph
	// schemas is the digest of the named schemas that the graph was read with.
	// Where it is empty named are those, or, without them, those there are now.
	schemas  string
	named    library.Named
	params   map[string]any
	warnings []fault.Diagnostic
	// note is what a client should know first.
	note string
	// terms are the terms of the run; a fork inherits them.
	terms flow.Terms
	from  *lineage
	by    Caller
	// commands are those that the run is held to; nil: those there are now.
	commands map[string]string
}

// termsOf returns the terms of a new run. Its window leaves room for the rest of a
// reply.
func termsOf(graph *flow.Graph) flow.Terms {
	terms := flow.CurrentTerms()
	if graph.Parallel() {
		terms.Window = maxIssued - maxReply
	}
	return terms
}

// create writes the first record of a run and answers it.
func (e *Engine) create(ctx context.Context, key state.Key, begin beginning) (eventResult, error) {
	graph, params := begin.graph, begin.params
	if begin.commands == nil {
		begin.commands = e.Tools.Commands(toolsOf(graph))
	}
	pins, err := e.pin(ctx, graph)
	if err != nil {
		return eventResult{}, notPlanned(key, err)
	}
	if begin.schemas == "" {
		if begin.schemas, err = e.pinSchemas(ctx, begin.named); err != nil {
			return eventResult{}, notPlanned(key, err)
		}
	}
	run, out := graph.Start(key.Run, params, begin.terms)
	artifacts, err := e.keepArtifacts(ctx, out.Final)
	if err != nil {
		return eventResult{}, notPlanned(key, err)
	}
	e.noteConcern(key, graph)
	answer := composeReply(out, changes, false, artifacts)
	answer.Reply.Warnings = begin.warnings[:min(3, len(begin.warnings))]
	answer.Reply.Note = strings.TrimSpace(begin.note + " " + answer.Reply.Note)
	l := e.hold(key)
	defer l.mu.Unlock()
	l.forget()
	now := e.Now()
	record, err := e.write(ctx, key, kindPlan, out, now, planData{Workflow: graph.Workflow.Name, Pins: pins, Edition: graph.Edition(), Commands: begin.commands,
		Schemas: begin.schemas, Params: params, Terms: begin.terms, Ruled: graph.Ruled(), Lineage: begin.from, attribution: begin.by.attribution(), Reply: answer})
	if err != nil {
		return eventResult{}, err
	}
	e.callers.note(begin.by, key)
	l.run, l.pins, l.times = run, pins, map[int]time.Time{}
	l.commands = begin.commands
	l.moved(out, record, now)
	e.project(ctx, l, true)
	return eventResult{reply: answer, version: 1, waiting: l.waiting()}, nil
}

// notPlanned adds to an error that the run was not planned, because something could not
// be saved before its first record.
func notPlanned(key state.Key, err error) error {
	failure := fault.From(err)
	if failure.Code != fault.StateNotSaved {
		return err
	}
	recorded := *failure
	recorded.Details = "run " + key.String() + " was not planned: " + failure.Details
	return &recorded
}

// toolsOf lists the tools that a workflow and those it runs call.
func toolsOf(graph *flow.Graph) (tools []string) {
	workflows := graph.Workflows()
	for _, reference := range slices.Sorted(maps.Keys(workflows)) {
		for _, each := range workflows[reference].Tools() {
			tools = append(tools, each.Actual)
		}
	}
	return tools
}

// keepArtifacts keeps the artifacts of a run that has ended; final is nil for an
// unfinished run.
func (e *Engine) keepArtifacts(ctx context.Context, final *flow.Final) (artifacts []artifact, err error) {
	if final == nil {
		return nil, nil
	}
	for _, each := range final.Artifacts {
		if _, err := e.Store.PutArtifact(ctx, each.Data); err != nil {
			return nil, err
		}
		artifacts = append(artifacts, artifactOf(each))
	}
	return artifacts, nil
}

func artifactOf(a flow.FinalArtifact) artifact {
	digest := jsonvalue.HexSum(a.Data)
	return artifact{Name: a.Name, Type: a.Type, Size: len(a.Data), SHA256: digest, Ref: ArtifactPrefix + digest}
}

// Blocked is the cause of the error of a run that is blocked. What was asked for is done:
// the run was begun, or the answer recorded.
type Blocked struct{ Run string }

func (b Blocked) Error() string { return "run " + b.Run + " is blocked" }

// blockedFault is the error of a run that is blocked: why, and the way out.
func blockedFault(out flow.Outcome) *fault.Error {
	cause := out.Blocked
	failure := fault.New(cause.Code, "%w: %s", Blocked{out.RunID}, cause.Message())
	failure.Diagnostics, failure.Hint = cause.Diagnostics, fault.Hint{Text: WayOut(out.RunID, cause)}
	return failure
}

// WayOut explains how to recover from a blocked run: start a new run under the
// corrected file.
func WayOut(run string, cause *fault.Error) string {
	file := "the workflow"
	if len(cause.Diagnostics) > 0 && cause.Diagnostics[0].File != "" {
		file = cause.Diagnostics[0].File
		if line := cause.Diagnostics[0].Line; line > 0 {
			file += ":" + strconv.Itoa(line)
		}
	}
	return "correct " + file + ", then: savant state fork " + run + " --adopt"
}

// unknownTools returns a warning for each tool that the client will not find here:
// no registry knows it, so that the client must have it, or it is not published. unseen
// are the errors of steps whose result only a call through Savant can prove, and that
// call cannot be made. A tool of an engine that is configured and not there may come.
func (e *Engine) unknownTools(ctx context.Context, graph *flow.Graph, driven bool) (found, unseen []fault.Diagnostic) {
	seen := map[string]bool{}
	workflows := graph.Workflows()
	for _, reference := range slices.Sorted(maps.Keys(workflows)) {
		workflow := workflows[reference]
		for _, d := range workflow.Tools() {
			message, mayCome := e.notFound(ctx, d.Actual, driven)
			if message == "" {
				continue
			}
			if !mayCome {
				if errors := witnessed(workflow, d.Actual, message); len(errors) > 0 {
					unseen = append(unseen, errors...)
					continue
				}
			}
			if seen[d.Actual] {
				continue
			}
			seen[d.Actual] = true
			d.Severity, d.Message, d.Actual = "warning", message, ""
			found = append(found, d)
		}
	}
	return found, unseen
}

// unpublishedNote names the engines whose tools a workflow calls and this server does
// not publish, and the setting that does; "" if there are none. UNKNOWN_TOOL in a session
// that hooks hold and that called no tool of such a server: nothing could answer the step,
// and nothing else would pass.
func (e *Engine) unpublishedNote(graph *flow.Graph, in PlanInput) (string, error) {
	if in.Driven {
		return "", nil
	}
	needed, unseen := map[string]bool{}, map[string]bool{}
	for _, workflow := range graph.Workflows() {
		for _, d := range workflow.Tools() {
			if engine := e.Tools.Unpublished(d.Actual); engine != "" {
				needed[engine] = true
				if talk := in.Caller.Conversation; talk != nil && !slices.ContainsFunc(talk.Tools, func(tool string) bool { return gate.Serves(tool, d.Actual) }) {
					unseen[engine] = true
				}
			}
		}
	}
	if len(needed) == 0 {
		return "", nil
	}
	if len(unseen) > 0 {
		names := strings.Join(slices.Sorted(maps.Keys(unseen)), ",")
		return "", fault.New(fault.UnknownTool, "this server does not publish the tools of %s that steps call, and this session, which hooks hold to its run, called no tool of such a server: "+
			"add %s to MCP_SERVICE in the client's configuration and restart it; if another server has them, call one of its tools and plan again", names, names)
	}
	names := strings.Join(slices.Sorted(maps.Keys(needed)), ",")
	return "Steps of this workflow call tools of " + names + ", which this server does not publish: unless another server of this client has them, add " + names + " to MCP_SERVICE in the client's configuration and restart it.", nil
}

// rulesNote says what the rules of a workflow demand, "" without rules.
func (e *Engine) rulesNote(graph *flow.Graph) string {
	demands := ""
	workflows := graph.Workflows()
	for _, reference := range slices.Sorted(maps.Keys(workflows)) {
		if w := workflows[reference]; w.Ruled && e.Rules != nil {
			demands += " " + e.Rules.Demands(w)
		}
	}
	return strings.TrimSpace(demands)
}

// notFound returns why a client cannot call a tool, "" if it can, and whether the tool
// may appear while the server runs.
func (e *Engine) notFound(ctx context.Context, tool string, driven bool) (message string, mayCome bool) {
	if e.Tools.Known(tool) {
		if driven || e.Tools.Unpublished(tool) == "" {
			return "", true
		}
		return "this server does not publish " + tool + ": add " + e.Tools.Unpublished(tool) + " to MCP_SERVICE", false
	}
	if err := e.Tools.Missing(ctx, tool); err != nil {
		return "the tool " + tool + " is not available now: " + fault.From(err).Message(), true
	}
	return "this server has no tool " + tool + "; the client must have it" + fault.NearestHint(", or did you mean %s?", tool, e.Tools.Names()), false
}

// witnessed returns an error for each step that takes only a receipt of a tool.
func witnessed(workflow *flow.Workflow, tool, message string) []fault.Diagnostic {
	var found []fault.Diagnostic
	for _, step := range workflow.Steps {
		if step.Tool() != tool || step.Witness != "required" {
			continue
		}
		message := strings.TrimSuffix(message, "; the client must have it") + "; step " + step.ID + " has witness: required, so nothing else can answer it"
		if at := workflow.Layout().Value(step.Path() + ".call"); at != nil {
			found = append(found, at.Diagnostic(fault.UnknownTool, 0, message))
		}
	}
	return found
}

func errorsOf(warnings []fault.Diagnostic) []fault.Diagnostic {
	for i := range warnings {
		warnings[i].Severity = ""
	}
	return warnings
}

// elicitParams asks the person for required parameters, where the client can, and again
// where they do not fit.
func (e *Engine) elicitParams(ctx context.Context, ask Ask, workflow *flow.Workflow, given map[string]any) (map[string]any, error) {
	missing := workflow.Missing(given)
	if len(missing) == 0 || ask == nil {
		return given, nil
	}
	shown := form.New(workflow.ParamsSchema(missing))
	if !shown.Whole() || !shown.IsVisible() {
		return given, nil // Bind reports missing parameters
	}
	filled, misfit := given, ""
	for range 1 + maxMisfits {
		answer, err := ask(ctx, Form{Message: again(misfit, "The workflow "+workflow.Name+" needs:"), Schema: shown.Client()})
		if err != nil || answer.Action != "accept" {
			return given, nil
		}
		content, err := jsonvalue.Decode(answer.Content)
		if err != nil {
			return nil, fault.New(fault.InvalidParams, "the client's form is not JSON: %w", err)
		}
		object, _ := content.(map[string]any)
		value, _ := shown.FromClient(object)
		filled, _ = value.(map[string]any)
		maps.Copy(filled, given)
		if _, err = workflow.Bind(workflow.ConvertTexts(filled)); err == nil {
			break
		}
		misfit = fault.From(err).Message()
	}
	return filled, nil
}
