package adopt

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
)

// Workflow writes the draft as a workflow's file; document is the path of what it was made
// of, relative to the project, empty where it lies elsewhere.
func (d *Draft) Workflow(document string) []byte {
	var out bytes.Buffer
	from := document
	if from == "" {
		from = "a document outside of this project"
	}
	fmt.Fprintf(&out, "# Made of %s. Each step names the words that it carries out.\n", strings.Join(strings.Fields(from), " "))
	fmt.Fprintf(&out, "name: %s\nversion: \"1.0\"\n", d.Name)
	if d.Description != "" {
		fmt.Fprintf(&out, "description: %s\n", scalar(d.Description))
	}
	out.WriteString("params:\n  input: {type: string, default: \"\", description: What this run is about.}\n")
	for _, name := range slices.Sorted(maps.Keys(d.Params)) {
		fmt.Fprintf(&out, "  %s: %s\n", name, d.Params[name])
	}
	out.WriteString("steps:\n")
	for i, each := range d.Steps {
		each.write(&out, document, i == 0)
	}
	return out.Bytes()
}

// scalar writes a text as YAML has it between double quotes, which JSON is.
func scalar(text string) string { return string(jsonvalue.Encoded(text)) }

// keys writes the keys of a step that have a value.
func keys(out *bytes.Buffer, pairs ...[]string) {
	for _, each := range pairs {
		if each[1] != "" {
			fmt.Fprintf(out, "    %s: %s\n", each[0], each[1])
		}
	}
}

// literal escapes a text, so that no part of it is a template.
func literal(text string) string {
	return strings.NewReplacer("${{", `{{ "${{" }}`, "{{", `{{ "{{" }}`, "${", `{{ "${" }}`).Replace(text)
}

func (s *Step) write(out *bytes.Buffer, document string, first bool) {
	fmt.Fprintf(out, "  - id: %s\n    call: %s\n", s.ID, s.Call)
	deps, when := "", ""
	if len(s.Deps) > 0 {
		deps = "[" + strings.Join(s.Deps, ", ") + "]"
	}
	if s.When != "" {
		when = scalar(s.When)
	}
	keys(out, []string{"foreach", s.Foreach}, []string{"deps", deps}, []string{"join", s.Join}, []string{"when", when})
	out.WriteString("    input_template:\n")
	for _, key := range []string{"task", "section", "answers", "inputs", "message", "schema", "that", "name", "value"} {
		text, is := s.Input[key].(string)
		switch {
		case s.Input[key] == nil:
		case !is:
			fmt.Fprintf(out, "      %s: %s\n", key, jsonvalue.Encoded(s.Input[key]))
		case key == "that": // an expression
			fmt.Fprintf(out, "      %s: %s\n", key, scalar(text))
		default:
			fmt.Fprintf(out, "      %s: %s\n", key, scalar(literal(text)))
		}
	}
	if first && s.Call == callGenerate {
		out.WriteString("      input: \"{{ params.input }}\"\n")
	}
	if s.Foreach != "" && s.Call == callGenerate {
		out.WriteString("      for: \"{{ item }}\"\n")
	}
	schema := ""
	if s.Schema != nil {
		schema = string(jsonvalue.Encoded(s.Schema))
	}
	keys(out, []string{"success_schema", schema}, []string{"capture_as", s.Capture}, []string{"witness", s.Witness})
	if document != "" && s.Quote != "" {
		fmt.Fprintf(out, "    source: {file: %s, line: %d, quote: %s}\n", scalar(document), s.Line, scalar(s.Quote))
	}
}

// shellTools are the names by which clients call a shell.
const shellTools = "[Bash, shell, local_shell, run_shell_command, run_in_terminal, execute_command, execute_bash]"

// RuleFile writes the rules of the draft; nil where it has none.
func (d *Draft) RuleFile() []byte {
	if len(d.Rules) == 0 {
		return nil
	}
	out := bytes.NewBufferString("# What the document of the workflow " + d.Name + " forbids to call.\nrules:\n")
	for _, each := range d.Rules {
		fmt.Fprintf(out, "  - id: %s\n    before: %s\n    when: %s\n    deny: true\n    message: %s\n", each.ID, shellTools,
			scalar("string(input?.command ?? '') contains "+quoted(each.Command)), scalar(literal(each.Message)))
	}
	return out.Bytes()
}

// CommandFile writes commands as entries of .savant/ci.yaml.
func CommandFile(commands []Command) []byte {
	var out bytes.Buffer
	for _, each := range commands {
		fmt.Fprintf(&out, "  %s: {command: %s}\n", each.Name, jsonvalue.Encoded(each.Run))
	}
	return out.Bytes()
}
