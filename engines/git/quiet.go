package git

import (
	"context"
	"strings"

	"savant/fault"
)

// quieten reads the repository's own configuration, not the user's, for what
// git would run or quote because of it.
func (r *repository) quieten(ctx context.Context, roots []string) error {
	listed, err := r.run(ctx, "", "config", "--list", "--show-scope", "--null")
	if err != nil {
		return err
	}
	if listed.Cut {
		return fault.New(fault.ToolDenied, "the repository's configuration is too large")
	}
	fields := strings.Split(string(listed.Data), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		key, value, _ := strings.Cut(fields[i+1], "\n")
		if fields[i] != "local" && fields[i] != "worktree" {
			continue
		}
		if key == "blame.ignorerevsfile" {
			r.leaks = r.leaks || strings.HasPrefix(value, "~") || outside(roots, absolute(r.top, value))
		}
		if err := r.quietenFilter(key); err != nil {
			return err
		}
	}
	return nil
}

// quietenFilter switches off the program that git would run over files of some
// kind: "filter.NAME.clean".
func (r *repository) quietenFilter(key string) error {
	name, isFilter := strings.CutPrefix(key, "filter.")
	last := strings.LastIndexByte(name, '.')
	if !isFilter || last < 0 {
		return nil
	}
	if name = name[:last]; strings.ContainsAny(name, "=\n") {
		return fault.New(fault.ToolDenied, "the repository configures a filter under a name that cannot be switched off")
	}
	for _, off := range []string{"clean=", "smudge=", "process=", "required=false"} {
		r.quiet = append(r.quiet, "filter."+name+"."+off)
	}
	return nil
}
