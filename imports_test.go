package savant_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rule says what a package may import: the packages that it names, which must have a
// lower height, and the foundations below it.
type rule struct {
	height  int
	imports []string
}

// TestNoPatternIsCompiledAtTheStart checks that regular expressions are compiled when
// first used. Compiling all of them would take a tenth of the program's start.
func TestNoPatternIsCompiledAtTheStart(t *testing.T) {
	require.NoError(t, fs.WalkDir(os.DirFS("."), ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := os.ReadFile(file)
		require.NotRegexp(t, `(?m)^(var |\t)\w+\s*= regexp\.MustCompile`, string(source), "%s: use internal/pattern", file)
		return err
	}))
}

// top is above every other height.
const top = 99

// foundations may be imported without being named in a rule.
var foundations = []string{"fault", "internal/jsonvalue", "internal/pattern", "internal/receipt", "internal/redact", "internal/regular", "internal/fields", "internal/visible"}

// rules are the packages of docs/architecture.md, by folder. Every package needs a row.
// Change a row only if the design changes, not to make a build pass.
var rules = map[string]rule{
	".":                             {height: 7, imports: []string{"agent", "engines", "think", "think/state"}},
	"cmd/savant":                    {height: top, imports: []string{"cmd/savant/commands"}},
	"cmd/manual":                    {height: top, imports: []string{"cmd/savant/commands", "internal/settings"}},
	"cmd/savant/commands":           {height: top - 1, imports: []string{"*"}},
	"cmd/savant/commands/agents":    {height: top - 2, imports: []string{"*"}},
	"cmd/savant/commands/clients":   {height: top - 3, imports: []string{"*"}},
	"cmd/savant/commands/remote":    {height: top - 3, imports: []string{"*"}},
	"cmd/savant/commands/proofs":    {height: top - 3, imports: []string{"*"}},
	"cmd/savant/commands/workflows": {height: top - 3, imports: []string{"*"}},
	"cmd/savant/commands/states":    {height: top - 3, imports: []string{"*"}},
	"cmd/savant/commands/packages":  {height: top - 3, imports: []string{"*"}},
	"cmd/savant/commands/rules":     {height: top - 3, imports: []string{"*"}},
	"cmd/savant/commands/hooks":     {height: top - 3, imports: []string{"*"}},
	"cmd/savant/cli":                {height: top - 4, imports: []string{"cmd/savant/app", "cmd/savant/terminal", "internal/atomicfile", "internal/settings", "think/maintenance"}},
	"cmd/savant/demo":               {height: top - 2, imports: []string{"cmd/savant/app", "cmd/savant/terminal", "engines", "engines/mcpclient", "internal/gitrun", "internal/settings", "schemas", "think", "think/library"}},
	"cmd/savant/app":                {height: top - 5, imports: []string{"*"}},
	"cmd/savant/terminal":           {height: 1, imports: []string{"internal/sarif"}},

	"fault":                 {height: 0},
	"internal/atomicfile":   {height: 0},
	"internal/eventstream":  {height: 0},
	"internal/httpclient":   {height: 0},
	"internal/jsonvalue":    {height: 0},
	"internal/markup":       {height: 0},
	"internal/pattern":      {height: -1},
	"internal/receipt":      {height: 0},
	"internal/processgroup": {height: 0},
	"internal/filelock":     {height: 1},
	"internal/journal":      {height: 0},
	"internal/regular":      {height: 0},
	"internal/sarif":        {height: 0},
	"internal/visible":      {height: 0},
	"internal/redact":       {height: 1},
	"internal/fields":       {height: 1},
	"internal/claim":        {height: 2, imports: []string{"internal/filelock", "internal/ownfolder"}},
	"internal/gitrun":       {height: 1},
	"internal/ownfolder":    {height: 1, imports: []string{"internal/atomicfile"}},
	"internal/logfile":      {height: 2, imports: []string{"internal/filelock", "internal/ownfolder"}},
	"internal/trust":        {height: 2, imports: []string{"internal/atomicfile", "internal/filelock"}},
	"internal/settings":     {height: 3, imports: []string{"internal/trust"}},
	"internal/webguard":     {height: 1},
	"internal/access":       {height: 2, imports: []string{"internal/atomicfile", "internal/filelock", "internal/httpclient", "internal/webguard"}},
	"internal/withheld":     {height: 1},
	"internal/configedit":   {height: 1},
	"internal/clientsetup":  {height: 4, imports: []string{"internal/atomicfile", "internal/configedit", "internal/ownfolder", "think/gate/clients"}},
	"internal/mongo":        {height: 1},
	"test/mongotest":        {height: 2, imports: []string{"internal/filelock"}},
	"test/golden":           {height: 1},

	"schemas":                {height: 1},
	"internal/calendar":      {height: 0},
	"internal/shell":         {height: 0},
	"think/flow/expression":  {height: 1, imports: []string{"internal/calendar", "internal/shell"}},
	"think/flow":             {height: 2, imports: []string{"internal/markup", "schemas", "think/flow/expression"}},
	"think/state":            {height: 2, imports: []string{"internal/atomicfile", "internal/filelock", "internal/journal", "internal/ownfolder"}},
	"think/state/mongostate": {height: 3, imports: []string{"internal/mongo", "think/state"}},
	"test/statetest":         {height: 3, imports: []string{"think/state"}},
	"think/gate":             {height: 2},
	"think/gate/clients":     {height: 3, imports: []string{"think/gate"}},
	"think/gate/sessions":    {height: 5, imports: []string{"internal/atomicfile", "internal/filelock", "internal/ownfolder", "think", "think/gate", "think/library", "think/state"}},
	"adopt":                  {height: 1, imports: []string{"internal/markup", "internal/shell"}},
	"lsp":                    {height: 8, imports: []string{".", "rules", "rules/sessions", "think", "think/cases", "think/check", "think/flow", "think/flow/expression", "think/library"}},
	"packages":               {height: 2, imports: []string{"internal/atomicfile", "internal/filelock", "internal/gitrun", "internal/ownfolder"}},
	"think/library":          {height: 3, imports: []string{"internal/ownfolder", "schemas", "think/flow"}},
	"think/form":             {height: 1},
	"think/check":            {height: 3, imports: []string{"schemas", "think/flow", "think/flow/expression"}},
	"think":                  {height: 4, imports: []string{"schemas", "think/check", "think/flow", "think/form", "think/gate", "think/library", "think/state"}},
	"rules":                  {height: 5, imports: []string{"think/check", "think/flow", "think/flow/expression"}},
	"rules/sessions":         {height: 6, imports: []string{"engines", "internal/atomicfile", "internal/filelock", "internal/journal", "internal/ownfolder", "rules", "schemas", "think", "think/check", "think/flow", "think/gate", "think/library"}},
	"think/audit":            {height: 5, imports: []string{"think", "think/flow", "think/state"}},
	"think/cases":            {height: 4, imports: []string{"schemas", "think/check", "think/flow", "think/flow/expression"}},
	"proof":                  {height: 7, imports: []string{"proof/keys", "think", "think/audit", "think/flow", "think/library", "think/state"}},
	"proof/keys":             {height: 2, imports: []string{"internal/atomicfile"}},
	"think/maintenance":      {height: 6, imports: []string{"think", "think/audit", "think/state"}},

	"engines":                  {height: 2, imports: []string{"schemas"}},
	"internal/words":           {height: 0},
	"engines/repo/files":       {height: 2, imports: []string{"internal/gitrun", "internal/withheld"}},
	"engines/repo/index":       {height: 3, imports: []string{"engines/repo/files", "internal/filelock", "internal/withheld", "internal/words"}},
	"engines/repo":             {height: 4, imports: []string{"engines", "engines/repo/files", "engines/repo/index", "internal/atomicfile", "internal/filelock", "internal/ownfolder", "internal/withheld", "internal/words"}},
	"engines/git":              {height: 3, imports: []string{"engines", "internal/gitrun", "internal/ownfolder", "internal/withheld"}},
	"engines/ci":               {height: 3, imports: []string{"engines", "internal/processgroup", "internal/trust"}},
	"engines/review":           {height: 3, imports: []string{"engines", "internal/sarif", "internal/words"}},
	"internal/jsonrpc":         {height: 1},
	"engines/mcpio":            {height: 4, imports: []string{"engines", "internal/jsonrpc", "telemetry"}},
	"engines/mcpclient":        {height: 4, imports: []string{"engines", "internal/eventstream", "internal/httpclient", "internal/jsonrpc", "schemas", "telemetry"}},
	"engines/mount":            {height: 5, imports: []string{"engines", "engines/mcpclient", "engines/mcpio", "internal/atomicfile", "internal/filelock", "internal/ownfolder", "internal/processgroup", "internal/trust", "schemas"}},
	"engines/mcpio/streamable": {height: 5, imports: []string{"engines", "engines/mcpio", "internal/access", "internal/jsonrpc", "internal/webguard"}},
	"engines/guide":            {height: 6, imports: []string{"think", "think/audit", "think/flow", "think/library", "think/state", "engines"}},
	"engines/author":           {height: 6, imports: []string{"engines", "think", "think/cases", "think/flow"}},
	"engines/workflow":         {height: 7, imports: []string{"schemas", "think", "think/flow", "engines", "engines/guide"}},

	"reasoning":                  {height: 4, imports: []string{"internal/httpclient", "telemetry"}},
	"internal/jobs":              {height: 4, imports: []string{"internal/mongo"}},
	"reasoning/mongoqueue":       {height: 5, imports: []string{"internal/jobs", "internal/mongo", "reasoning"}},
	"reasoning/models":           {height: 5, imports: []string{"internal/eventstream", "reasoning"}},
	"reasoning/planner":          {height: 5, imports: []string{"internal/words", "reasoning"}},
	"reasoning/service":          {height: 6, imports: []string{"internal/atomicfile", "internal/regular", "internal/webguard", "internal/words", "schemas", "reasoning", "reasoning/models", "reasoning/planner", "think/flow"}},
	"telemetry":                  {height: 3, imports: []string{"internal/logfile", "internal/ownfolder"}},
	"telemetry/otel":             {height: 4, imports: []string{"telemetry"}},
	"agent/memory":               {height: 2, imports: []string{"internal/atomicfile", "internal/filelock", "internal/journal", "internal/ownfolder"}},
	"agent/memory/mongosessions": {height: 5, imports: []string{"agent/memory", "internal/jobs", "internal/mongo"}},
	"agent/fleet":                {height: 6, imports: []string{"agent", "agent/memory", "agent/memory/mongosessions", "internal/jobs", "internal/mongo"}},
	"agent":                      {height: 5, imports: []string{"engines", "reasoning", "agent/memory", "telemetry"}},
	"hub/metrics":                {height: 5, imports: []string{"hub/events", "telemetry"}},
	"hub/events":                 {height: 4, imports: []string{"telemetry"}},
	"hub/graph":                  {height: 1},
	"hub/markdown":               {height: 1, imports: []string{"internal/markup"}},
	"hub/numbers":                {height: 1},
	"hub/notify":                 {height: 1, imports: []string{"internal/httpclient"}},
	"hub":                        {height: 8, imports: []string{"agent", "agent/memory", "engines", "engines/workflow", "hub/events", "hub/graph", "hub/markdown", "hub/metrics", "hub/notify", "hub/numbers", "internal/access", "internal/atomicfile", "internal/webguard", "packages", "rules", "rules/sessions", "telemetry", "think", "think/audit", "think/cases", "think/flow", "think/form", "think/library", "think/maintenance", "think/state"}},
	"test/agenttest":             {height: 6, imports: []string{"agent", "engines", "reasoning", "telemetry"}},
}

