package files

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// languages are named by the endings of files.
var languages = map[string]string{
	".go": "go", ".mod": "go", ".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript",
	".jsx": "javascript", ".ts": "typescript", ".tsx": "typescript", ".mts": "typescript", ".rs": "rust", ".java": "java",
	".kt": "kotlin", ".kts": "kotlin", ".scala": "scala", ".swift": "swift", ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp",
	".cxx": "cpp", ".hpp": "cpp", ".hh": "cpp", ".cs": "csharp", ".rb": "ruby", ".php": "php", ".pl": "perl", ".pm": "perl",
	".sh": "shell", ".bash": "shell", ".zsh": "shell", ".lua": "lua", ".r": "r", ".ex": "elixir", ".exs": "elixir", ".erl": "erlang",
	".hs": "haskell", ".ml": "ocaml", ".clj": "clojure", ".dart": "dart", ".zig": "zig", ".s": "assembly", ".asm": "assembly",
	".sql": "sql", ".proto": "protobuf", ".graphql": "graphql", ".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".rst": "rst",
	".txt": "text", ".html": "html", ".css": "css", ".scss": "css", ".json": "json", ".yaml": "yaml", ".yml": "yaml",
	".toml": "toml", ".xml": "xml", ".ini": "ini", ".tf": "terraform", ".vue": "vue", ".svelte": "svelte",
}

// namedFiles have a language without an ending.
var namedFiles = map[string]string{"makefile": "make", "dockerfile": "docker", "rakefile": "ruby", "gemfile": "ruby", "jenkinsfile": "groovy"}

// aliases are other names people use for a language.
var aliases = map[string]string{"golang": "go", "py": "python", "js": "javascript", "ts": "typescript", "rs": "rust", "c++": "cpp",
	"c#": "csharp", "rb": "ruby", "bash": "shell", "sh": "shell", "md": "markdown", "yml": "yaml", "makefile": "make"}

// Language returns the language of a file by its name: "go", "python",
// "markdown"; "" where it is not known.
func Language(name string) string {
	base := strings.ToLower(path.Base(name))
	if named := namedFiles[base]; named != "" {
		return named
	}
	return languages[path.Ext(base)]
}

// written are languages whose names are not just capitalized.
var written = map[string]string{"javascript": "JavaScript", "typescript": "TypeScript", "cpp": "C++", "csharp": "C#", "php": "PHP", "sql": "SQL",
	"html": "HTML", "css": "CSS", "json": "JSON", "yaml": "YAML", "toml": "TOML", "xml": "XML", "ini": "INI", "protobuf": "Protocol Buffers",
	"graphql": "GraphQL", "rst": "reStructuredText"}

// LanguageName returns the language of a file as people write it: "Go", "C++";
// "" if it is not known.
func LanguageName(name string) string {
	language := Language(name)
	if language == "" {
		return ""
	}
	if title := written[language]; title != "" {
		return title
	}
	return strings.ToUpper(language[:1]) + language[1:]
}

// Languages are the names that files can have, sorted.
func Languages() []string {
	known := slices.Concat(slices.Collect(maps.Values(languages)), slices.Collect(maps.Values(namedFiles)))
	slices.Sort(known)
	return slices.Compact(known)
}

// CanonicalLanguage returns the one name of a language that is spelt somehow.
func CanonicalLanguage(language string) string {
	language = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(language)), ".")
	if known := aliases[language]; known != "" {
		return known
	}
	if known := languages["."+language]; known != "" {
		return known
	}
	return language
}
