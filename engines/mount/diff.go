package mount

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	linediff "github.com/rogpeppe/go-internal/diff"

	"savant/internal/visible"
)

// visibleText escapes invisible characters line by line, so that different lines look
// different.
func visibleText(text string) string {
	return strings.NewReplacer("\t", `\u{9}`, "\n", `\u{a}`).Replace(visible.Characters(text))
}

// lines formats a definition for people, one member at a time, with texts unescaped.
func lines(definition json.RawMessage) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal(definition, &members) != nil {
		return nil
	}
	var out []string
	for _, name := range pinnedMembers {
		raw, has := members[name]
		if !has {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) != nil {
			var indented bytes.Buffer
			if json.Indent(&indented, raw, "", "  ") == nil {
				text = indented.String()
			}
		}
		out = append(out, name+":")
		for each := range strings.SplitSeq(text, "\n") {
			out = append(out, "  "+each)
		}
	}
	return out
}

// diff returns a diff with a little context; "" if the texts are equal.
func diff(old, now []string) string {
	unified := string(linediff.Diff("", joinQuoted(old), "", joinQuoted(now)))
	_, changes, _ := strings.Cut(unified, "\n@@") // skips the file names
	var out strings.Builder
	for i, line := range strings.Split("@@"+changes, "\n") {
		switch {
		case strings.HasPrefix(line, "@@") && i > 0:
			out.WriteString("  …\n")
		case line != "" && strings.IndexByte(" -+", line[0]) >= 0:
			text, err := strconv.Unquote(line[1:])
			if err != nil {
				text = line[1:]
			}
			fmt.Fprintf(&out, "%c %s\n", line[0], visibleText(text))
		}
	}
	return out.String()
}

// joinQuoted joins lines so that each stays one line, whatever it contains, and different
// lines stay different.
func joinQuoted(lines []string) []byte {
	var out []byte
	for _, each := range lines {
		out = append(strconv.AppendQuote(out, each), '\n')
	}
	return out
}
