package packages

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"savant/fault"
	"savant/internal/gitrun"
	"savant/internal/pattern"
	"savant/internal/regular"
	"savant/internal/visible"
)

// Fetched is what a source has.
type Fetched struct {
	Content Content
	// Commit is the commit of the tag; empty for a folder or an archive.
	Commit string
	// Signed says what git found about the signature of the tag; empty: it has none.
	Signed string
	// LeftOut are files of the source that a package does not have, at most maxLeftOut.
	LeftOut []string
}

// maxLeftOut bounds the files that are named as left out.
const maxLeftOut = 50

// leave notes a file that is left out.
func (f *Fetched) leave(name string) {
	if len(f.LeftOut) < maxLeftOut {
		f.LeftOut = append(f.LeftOut, name)
	}
}

// take adds a file, or refuses it: in the folders of a package there are only files.
func (f *Fetched) take(source Source, name string, mode fs.FileMode, size int64) (taken bool, err error) {
	switch {
	case mode&fs.ModeSymlink != 0 && !strings.Contains(name, "/") && belowPackage(name):
		return false, fault.New(fault.ToolDenied, "%s: %s is a link, and a package has only folders and files", source, name)
	case !IsPackageFile(name):
		f.leave(name)
		return false, nil
	case !mode.IsRegular():
		return false, fault.New(fault.ToolDenied, "%s: %s is a link or no file, and a package has only files", source, name)
	case size > maxFile:
		return false, fault.New(fault.LimitExceeded, "%s: %s has %d bytes, and a file of a package has at most %d", source, name, size, maxFile)
	case len(f.Content) == maxFiles:
		return false, fault.New(fault.LimitExceeded, "%s: a package has at most %d files", source, maxFiles)
	}
	return true, nil
}

// Fetcher reads sources.
type Fetcher struct {
	// Base is the folder that local sources are relative to, Scratch an empty folder in
	// which repositories are fetched.
	Base, Scratch string
	// Environment has the variables by which git reaches hosts, as NAME=value.
	Environment []string
}

// Fetch reads what a source has now. Errors are TOOL_FAILED where the source cannot be read,
// TOOL_DENIED for a link in it, LIMIT_EXCEEDED and INVALID_PARAMS.
func (f Fetcher) Fetch(ctx context.Context, source Source) (Fetched, error) {
	var found Fetched
	var err error
	switch {
	case source.Remote() || source.Tag != "":
		found, err = f.repository(ctx, source)
	case f.isFile(source): // whatever its name ends with
		found, err = readArchive(source, f.address(source))
	default:
		found, err = readFolder(source, filepath.Join(f.address(source), filepath.FromSlash(source.Folder)))
	}
	if err == nil {
		err = found.Content.check(source)
	}
	return found, err
}

// address is that of a source: of a local one the absolute path.
func (f Fetcher) address(source Source) string {
	if source.Remote() || filepath.IsAbs(source.Address) {
		return source.Address
	}
	return filepath.Join(f.Base, filepath.FromSlash(source.Address))
}

// isFile reports whether a local source is a file, and so an archive.
func (f Fetcher) isFile(source Source) bool {
	info, err := os.Stat(f.address(source))
	return err == nil && !info.IsDir()
}

// readFolder reads a folder on this machine. Links are not followed.
func readFolder(source Source, folder string) (Fetched, error) {
	found := Fetched{Content: Content{}}
	root, err := regular.OpenFolder(folder)
	if err != nil {
		return found, notRead(source, err)
	}
	defer func() { _ = root.Close() }() // only read
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || !belowPackage(name)):
			found.leave(name + "/")
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if taken, err := found.take(source, name, info.Mode(), info.Size()); err != nil || !taken {
			return err
		}
		found.Content[name], err = regular.ReadFile(root, name, maxFile)
		return err
	})
	return found, notRead(source, err)
}

// belowPackage reports whether a folder is one of a package, or below one.
func belowPackage(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains([]string{workflowFolder, schemaFolder, ruleFolder, promptFolder}, top) && name != Vendor
}

// notRead is TOOL_FAILED for a source, with the cause; a coded cause stays.
func notRead(source Source, cause error) error {
	if _, coded := errors.AsType[*fault.Error](cause); coded || cause == nil {
		return cause
	}
	var complaint *gitrun.Complaint
	if errors.As(cause, &complaint) {
		cause = &gitrun.Complaint{Text: ownWords(complaint.Text)}
	}
	return fault.New(fault.ToolFailed, "%s cannot be read: %w", source, cause)
}

