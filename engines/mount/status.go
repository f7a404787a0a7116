package mount

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"savant/engines"
	"savant/fault"
)

// status returns the state of the server without starting it.
func (s *server) status(context.Context) engines.Status {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case s.entry.disabled:
		return engines.Status{State: engines.Disabled, Reason: `"disabled": true in ` + File}
	case s.untrusted != nil:
		return engines.Status{State: engines.Offline, Reason: s.untrusted.Message(), Code: s.untrusted.Code}
	case s.fixed != nil:
		return engines.Status{State: engines.Offline, Reason: s.fixed.Details + place(s.fixed)}
	case s.live == nil && s.starting != nil:
		return engines.Status{State: engines.Idle, Reason: s.notes("it is starting")}
	case s.live == nil && s.failed != nil:
		return engines.Status{State: engines.Offline, Reason: s.reason()}
	case s.live == nil:
		return engines.Status{State: engines.Idle, Reason: s.notes("it starts with its first call")}
	}
	return engines.Status{State: engines.Ready, Reason: s.notes("")}
}

// place returns the position of an error in a file.
func place(err *fault.Error) string {
	if len(err.Diagnostics) == 0 || err.Diagnostics[0].Line == 0 {
		return ""
	}
	at := err.Diagnostics[0]
	return fmt.Sprintf(" (%s:%d:%d)", at.File, at.Line, at.Column)
}

// notes returns what is wrong with the tools, after a first remark.
func (s *server) notes(first string) string {
	var parts []string
	if first != "" {
		parts = append(parts, first)
	}
	for _, group := range []map[string]string{s.changed, s.refused} {
		var lines []string
		for tool, why := range group {
			lines = append(lines, visibleText(fault.Cut(tool, 60))+": "+why)
		}
		slices.Sort(lines)
		parts = append(parts, lines...)
	}
	if len(s.changed) > 0 {
		parts = append(parts, "review it with: savant engines approve "+s.entry.name)
	}
	return strings.Join(parts, "; ")
}
