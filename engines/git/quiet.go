package git

import (
	"context"
	"os"
	"strings"

	"savant/fault"
)

// checkConfiguration reads the repository's own configuration, not the user's. It
// switches off the filter programs that git would run, and notes whether git blame
// would quote a file outside the roots.
func (r *repository) checkConfiguration(ctx context.Context, roots []string) error {
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
		if readWhole[key] && (strings.HasPrefix(value, "~") || outside(roots, absolute(r.top, value)) || !regular(absolute(r.top, value))) {
			r.quiet = append(r.quiet, key+"=/dev/null")
		}
		if err := r.switchOffFilter(key); err != nil {
			return err
		}
	}
	return nil
}

// readWhole are settings with the name of a file that git reads. What is outside the
// roots, or is no file, is not read.
var readWhole = map[string]bool{"core.excludesfile": true, "core.attributesfile": true, "mailmap.file": true}

// regular reports whether a file is one, or is not there.
func regular(path string) bool {
	info, err := os.Stat(path)
	return err != nil || info.Mode().IsRegular()
}

// switchOffFilter switches off a program that git would run on some files, as
// "filter.NAME.clean" configures it.
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
