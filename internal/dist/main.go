// Command dist builds what people install: binaries, archives, Debian and RPM
// packages, MCP bundles, a plugin, a Gemini CLI extension and npm packages, with
// checksums, an SBOM for each binary, and the files that a release publishes.
// The same commit gives the same bytes: each time in a package is the commit's.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	source := flag.String("source", ".", "the folder of Savant's sources")
	out := flag.String("out", "dist", "the folder to write; its contents are replaced")
	version := flag.String("version", "", "the version, vMAJOR.MINOR.PATCH; default: from git")
	owner := flag.String("owner", "OWNER", "the owner of the public repository, in addresses of downloads")
	only := flag.String("targets", "", "build these only, such as linux/amd64,windows/arm64")
	vsix := flag.String("vsix", "", "pack only the extension of VS Code, into this file; npm ci has to have run in editors/vscode")
	flag.Parse()

	targets, err := targetsOf(*only)
	if err != nil {
		return err
	}
	r := release{Source: *source, Out: *out, Owner: *owner, Targets: targets}
	if r.Time, err = commitTime(ctx, *source); err != nil {
		return err
	}
	if r.Version, err = versionOf(ctx, *source, *version); err != nil {
		return err
	}
	if *vsix != "" {
		return r.vsix(*vsix)
	}
	return r.make(ctx)
}

// commitTime is SOURCE_DATE_EPOCH, else the time of the commit.
func commitTime(ctx context.Context, source string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		var err error
		if text, err = git(ctx, source, "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, err
		}
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q; it must be seconds since 1970", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// versionOf is the version without its v. A commit without a tag gives a
// pre-release of 0.0.0, because npm, MCP bundles and RPM need a semantic version.
func versionOf(ctx context.Context, source, given string) (string, error) {
	if given == "" {
		if tag, err := git(ctx, source, "describe", "--tags", "--exact-match"); err == nil {
			given = tag
		} else if commit, err := git(ctx, source, "rev-parse", "--short=12", "HEAD"); err == nil {
			given = "0.0.0-dev.g" + commit
		} else {
			return "", err
		}
	}
	version := strings.TrimPrefix(given, "v")
	if !semantic(version) {
		return "", fmt.Errorf("version %q is not MAJOR.MINOR.PATCH, with -PRERELEASE where it is one", given)
	}
	return version, nil
}

func git(ctx context.Context, folder string, arguments ...string) (string, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, "git", append([]string{"-c", "safe.directory=*", "-C", absolute}, arguments...)...)
	text, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s in %s: %w", strings.Join(arguments, " "), folder, err)
	}
	return strings.TrimSpace(string(text)), nil
}