// users names the packages that may import a large library, separated by spaces. They
// are few, so that the library can be replaced.
var users = map[string]string{
	"github.com/go-json-experiment/json":    "internal/jsonvalue",
	"github.com/mark3labs/mcp-go":           "engines/mcpio engines/mcpclient",
	"github.com/mark3labs/mcp-go/server":    "", // it compiles the schemas of a second library at each start, its client too
	"github.com/mark3labs/mcp-go/client":    "",
	"github.com/rogpeppe/go-internal/diff":  "engines/mount hub cmd/savant/commands/clients cmd/savant/commands/workflows",
	"gopkg.in/yaml.v3":                      "think/flow",
	"go.yaml.in/yaml":                       "think/flow",
	"github.com/expr-lang/expr":             "think/flow/expression think/check",
	"github.com/santhosh-tekuri/jsonschema": "schemas",
	"github.com/spf13/cobra":                "cmd/manual cmd/savant/cli cmd/savant/commands cmd/savant/commands/agents cmd/savant/commands/clients cmd/savant/commands/hooks cmd/savant/commands/packages cmd/savant/commands/proofs cmd/savant/commands/remote cmd/savant/commands/rules cmd/savant/commands/states cmd/savant/commands/workflows",
	"github.com/yuin/goldmark":              "adopt hub/markdown",
	"gonum.org/v1/gonum":                    "adopt",
	"github.com/lmittmann/tint":             "cmd/savant/app",
	"modernc.org/sqlite":                    "engines/repo/index",
	"go.mongodb.org":                        "internal/mongo test/mongotest",
	"go.opentelemetry.io":                   "telemetry telemetry/otel",
	"github.com/golang-jwt/jwt":             "internal/access",
	"github.com/MicahParks":                 "internal/access",
	"golang.org/x/crypto/ssh":               "proof proof/keys cmd/savant/commands/proofs",
	"github.com/hiddeco/sshsig":             "proof/keys",
	"github.com/secure-systems-lab":         "proof",
	"github.com/digitorus":                  "proof",
}