// ownWords are what git itself says: a server could say anything, also the password that it
// was sent, and git's settings can have one in an address.
func ownWords(complaint string) string {
	var own []string
	for line := range strings.Lines(complaint) {
		if !strings.HasPrefix(line, "remote:") {
			own = append(own, userInfo().ReplaceAllString(strings.TrimSpace(line), "://"))
		}
	}
	return strings.Join(own, "\n")
}

// userInfo is the user and the password of an address.
var userInfo = pattern.Lazy(`://[^/@\s']*@`)

// The bounds of fetching a repository.
const (
	fetchTime  = 3 * time.Minute
	maxFetched = 256 << 20
	pollTime   = 200 * time.Millisecond
	maxListing = 16 << 20
)

// hostVariables are those by which a person tells git how hosts are reached.
var hostVariables = []string{"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "GNUPGHOME"}

// repository fetches one tag of a repository and reads its files, without a checkout: no
// hook, no filter and no submodule is used.
func (f Fetcher) repository(ctx context.Context, source Source) (Fetched, error) {
	found := Fetched{Content: Content{}}
	folder, err := os.MkdirTemp(f.Scratch, "fetch-")
	if err != nil {
		return found, notRead(source, err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // what is left there is ignored
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	git := f.git(folder)
	tag := "refs/tags/" + source.Tag
	stop := watchSize(ctx, folder, cancel)
	for _, format := range []string{"sha1", "sha256"} {
		if _, err := gitrun.Run(ctx, gitrun.Command{Folder: f.Scratch, Project: f.Base, Limit: maxListing, Args: []string{"init", "--quiet", "--bare", "--template=", "--object-format=" + format, folder}}); err != nil {
			return found, notRead(source, err)
		}
		if _, err = git(ctx, "", "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", f.address(source), "+"+tag+":"+tag); err == nil || !strings.Contains(err.Error(), "mismatched algorithms") {
			break
		}
		_ = os.RemoveAll(folder) // git init says what is left
	}
	if tooLarge := stop(); tooLarge {
		return found, fault.New(fault.LimitExceeded, "%s: the repository has more than %d MB in its tag", source, maxFetched>>20)
	}
	if err != nil && strings.Contains(err.Error(), "couldn't find remote ref") {
		return found, fault.New(fault.ToolFailed, "%s cannot be read: the repository has no tag %s; a package is taken by a tag, not by a branch or a commit", source, source.Tag)
	}
	if err != nil {
		return found, notRead(source, err)
	}
	commit, err := git(ctx, "", "rev-parse", "--verify", "--quiet", tag+"^{commit}")
	if err != nil {
		return found, notRead(source, err)
	}
	found.Commit = strings.TrimSpace(string(commit.Data))
	if found.Signed, err = signatureOf(ctx, git, source, tag); err != nil {
		return found, err
	}
	return found, f.readTree(ctx, git, source, &found)
}

// gitCall runs git on the fetched repository and returns its output.
type gitCall func(ctx context.Context, input string, args ...string) (gitrun.Output, error)

func (f Fetcher) git(folder string) gitCall {
	// Where the folder lies in a repository, that one's settings are not read.
	variables := []string{"GIT_ALLOW_PROTOCOL=" + strings.Join(schemes, ":"), "GIT_CEILING_DIRECTORIES=" + filepath.Dir(f.Scratch)}
	for _, each := range f.Environment {
		name, _, _ := strings.Cut(each, "=")
		if slices.Contains(hostVariables, name) {
			variables = append(variables, each)
		}
	}
	return func(ctx context.Context, input string, args ...string) (gitrun.Output, error) {
		out, err := gitrun.Run(ctx, gitrun.Command{Folder: f.Scratch, Project: f.Base, Variables: variables, Input: input, Limit: maxListing,
			Settings: []string{"protocol.allow=user", "transfer.fsckObjects=true"}, Args: append([]string{"--git-dir=" + folder}, args...)})
		if err == nil && out.Cut {
			err = fault.New(fault.LimitExceeded, "git %s gave more than %d MB", args[0], maxListing>>20)
		}
		return out, err
	}
}

// watchSize cancels the context when a folder becomes larger than a fetch may be; stop ends
// the watch and reports whether it did.
func watchSize(ctx context.Context, folder string, cancel context.CancelFunc) (stop func() bool) {
	var tooLarge atomic.Bool
	ctx, end := context.WithCancel(ctx)
	go func() {
		for sleep := time.Tick(pollTime); ; {
			select {
			case <-ctx.Done():
				return
			case <-sleep:
				if sizeOf(folder) > maxFetched {
					tooLarge.Store(true)
					cancel()
				}
			}
		}
	}()
	return func() bool { end(); return tooLarge.Load() }
}

// sizeOf returns how many bytes the files of a folder have.
func sizeOf(folder string) (size int64) {
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil {
			if info, err := entry.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil // files of git come and go
	})
	return size
}

// signatureOf says what git finds about the signature of a tag, in git's words. A tag that
// was signed under another name is TOOL_DENIED: git verifies the object, not what it is called.
func signatureOf(ctx context.Context, git gitCall, source Source, tag string) (string, error) {
	object, err := git(ctx, "", "cat-file", "tag", tag)
	head, message, _ := strings.Cut(string(object.Data), "\n\n")
	if err != nil || !strings.Contains("\n"+message, "\n-----BEGIN ") {
		return "", nil // a tag without an object of its own, or without a signature
	}
	if !strings.Contains(head+"\n", "\ntag "+source.Tag+"\n") {
		return "", fault.New(fault.ToolDenied, "%s: this tag was signed under another name, so its signature says nothing about %s: ask its owner", source, source.Tag)
	}
	verified, err := git(ctx, "", "verify-tag", tag)
	if err != nil {
		lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
		return "signed, and git cannot verify it here: " + remark(lines[len(lines)-1]), nil
	}
	for line := range strings.Lines(verified.Remarks) {
		if strings.Contains(line, "Good") {
			return "signed, verified by git: " + remark(line), nil
		}
	}
	return "signed, verified by git", nil
}

func remark(line string) string { return fault.Cut(visible.Line(strings.TrimSpace(line)), 200) }

// readTree reads the files of the package from the fetched commit.
func (f Fetcher) readTree(ctx context.Context, git gitCall, source Source, found *Fetched) error {
	listing, err := git(ctx, "", "ls-tree", "-r", "-z", "-l", "--full-tree", found.Commit+":"+source.Folder)
	if err != nil {
		return notRead(source, err)
	}
	var names, objects []string
	for record := range strings.SplitSeq(strings.TrimSuffix(string(listing.Data), "\x00"), "\x00") {
		head, name, _ := strings.Cut(record, "\t")
		fields := strings.Fields(head) // mode, type, object, size
		if len(fields) != 4 {
			continue
		}
		mode := fs.ModeIrregular // a submodule
		switch fields[0] {
		case "100644", "100755":
			mode = 0
		case "120000":
			mode = fs.ModeSymlink
		}
		size, _ := strconv.ParseInt(fields[3], 10, 64) // - for a submodule
		taken, err := found.take(source, name, mode, size)
		if err != nil {
			return err
		}
		if taken {
			names, objects = append(names, name), append(objects, fields[2])
			found.Content[name] = nil
		}
	}
	return readObjects(ctx, git, source, names, objects, found.Content)
}

// readObjects reads the content of objects, in the order of their names.
func readObjects(ctx context.Context, git gitCall, source Source, names, objects []string, into Content) error {
	if len(names) == 0 {
		return nil
	}
	batch, err := git(ctx, strings.Join(objects, "\n")+"\n", "cat-file", "--batch")
	if err != nil {
		return notRead(source, err)
	}
	rest := string(batch.Data)
	for _, name := range names {
		head, behind, _ := strings.Cut(rest, "\n")
		fields := strings.Fields(head) // object, type, size
		if len(fields) != 3 {
			return fault.New(fault.ToolFailed, "%s: git does not give %s", source, path.Clean(name))
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil || size < 0 || size+1 > len(behind) {
			return fault.New(fault.ToolFailed, "%s: git does not give %s whole", source, path.Clean(name))
		}
		into[name], rest = []byte(behind[:size]), behind[size+1:]
	}
	return nil
}

// Tags returns the tags of a repository: TOOL_FAILED.
func (f Fetcher) Tags(ctx context.Context, source Source) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	listing, err := f.git(filepath.Join(f.Scratch, "none"))(ctx, "", "ls-remote", "--tags", "--refs", "--quiet", "--", f.address(source))
	if err != nil {
		return nil, notRead(source, err)
	}
	var tags []string
	for line := range strings.Lines(string(listing.Data)) {
		if _, reference, is := strings.Cut(strings.TrimSpace(line), "\trefs/tags/"); is && tagName().MatchString(reference) {
			tags = append(tags, reference)
		}
	}
	return tags, nil
}
