package packages

import (
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/pattern"
	"savant/internal/visible"
)

// Source is where a package comes from.
type Source struct {
	// Address is a git address, or the path of a folder or an archive.
	Address string
	// Folder is the folder of the package in a repository; empty for its top.
	Folder string
	// Tag is the tag of a repository; empty for a folder and an archive.
	Tag string
}

// archiveEndings end the names of archives; the name of a package is without them.
var archiveEndings = []string{".tar.gz", ".tgz"}

// maxAddress bounds the length of a source.
const maxAddress = 1000

// schemes are the ways to a repository that are taken. Others, such as ext::, run programs,
// and git: and http: send content that anybody on the way can change.
var schemes = []string{"https", "ssh", "file"}

// fileScheme begins the address of a repository on this machine.
const fileScheme = "file://"

// escapedAt is an @ in the tag of a source on this machine.
const escapedAt = "%40"

// Located returns a source on this machine as ParseSource reads it: of several @ in it the tag
// follows the last one behind a folder that exists.
func Located(text string) string {
	for at := strings.LastIndexByte(text, '@'); at > 0; at = strings.LastIndexByte(text[:at], '@') {
		if info, err := os.Stat(strings.TrimPrefix(text[:at], fileScheme)); err == nil && info.IsDir() {
			return text[:at+1] + strings.ReplaceAll(text[at+1:], "@", escapedAt)
		}
	}
	return text
}

// shellAddress is USER@HOST:PATH, as ssh has it.
var shellAddress = pattern.Lazy(`^([A-Za-z0-9_.-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*:[^/].*$`)

// tagName is a tag that git cannot take for an option or an expression.
var tagName = pattern.Lazy(`^[\pL\pN@][\pL\pM\pN@._/+-]{0,127}$`)

// ParseSource reads ADDRESS[//FOLDER][@TAG]: INVALID_PARAMS. The address is a git address,
// the path of a folder, or that of an archive.
func ParseSource(text string) (Source, error) {
	refused := func(why string) (Source, error) {
		return Source{}, fault.New(fault.InvalidParams, "%s: %s; a source is a git address with a tag (https://host/owner/repo@v1.2.0, with //FOLDER before the @ for a folder in it), a folder, or an archive (.tar.gz)",
			visible.Line(fault.Cut(text, 120)), why)
	}
	if text == "" || len(text) > maxAddress || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return refused("this is no source")
	}
	address, tag := cutTag(text)
	tag = strings.ReplaceAll(tag, escapedAt, "@")
	address, folder := cutFolder(address)
	source := Source{Address: address, Folder: folder, Tag: tag}
	program, _, double := strings.Cut(address, "::")
	switch {
	case strings.HasPrefix(address, "-"):
		return refused("an address does not begin with -")
	case double && !strings.Contains(program, "://"): // else it is a host of IPv6
		return refused("addresses that name a program (" + program + "::) are not taken")
	case tag != "" && (!tagName().MatchString(tag) || strings.Contains(tag, "..") || strings.Contains(tag, "//") || strings.HasSuffix(tag, ".lock") || strings.HasSuffix(tag, "/")):
		return refused("this is no tag")
	case folder != "" && (!filepath.IsLocal(filepath.FromSlash(folder)) || path.Clean(folder) != folder || strings.HasPrefix(folder, ".")):
		return refused("the folder behind // is not below the repository")
	}
	if scheme, _, is := strings.Cut(address, "://"); is {
		parsed, err := url.Parse(address)
		switch {
		case err != nil || strings.Trim(parsed.Path, "/") == "":
			return refused("this is no address of a repository")
		case !slices.Contains(schemes, scheme):
			return refused(scheme + ": is not taken, only https, ssh and file")
		case strings.Contains(address, "://-") || strings.HasPrefix(parsed.Host, "-"):
			return refused("neither a user nor a host begins with -")
		case parsed.User != nil && scheme == "https":
			return refused("an address in a file that is shared holds no user or password, since git's own credentials are used")
		case parsed.RawQuery != "" || parsed.Fragment != "":
			return refused("an address of a repository has no ? or #")
		}
	}
	if source.Remote() && tag == "" {
		return refused("a repository needs a tag")
	}
	return source, nil
}

