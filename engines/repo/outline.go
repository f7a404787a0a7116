package repo

import (
	"context"
	"path"
	"regexp"
	"strings"

	"savant/engines/repo/files"
	"savant/fault"
	"savant/internal/pattern"
)

// maxDefinitions bounds an outline, maxSignature one line of it in bytes.
const (
	maxDefinitions = 1000
	maxSignature   = 200
)

type outlineIn struct {
	Path string `json:"path" doc:"the file, relative to the project" example:"main.go"`
	Repo string `json:"repo,omitempty" doc:"a repository of SAVANT_REPOS, as search names it"`
}

type outlineOut struct {
	Path     string `json:"path"`
	Language string `json:"language"`
	// Definitions stand in the order of the file.
	Definitions []definition `json:"definitions"`
	Truncated   bool         `json:"truncated"`
	// Note says where the outline may be inaccurate.
	Note string `json:"note,omitempty"`
}

// definition is one definition in a file. Lines count from 1; EndLine is known only for
// Go.
type definition struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Line      int    `json:"line"`
	EndLine   int    `json:"end_line,omitempty"`
	Signature string `json:"signature"`
}

// shape matches definitions of one kind in a line. The group "name" of its pattern is
// the defined name.
type shape struct {
	kind    string
	pattern func() *regexp.Regexp
}

func shapesOf(pairs ...string) []shape {
	var shapes []shape
	for i := 0; i+1 < len(pairs); i += 2 {
		shapes = append(shapes, shape{pairs[i], pattern.Lazy(pairs[i+1])})
	}
	return shapes
}

// shapes find definitions line by line in conventionally formatted code. They miss
// definitions that begin on an earlier line, and match some in comments; an outline
// need not be exact.
var shapes = map[string][]shape{
	"python": shapesOf(
		"class", `^\s*class\s+(?P<name>\w+)`,
		"function", `^(async\s+)?def\s+(?P<name>\w+)`,
		"method", `^\s+(async\s+)?def\s+(?P<name>\w+)`),
	"javascript": script,
	"typescript": script,
	"rust": shapesOf(
		"function", `^\s*(pub(\([^)]*\))?\s+)?((const|async|unsafe|extern\s+"[^"]*")\s+)*fn\s+(?P<name>\w+)`,
		"struct", `^\s*(pub(\([^)]*\))?\s+)?(struct|union)\s+(?P<name>\w+)`,
		"enum", `^\s*(pub(\([^)]*\))?\s+)?enum\s+(?P<name>\w+)`,
		"trait", `^\s*(pub(\([^)]*\))?\s+)?(unsafe\s+)?trait\s+(?P<name>\w+)`,
		"impl", `^\s*(unsafe\s+)?impl(<[^>]*>)?\s+(?P<name>[^{]*[^{\s])`,
		"module", `^\s*(pub(\([^)]*\))?\s+)?mod\s+(?P<name>\w+)`,
		"type", `^\s*(pub(\([^)]*\))?\s+)?type\s+(?P<name>\w+)`,
		"macro", `^\s*macro_rules!\s*(?P<name>\w+)`),
	"java": shapesOf(
		"class", `^\s*((public|protected|private|static|final|abstract|sealed|non-sealed|strictfp)\s+)*(class|record)\s+(?P<name>\w+)`,
		"interface", `^\s*((public|protected|private|static|abstract|sealed|non-sealed)\s+)*@?interface\s+(?P<name>\w+)`,
		"enum", `^\s*((public|protected|private|static)\s+)*enum\s+(?P<name>\w+)`,
		"method", `^\s+((public|protected|private|static|final|abstract|synchronized|native|default)\s+)+(<[^>]*>\s*)?([\w.<>\[\],? ]+\s+)?(?P<name>\w+)\s*\([^;]*$`,
		"method", `^\s+[\w.<>\[\],?]+(\s+[\w.<>\[\],?]+)*\s+(?P<name>\w+)\s*\([^;"=]*$`),
	"c":   native,
	"cpp": native,
	"ruby": shapesOf(
		"module", `^\s*module\s+(?P<name>[\w:]+)`,
		"class", `^\s*class\s+(?P<name>[A-Z][\w:]*)`,
		"method", `^\s*def\s+(?P<name>[\w.]+[?!=]?)`),
	"make": shapesOf("target", `^(?P<name>[A-Za-z0-9_./%$(){}-][^:=#\t]*?)\s*::?(\s|$)`),
}

