package cli

import (
	"fmt"
	"slices"

	"savant/cmd/savant/terminal"
	"savant/fault"
)

// The formats in which findings are printed.
const (
	formatText = "text"
	formatJSON = "json"
)

// FindingsFormat reads --format together with --json, which asks for json.
func (p *Program) FindingsFormat(given string) (format string, err error) {
	if format = given; p.JSON && format == formatText {
		format = formatJSON
	}
	if err := Choice("--format", format, formatText, formatJSON, "sarif", "github"); err != nil {
		return format, err
	}
	if p.JSON && format != formatJSON {
		return format, UsageError("--format " + format + ": expected json beside --json, which is the same")
	}
	p.JSON = format == formatJSON
	return format, nil
}

// Findings prints diagnostics: as text they end with a summary, as JSON they are in out. An
// error among them is ExitInvalid.
func (p *Program) Findings(format string, found []fault.Diagnostic, out any, summary string) (err error) {
	switch format {
	case formatJSON:
		err = p.Print(out)
	case "sarif":
		err = terminal.SARIF(p.Stdout, p.World.Version, found)
	case "github":
		terminal.GitHub(p.Stdout, found)
	default:
		for _, each := range found {
			fmt.Fprintln(p.Stdout, terminal.DiagnosticLine(each, each.Code))
			if quoted := terminal.SourceLine(each); quoted != "" {
				fmt.Fprintln(p.Stdout, quoted)
			}
		}
		fmt.Fprintln(p.Stdout, summary)
	}
	if err == nil && slices.ContainsFunc(found, func(d fault.Diagnostic) bool { return d.Severity == "" }) {
		return StatusError(ExitInvalid)
	}
	return err
}
