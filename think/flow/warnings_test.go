package flow_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/think/flow"
)

// YAML reads some texts otherwise than they look, without an error.
func TestTextsThatYAMLReadsOtherwise(t *testing.T) {
	warnings := func(source string) (found []string) {
		workflow, err := flow.Parse("w.yaml", []byte(source), noSchemas(t))
		require.NoError(t, err, source)
		for _, d := range workflow.Warnings() {
			require.Equal(t, "warning", d.Severity)
			found = append(found, fmt.Sprintf("%d:%d %s %s", d.Line, d.Column, d.Path, d.Message))
		}
		return found
	}
	const frame = "name: w\nversion: '1.0'\nparams:\n%s\nsteps:\n  - id: a\n    call: llm.generate\n    input_template:\n      task: x\n%s\n"
	input := func(lines string) string { return fmt.Sprintf(frame, "  p: {}", lines) }
	for lines, want := range map[string][]string{
		"      t: Fix issue #12 and close it":    {`10:20 steps[0].input_template.t YAML takes "#12 and close it" for a comment and leaves "Fix issue": put the text in quotes, or a space after the #`},
		"      channel: #ops":                    {`10:16 steps[0].input_template.channel YAML takes "#ops" for a comment and leaves null: put the text in quotes, or a space after the #`},
		"      t: [a, é,\n        b #c\n      ]": {`11:11 steps[0].input_template.t[2] YAML takes "#c" for a comment and leaves "b": put the text in quotes, or a space after the #`},
		"      t:\n        - #ops\n        - Fix #1": {`11:11 steps[0].input_template.t[0] YAML takes "#ops" for a comment and leaves null: put the text in quotes, or a space after the #`,
			`12:15 steps[0].input_template.t[1] YAML takes "#1" for a comment and leaves "Fix": put the text in quotes, or a space after the #`},
		"      t: one\n        two\n\n        three #four": {`13:15 steps[0].input_template.t YAML takes "#four" for a comment and leaves "one two\nthree": put the text in quotes, or a space after the #`},
		"      t: v\t#x":        {`10:12 steps[0].input_template.t YAML takes "#x" for a comment and leaves "v": put the text in quotes, or a space after the #`},
		"    rationale: see #7": {`10:20 steps[0].rationale YAML takes "#7" for a comment and leaves "see": put the text in quotes, or a space after the #`},
		"      t: text # a note\n      n: # a note\n      q: \"a #b\"\n      r: 'a' #b\n      s: a#b\n      u: a ## b\n      v: a #\n      w: a #------\n      #x: y\n      l: |\n        a #b\n      f: >\n        a #b\n      g: a #=== b ===\n      h: a ### b\n      z: 5 # five": nil,
		"      t: {x: say hi, to me}":         {`10:22 steps[0].input_template.t YAML takes "to me" behind the comma for a key and leaves "say hi": put the text in quotes`},
		"      t: {x: a,\n        b\n      }": {`11:9 steps[0].input_template.t YAML takes "b" behind the comma for a key and leaves "a": put the text in quotes`},
		"      t: {x: a, b: , \"c\": , d : }\n      u: {x: 'a, b', y: {z: \"c\", w: 1}, v}": nil,
		"      t: 5 #12":                  {`10:12 steps[0].input_template.t YAML takes "#12" for a comment and leaves 5: put the text in quotes, or a space after the #`},
		"      t: true #1":                {`10:15 steps[0].input_template.t YAML takes "#1" for a comment and leaves true: put the text in quotes, or a space after the #`},
		"      t: ~ #1":                   {`10:12 steps[0].input_template.t YAML takes "#1" for a comment and leaves null: put the text in quotes, or a space after the #`},
		"      t: [1.5 #x\n ]":            {`10:15 steps[0].input_template.t[0] YAML takes "#x" for a comment and leaves 1.5: put the text in quotes, or a space after the #`},
		`      t: "see C:\new or D:\tmp"`: {`10:15 steps[0].input_template.t YAML takes \n in "C:\\new" for a control character: put a path in single quotes, or write \\ for each backslash`},
		`      t: [é, ".\build\x20"]`:     {`10:15 steps[0].input_template.t[1] YAML takes \b in ".\\build" for a control character: put a path in single quotes, or write \\ for each backslash`},
		`      t: "C:\\Users\name"`:       {`10:11 steps[0].input_template.t YAML takes \n in "C:\\\\Users\\name" for a control character: put a path in single quotes, or write \\ for each backslash`},
		`      t: ["C:\\new", 'C:\new', C:\new, "Note:\nnext", "a\tb", "wait...\nthen", "B:\nThis", "{{ split(params.p, \"\\n\") }}", "--\nlast"]`: nil,
		"      t: x ##12": {`10:12 steps[0].input_template.t YAML takes "##12" for a comment and leaves "x": put the text in quotes, or a space after the #`},
		"      t: x #!y":  {`10:12 steps[0].input_template.t YAML takes "#!y" for a comment and leaves "x": put the text in quotes, or a space after the #`},
		"      t: x #-1":  {`10:12 steps[0].input_template.t YAML takes "#-1" for a comment and leaves "x": put the text in quotes, or a space after the #`},
		"      t: #12\n        and more #3": {`10:10 steps[0].input_template.t YAML takes "#12" for a comment and leaves "and more": put the text in quotes, or a space after the #`,
			`11:18 steps[0].input_template.t YAML takes "#3" for a comment and leaves "and more": put the text in quotes, or a space after the #`},
		"      t: # a note\n        and more": nil,
		"      v: 3.10":                       {`10:10 steps[0].input_template.v 3.10 is a number here and becomes 3.1: put it in quotes if it is a text`},
		"      v: [0644, {x: 02142}]":         {`10:11 steps[0].input_template.v[0] 0644 is a number here and becomes 420: put it in quotes if it is a text`, `10:21 steps[0].input_template.v[1].x 02142 is a number here and becomes 1122: put it in quotes if it is a text`},
		"      v: 1234e5":                     {`10:10 steps[0].input_template.v 1234e5 is a number here and becomes 123400000: put it in quotes if it is a text`},
		"      v: +4915123456":                {`10:10 steps[0].input_template.v +4915123456 is a number here and becomes 4915123456: put it in quotes if it is a text`},
		"      v: 08":                         {`10:10 steps[0].input_template.v 08 is a number here and becomes 8: put it in quotes if it is a text`},
		"      v: 00.0":                       {`10:10 steps[0].input_template.v 00.0 is a number here and becomes 0: put it in quotes if it is a text`},
		"      v: 1.00":                       {`10:10 steps[0].input_template.v 1.00 is a number here and becomes 1: put it in quotes if it is a text`},
		"      v: 0.12345678901234567890":     {`10:10 steps[0].input_template.v 0.12345678901234567890 is a number here and becomes 0.12345678901234568: put it in quotes if it is a text`},
		"      v: [0x1F, 0o17, 1_000, 1e3, 0.5, 1.0, -2.0, 3.14, 10, -7, 0, 0.0, .5, 1.5E-7, 12345678901234567890123, \"3.10\", '0644', 1.2.3, 2024-01-01, 12:30]": nil,
		"    timeout: 30s\n    retry: {max: 05}": nil,
		"    foreach: [3.10, 2]":                 {`10:15 steps[0].foreach[0] 3.10 is a number here and becomes 3.1: put it in quotes if it is a text`},
		"    success_schema: {properties: {v: {enum: [3.10]}, default: {type: number, const: 3.10}}}": {`10:46 steps[0].success_schema.properties.v.enum[0] 3.10 is a number here and becomes 3.1: put it in quotes if it is a text`},
		"outputs: {v: 3.10}": {`10:14 outputs.v 3.10 is a number here and becomes 3.1: put it in quotes if it is a text`},
	} {
		require.Equal(t, want, warnings(input(lines)), lines)
	}
	for lines, where := range map[string]string{
		"      t: Fix issue #12\n        and close it": "w.yaml:10:20:", "      t: Fix the\n        issue #12\n        and more": "w.yaml:11:15:",
	} {
		_, err := flow.Parse("w.yaml", []byte(input(lines)), noSchemas(t))
		require.ErrorContains(t, err, where, lines)
		require.ErrorContains(t, err, "quote a value that contains ` #`: a comment begins there", lines)
	}
	_, err := flow.Parse("w.yaml", []byte(input("      t: a # note\n        b: 1")), noSchemas(t))
	require.ErrorContains(t, err, "w.yaml:")
	require.NotContains(t, err.Error(), "a comment begins there")
	for params, want := range map[string][]string{
		"  v: {default: 3.10}":                                    {`4:16 params.v.default 3.10 is a number here and becomes 3.1: put it in quotes if it is a text`},
		"  v: {enum: [3.9, 3.10], examples: [007]}":               {`4:19 params.v.enum[1] 3.10 is a number here and becomes 3.1: put it in quotes if it is a text`, `4:37 params.v.examples[0] 007 is a number here and becomes 7: put it in quotes if it is a text`},
		"  v: {type: number, default: 0.10, minimum: 0.00}":       nil,
		"  v: {type: object, properties: {x: {default: 1234e5}}}": {`4:47 params.v.properties.x.default 1234e5 is a number here and becomes 123400000: put it in quotes if it is a text`},
	} {
		require.Equal(t, want, warnings(fmt.Sprintf(frame, params, "")), params)
	}
}