// testLibraries are for tests, and for packages that contain tests for others.
var (
	testLibraries = []string{"github.com/stretchr/testify", "github.com/rogpeppe/go-internal/testscript", "github.com/rogpeppe/go-internal/txtar", "pgregory.net/rapid", "go.uber.org/goleak", "github.com/anishathalye/porcupine", "testing"}
	testPackages  = []string{"test/statetest", "test/agenttest", "test/golden", "test/mongotest"}
)

// pure packages decide from their arguments alone, so they may not import packages that
// do input or output.
var (
	pure      = []string{"rules", "think/flow", "think/flow/expression"}
	forbidden = []string{"os", "net", "time", "math/rand", "io/fs", "syscall", "runtime", "crypto/rand", "unsafe"}
)

// pureFunctions are the function types of the core, "type or function: field or
// parameter", each with the reason why it does no input or output during a run.
var pureFunctions = map[string]string{
	"references: visit": "the core's own: takes the references of a template one by one",
	"lacks: references": "the core's own: the references of a template or an artifact",
}

// TestTheCoreIsGivenNoFunctions checks the fields and parameters of the core for
// functions. Such a function could do input or output that no import shows.
func TestTheCoreIsGivenNoFunctions(t *testing.T) {
	files := token.NewFileSet()
	found := map[string]bool{}
	names, err := fs.Glob(os.DirFS("think/flow"), "*.go")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(files, "think/flow/"+name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, each := range functionsIn(parsed) {
			found[each] = true
			require.Contains(t, pureFunctions, each, "%s: a function enters the core: return what is needed as data instead", name)
		}
	}
	for each := range pureFunctions {
		require.Contains(t, found, each, "the list has a function that is not there any more")
	}
}

