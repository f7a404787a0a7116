// Package adopt turns procedures that people have into workflows, without a model: Agent
// Skills and other pages in Markdown, jobs of GitHub Actions, flowcharts in Mermaid and DOT.
// The same document gives the same workflow. It does no I/O.
//
// Nothing is lost without a word: every heading, list item, table row, sentence, code block,
// node and edge of the document is a unit of the report, with what became of it.
package adopt

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"

	"savant/fault"
	"savant/internal/markup"
)

// maxDocument bounds a document, in bytes.
const maxDocument = 1 << 20

// maxSteps is how many steps a workflow has at most.
const maxSteps = 10_000

// The verdicts about a unit of a document.
const (
	Enforced = "enforced" // an assertion, an approval, a schema, an order or a witnessed call holds it
	Asked    = "asked"    // its words are part of a task
	LeftOut  = "left out"
)

// Unit is a part of a document, and what became of it.
type Unit struct {
	Line    int    `json:"line"`
	Text    string `json:"text"`
	Verdict string `json:"verdict"`
	// Step is the step that carries it out; empty for none.
	Step string `json:"step,omitempty"`
	Why  string `json:"why"`
}

// Command is a command of the document, for .savant/ci.yaml.
type Command struct {
	Name string   `json:"name"`
	Run  []string `json:"command"`
	Line int      `json:"line"`
}

// Draft is a workflow made of a document.
type Draft struct {
	Name        string
	Description string
	// Kind says how the document was read: skill, page, actions, mermaid or dot.
	Kind     string
	Steps    []*Step
	Units    []Unit
	Commands []Command
	Rules    []Rule
	// Params are the schemas of further parameters in JSON, by name.
	Params map[string]string

	ids, commands, params names
	asked                 []string       // the questions that persons always answer
	answers               map[string]any // to the last of them, for the tasks below
}

// Rule refuses a command that the document forbids.
type Rule struct {
	ID, Command, Message string
}

// Step is a step of the draft.
type Step struct {
	ID, Call string
	// Input is the input template; texts in it are escaped when the draft is written.
	Input map[string]any
	Deps  []string
	// When, Foreach and Join are as in the language; empty for none.
	When, Foreach, Join string
	Schema              map[string]any
	Capture             string
	Witness             string
	// Line and Quote are where the step comes from.
	Line  int
	Quote string

	further []string // what else its task says, while the document is read
}

// The calls of the language that drafts use.
const (
	callGenerate = "llm.generate"
	callAssert   = "flow.assert"
	callApprove  = "human.approve"
	callAsk      = "human.ask"
	callSet      = "flow.set"
	callCommand  = "ci.run"
)

// Read reads a document: INVALID_PARAMS for one that is no procedure, LIMIT_EXCEEDED,
// YAML_SCHEMA_VIOLATION. name is its file's name, by whose ending the kind is chosen; decode
// reads YAML.
func Read(name string, text []byte, decode Decode) (*Draft, error) {
	if len(text) > maxDocument {
		return nil, fault.New(fault.LimitExceeded, "%s has %d bytes; a document to adopt has at most %d", name, len(text), maxDocument)
	}
	if !utf8.Valid(text) {
		return nil, fault.New(fault.InvalidParams, "%s is not UTF-8, so no step could quote it: save it as UTF-8", name)
	}
	d := &Draft{Name: nameOf(name), Params: map[string]string{}, ids: names{}, commands: names{}, params: names{"input": 1}}
	var err error
	switch ending := strings.ToLower(path.Ext(name)); ending {
	case ".md", ".markdown", ".mdx", ".txt":
		err = d.readPage(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	case ".mmd", ".mermaid":
		_, err = d.readMermaid(string(text), 1, "")
	case ".dot", ".gv":
		_, err = d.readDOT(string(text), 1, "")
	case ".yaml", ".yml":
		err = d.readActions(name, text, decode)
	default:
		return nil, fault.New(fault.InvalidParams, "%s: adopt reads .md (skills and procedures), .yml (jobs of GitHub Actions), .mmd and .dot (flowcharts)", name)
	}
	if err == nil && len(d.Steps) == 0 && d.Description != "" {
		d.task(d.Name, d.Description, 0, "")
	}
	if err == nil && len(d.Steps) > maxSteps {
		err = fault.New(fault.LimitExceeded, "%s makes %d steps, and a workflow has at most %d: adopt its parts one by one", name, len(d.Steps), maxSteps)
	}
	if err != nil {
		return nil, err
	}
	d.joinBranches()
	d.quoteLines(string(text))
	if len(d.Steps) == 0 {
		return nil, fault.New(fault.InvalidParams, "%s: no step was found in it: a procedure has lists, sentences, code blocks, jobs or nodes", name)
	}
	return d, nil
}

// maxQuote bounds a quote, in bytes: its beginning is enough to find the words.
const maxQuote = 1000

// maxSought is how far behind its line the quote of a step is looked for, in bytes.
const maxSought = 64 << 10

// quoteLines gives each step whose quote does not stand in the document, as where tags are
// between its words, the line that it comes from, and cuts long quotes.
func (d *Draft) quoteLines(document string) {
	lines := strings.Split(document, "\n")
	var words []byte
	begins := make([]int, len(lines)) // where in the words each line begins
	for i, line := range lines {
		begins[i] = len(words)
		if of := markup.Words(line); of != "" {
			words = append(append(words, of...), ' ')
		}
	}
	for _, each := range d.Steps {
		at := min(max(each.Line, 1), len(lines)) - 1
		end := min(begins[at]+len(each.Quote)+maxSought, len(words))
		if each.Quote != "" && !bytes.Contains(words[begins[at]:end], []byte(markup.Words(each.Quote))) {
			each.Quote = strings.TrimSpace(lines[at])
		}
		each.Quote = strings.ToValidUTF8(each.Quote[:min(len(each.Quote), maxQuote)], "")
	}
}

// nameOf makes a workflow's name of a file's.
func nameOf(file string) string {
	stem := strings.TrimSuffix(path.Base(file), path.Ext(file))
	if strings.EqualFold(stem, "SKILL") || strings.EqualFold(stem, "README") {
		if folder := path.Base(path.Dir(file)); folder != "." && folder != "/" {
			stem = folder
		}
	}
	return identifier(stem, "procedure", 48)
}

// note adds a unit to the report.
func (d *Draft) note(line int, text, verdict, step, why string) {
	d.Units = append(d.Units, Unit{Line: line, Text: text, Verdict: verdict, Step: step, Why: why})
}

// add adds a step, whose id is made unique.
func (d *Draft) add(s *Step) *Step {
	s.ID = d.ids.give(identifier(s.ID, "step", 40))
	d.Steps = append(d.Steps, s)
	return s
}

// names says how many wanted each name, for themselves or as what they got instead.
type names map[string]int

// give returns a name that nobody has: the wanted one, or that with letters behind it, since
// a number could be an item of a loop.
func (n names) give(wanted string) string {
	name := wanted
	for number := n[wanted]; n[name] > 0; number++ {
		name = wanted + "_" + letters(number)
	}
	n[wanted]++
	if name != wanted {
		n[name]++
	}
	return name
}
