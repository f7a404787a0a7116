package git

import (
	"context"
	"os"
	"strings"

	"savant/fault"
	"savant/internal/gitrun"
)

// checkConfiguration reads the repository's own configuration, not the user's. It
// disables the filter programs that git would run, and detects whether git blame would
// quote a file outside the roots.
func (r *repository) checkConfiguration(ctx context.Context, roots []string) error {
	output, err := r.run(ctx, "", "config", "--list", "--show-scope", "--null")
	if err != nil {
		return err
	}
	if output.Cut {
		return fault.New(fault.ToolDenied, "the repository's configuration is too large")
	}
	fields := strings.Split(string(output.Data), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		key, value, _ := strings.Cut(fields[i+1], "\n")
		if fields[i] != "local" && fields[i] != "worktree" {
			continue
		}
		if key == "blame.ignorerevsfile" {
			r.leaks = r.leaks || strings.HasPrefix(value, "~") || outside(roots, absolute(r.top, value))
		}
		if readWhole[key] {
			r.checkNamed(key, value, roots)
		}
		if strings.HasPrefix(key, "remote.") && strings.HasSuffix(key, ".fetch") && strings.Contains(value, ":") && !strings.Contains(value, "*") {
			r.narrow = true
		}
		if err := r.switchOffFilter(key); err != nil {
			return err
		}
	}
	return nil
}

// readWhole are settings that name a file for git to read.
var readWhole = map[string]bool{"core.excludesfile": true, "core.attributesfile": true, "mailmap.file": true}

// checkNamed switches off a setting that names a file, unless it is missing or a regular
// file inside the roots that is not too large for git's memory.
func (r *repository) checkNamed(key, value string, roots []string) {
	path := absolute(r.top, value)
	info, err := os.Stat(path)
	large := err == nil && info.Size() > gitrun.MaxRules
	if large {
		r.oversize = key
	}
	if large || strings.HasPrefix(value, "~") || outside(roots, path) || err == nil && !info.Mode().IsRegular() {
		r.quiet = append(r.quiet, key+"=/dev/null")
	}
}

// switchOffFilter disables a filter program, configured as "filter.NAME.clean".
func (r *repository) switchOffFilter(key string) error {
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