// functionsIn returns the function types of fields and parameters, and named ones.
func functionsIn(parsed *ast.File) (found []string) {
	for _, decl := range parsed.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			found = append(found, functionFields(decl.Name.Name, decl.Type.Params)...)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if named, ok := spec.(*ast.TypeSpec); ok {
					found = append(found, functionsOf(named)...)
				}
			}
		}
	}
	return found
}

func functionsOf(named *ast.TypeSpec) []string {
	switch of := named.Type.(type) {
	case *ast.FuncType:
		return []string{named.Name.Name}
	case *ast.StructType:
		return functionFields(named.Name.Name, of.Fields)
	case *ast.InterfaceType:
		return []string{named.Name.Name} // its methods are functions, too
	}
	return nil
}

func functionFields(of string, fields *ast.FieldList) (found []string) {
	for _, field := range fields.List {
		hasFunction := false
		ast.Inspect(field.Type, func(node ast.Node) bool {
			switch node.(type) {
			case *ast.FuncType, *ast.ChanType:
				hasFunction = true
			}
			return true
		})
		for _, name := range field.Names {
			if hasFunction {
				found = append(found, of+": "+name.Name)
			}
		}
	}
	return found
}

const module = "savant/"

// imported is one import of a file that is not a test.
type imported struct{ folder, file, path string }

func TestImports(t *testing.T) {
	for _, each := range allImports(t) {
		if complaint := judge(each); complaint != "" {
			t.Errorf("%s imports %s: %s", each.file, each.path, complaint)
		}
	}
}