// packageTag is the path of a repository with a tag that names a package, name@1.0.0 or
// @scope/name@1.0.0.
var packageTag = pattern.Lazy(`^(.*?[^/@])@(?:@[^/@]+/)?[^/@\d][^/@]*@v?\d[^/@]*$`)

// cutTag separates the tag: what follows the last @, but behind a host also the name of a
// package before that.
func cutTag(text string) (address, tag string) {
	from := 0
	if scheme, behind, is := strings.Cut(text, "://"); is {
		path := strings.IndexByte(behind, '/')
		if path < 0 {
			return text, "" // scheme://user@host
		}
		from = len(scheme) + len("://") + path
	} else if shellAddress().MatchString(text) && !isDrive(text) {
		from = strings.IndexByte(text, ':')
	}
	at := strings.LastIndexByte(text[from:], '@')
	if from > 0 && !strings.HasPrefix(text, fileScheme) {
		if named := packageTag().FindStringSubmatch(text[from:]); named != nil {
			at = len(named[1])
		}
	}
	if at < 0 {
		return text, ""
	}
	return text[:from+at], text[from+at+1:]
}

// cutFolder separates the folder behind the // that is not the scheme's.
func cutFolder(text string) (address, folder string) {
	from := 0
	if scheme := strings.Index(text, "://"); scheme >= 0 {
		from = scheme + len("://")
		if strings.HasPrefix(text[from:], "/") { // file:///path
			from++
		}
	}
	at := strings.Index(text[from:], "//")
	if at < 0 {
		return text, ""
	}
	return text[:from+at], strings.TrimSuffix(text[from+at+2:], "/")
}

// Remote reports whether the source is a git address with a host, or one by scheme.
func (s Source) Remote() bool {
	return strings.Contains(s.Address, "://") || shellAddress().MatchString(s.Address) && !isDrive(s.Address)
}

// isDrive reports whether a path begins with a drive, as on Windows.
func isDrive(text string) bool { return len(text) > 1 && text[1] == ':' }

// String writes the source as ParseSource reads it.
func (s Source) String() string {
	text := s.Address
	if s.Folder != "" {
		text += "//" + s.Folder
	}
	switch {
	case s.Tag == "":
	case s.Remote() && !strings.HasPrefix(s.Address, fileScheme):
		text += "@" + s.Tag
	default: // a path may have an @, too
		text += "@" + strings.ReplaceAll(s.Tag, "@", escapedAt)
	}
	return text
}

// unsafeInName are the characters that a package's name cannot have.
var unsafeInName = pattern.Lazy(`[^A-Za-z0-9._-]+`)

// Name returns the package's name: OWNER/REPOSITORY, and the folder behind that; of a folder
// or an archive local/NAME.
func (s Source) Name() string {
	trimmed := strings.TrimRight(filepath.ToSlash(s.Address), "/")
	last := strings.TrimSuffix(path.Base(trimmed), ".git")
	for _, ending := range archiveEndings {
		last = strings.TrimSuffix(last, ending)
	}
	last = cleaned(last)
	owner := "local"
	if s.Remote() {
		behind := trimmed
		if _, rest, is := strings.Cut(behind, "://"); is {
			behind = rest
		} else {
			behind = strings.Replace(behind, ":", "/", 1)
		}
		if parent := path.Base(path.Dir(behind)); parent != "." && parent != "/" {
			owner = cleaned(parent)
		}
	}
	name := owner + "/" + last
	if s.Folder != "" {
		name += "/" + cleaned(strings.ReplaceAll(s.Folder, "/", "-"))
	}
	return name
}

// cleaned makes a text one part of a package's name.
func cleaned(text string) string {
	text = strings.Trim(unsafeInName().ReplaceAllString(text, "-"), ".-_")
	if text == "" {
		return "package"
	}
	return text[:min(len(text), 60)]
}