var script = shapesOf(
	"class", `^\s*(export\s+)?(default\s+)?(abstract\s+)?class\s+(?P<name>[\w$]+)`,
	"interface", `^\s*(export\s+)?(default\s+)?(declare\s+)?interface\s+(?P<name>[\w$]+)`,
	"enum", `^\s*(export\s+)?(declare\s+)?(const\s+)?enum\s+(?P<name>[\w$]+)`,
	"type", `^\s*(export\s+)?(declare\s+)?type\s+(?P<name>[\w$]+)\s*(<.*>)?\s*=`,
	"function", `^\s*(export\s+)?(default\s+)?(declare\s+)?(async\s+)?function\s*\*?\s*(?P<name>[\w$]+)`,
	"function", `^(export\s+)?(const|let|var)\s+(?P<name>[\w$]+)\s*(:[^=]*)?=\s*(async\s+)?(function\b|\([^)]*\)\s*(:[^=]*)?=>|[\w$]+\s*=>)`,
	"constant", `^export\s+(const|let|var)\s+(?P<name>[\w$]+)`,
	"method", `^\s+((public|private|protected|static|readonly|override|async|get|set)\s+)*\*?\s*(?P<name>#?[\w$]+)\s*(<[^()]*>)?\([^()"';]*\)\s*(:[^={]+)?\{\s*\}?\s*$`)

var native = shapesOf(
	"macro", `^\s*#\s*define\s+(?P<name>\w+)`,
	"namespace", `^\s*(inline\s+)?namespace\s+(?P<name>[\w:]+)`,
	"class", `^\s*(template\s*<.*>\s*)?class\s+(?P<name>\w+)[^;]*$`,
	"struct", `^\s*(typedef\s+)?(struct|union)\s+(?P<name>\w+)\s*(:[^;]*)?\{?\s*$`,
	"enum", `^\s*(typedef\s+)?enum\s+(class\s+|struct\s+)?(?P<name>\w+)\s*(:[^;{]*)?(\{|$)`,
	"function", `^(?P<name>\w+(::~?\w+)+)\s*\([^;]*$`,
	"function", `^[A-Za-z_][\w\s*&:<>,]*?[\s*&](?P<name>~?[A-Za-z_][\w:~]*)\s*\([^;]*$`,
	"function", `^(?P<name>[a-z_]\w*)\s*\([^;"]*$`, // the return type is on the line before
	"type", `^\}\s*(?P<name>\w+)\s*;`)

func (e *reader) outline(ctx context.Context, in outlineIn) (outlineOut, error) {
	from, err := e.repository(in.Repo)
	if err != nil {
		return outlineOut{}, err
	}
	source, err := e.text(ctx, from, in.Path)
	if err != nil {
		return outlineOut{}, err
	}
	out := outlineOut{Path: path.Clean(in.Path), Language: files.Language(in.Path)}
	switch patterns := shapes[out.Language]; {
	case out.Language == "go" && path.Ext(in.Path) == ".go":
		out.Definitions, out.Note = goDefinitions(source)
	case out.Language == "markdown":
		out.Definitions = headings(source)
	case patterns != nil:
		out.Definitions = matchShapes(source, patterns)
	default:
		return outlineOut{}, fault.New(fault.InvalidParams, "path: %s has no outline; context.read reads it", fault.Cut(in.Path, 200)).
			With(fault.Diagnostic{Path: "path", Expected: "Go, Python, JavaScript, TypeScript, Rust, Java, C, C++, Ruby, Markdown or a Makefile", Actual: fault.Cut(in.Path, 200), Message: "no outline for this kind of file"})
	}
	if len(out.Definitions) > maxDefinitions {
		out.Definitions, out.Truncated = out.Definitions[:maxDefinitions], true
	}
	return out, nil
}

// statements match lines that look like a C function but are not one.
var statements = pattern.Lazy(`^\s*(if|else|for|while|switch|return|do|case|catch|throw|new|delete|goto|sizeof|assert|yield)\b`)

func matchShapes(source string, patterns []shape) []definition {
	found := []definition{}
	number := 0
	for line := range strings.Lines(source) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if len(line) > 4*maxSignature || statements().MatchString(line) {
			continue
		}
		for _, each := range patterns {
			match := each.pattern().FindStringSubmatch(line)
			if match == nil {
				continue
			}
			name := strings.TrimSpace(match[each.pattern().SubexpIndex("name")])
			if strings.HasPrefix(name, ".") {
				break // .PHONY and the like
			}
			found = append(found, definition{Name: name, Kind: each.kind, Line: number, Signature: signature(line)})
			break
		}
	}
	return found
}

// signature is a line without indentation and opening brace.
func signature(line string) string {
	line = strings.TrimSpace(line)
	line = strings.TrimSpace(strings.TrimSuffix(line, "{"))
	return fault.Cut(line, maxSignature)
}