// judge returns what is wrong with an import, or "".
func judge(each imported) string {
	row, known := rules[each.folder]
	if !known {
		return "the package has no row in imports_test.go: decide where it stands"
	}
	if slices.Contains(pure, each.folder) && slices.ContainsFunc(forbidden, each.within) {
		return each.folder + " is pure: the same inputs must give the same instructions"
	}
	for library, user := range users {
		if each.within(library) && !slices.Contains(strings.Fields(user), each.folder) {
			return "only " + user + " may use " + library
		}
	}
	if slices.ContainsFunc(testLibraries, each.within) && !slices.Contains(testPackages, each.folder) {
		return "it is for tests"
	}
	target, ours := strings.CutPrefix(each.path, module)
	if each.path == strings.TrimSuffix(module, "/") {
		target, ours = ".", true
	}
	if ours && !row.allows(target) {
		return each.folder + " may import only [" + strings.Join(row.imports, " ") + "] and what is the foundations"
	}
	return ""
}

// within reports whether an import is a package or below it.
func (i imported) within(folder string) bool {
	return i.path == folder || strings.HasPrefix(i.path, folder+"/")
}

func (r rule) allows(target string) bool {
	return slices.Contains(r.imports, "*") || slices.Contains(r.imports, target) || slices.Contains(foundations, target) && rules[target].height < r.height
}

// TestImportsPointDownward checks that the rules themselves only name lower packages.
func TestImportsPointDownward(t *testing.T) {
	for folder, row := range rules {
		for _, target := range row.imports {
			if target == "*" {
				continue
			}
			below, known := rules[target]
			require.True(t, known, "%s may import %s, which has no row", folder, target)
			require.Less(t, below.height, row.height, "%s may import %s, which is not lower", folder, target)
		}
	}
}

// maxFiles is how many files that are not tests a folder may have.
const maxFiles = 25

// TestFoldersAreSmall checks that no folder has more than maxFiles files, and that each
// row of the rules has a package.
func TestFoldersAreSmall(t *testing.T) {
	files := map[string]map[string]bool{}
	for _, each := range allImports(t) {
		if files[each.folder] == nil {
			files[each.folder] = map[string]bool{}
		}
		files[each.folder][each.file] = true
	}
	for folder, names := range files {
		require.LessOrEqual(t, len(names), maxFiles, "%s has too many files", folder)
	}
	for folder := range rules {
		_, err := os.Stat(folder)
		require.NoError(t, err, "the table has a package that does not exist")
	}
}

// TestImportsRefuse checks that judge finds each kind of wrong import.
func TestImportsRefuse(t *testing.T) {
	for _, each := range []imported{
		{"fault", "fault/x.go", "savant/internal/jsonvalue"},
		{"think", "think/x.go", "savant/engines/git"},
		{"engines/git", "engines/git/x.go", "savant/think"},
		{"think/flow", "think/flow/x.go", "time"},
		{"think/flow", "think/flow/x.go", "math/rand/v2"},
		{"think", "think/x.go", "github.com/mark3labs/mcp-go/mcp"},
		{"engines/mcpclient", "engines/mcpclient/x.go", "github.com/mark3labs/mcp-go/client/transport"},
		{"think", "think/x.go", "github.com/stretchr/testify/require"},
		{"think", "think/x.go", "savant"},
		{"util", "util/x.go", "strings"},
	} {
		require.NotEmpty(t, judge(each), "%s importing %s", each.folder, each.path)
	}
	for _, each := range []imported{
		{"cmd/savant/app", "cmd/savant/app/x.go", "savant"},
		{"think", "think/x.go", "savant/fault"},
		{"schemas", "schemas/x.go", "github.com/santhosh-tekuri/jsonschema/v5"},
	} {
		require.Empty(t, judge(each), "%s importing %s", each.folder, each.path)
	}
}

// allImports reads the imports of every file of the module that is not a test.
func allImports(t *testing.T) []imported {
	t.Helper()
	var all []imported
	tree := os.DirFS(".")
	require.NoError(t, fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipped(tree, name, entry)
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, each := range file.Imports {
			target, err := strconv.Unquote(each.Path.Value)
			if err != nil {
				return err
			}
			all = append(all, imported{folder: path.Dir(name), file: name, path: target})
		}
		return nil
	}))
	require.NotEmpty(t, all)
	return all
}

// skipped skips what does not belong to the module: hidden folders, test data,
// installed packages and nested modules.
func skipped(tree fs.FS, name string, entry fs.DirEntry) error {
	base := entry.Name()
	hidden := name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_"))
	if hidden || base == "testdata" || base == "node_modules" {
		return fs.SkipDir
	}
	if _, err := fs.Stat(tree, path.Join(name, "go.mod")); err == nil && name != "." {
		return fs.SkipDir
	}
	return nil
}
