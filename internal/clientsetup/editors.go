package clientsetup

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// Schemas has the JSON Schemas of the files that editors complete, as DIR/KIND.json of an
// fs.FS.
type Schemas interface {
	ReadFile(name string) ([]byte, error)
}

// schemaFolder has the schemas of a project; the first line of a workflow names it.
const schemaFolder = ".savant/schemas"

// associations are the schemas and the files that they are for. Cases come before
// workflows, for an editor that cannot leave files out and takes the first that fits.
var associations = []struct {
	kind, title string
	patterns    []string
}{
	{"cases", "Savant cases", []string{"workflows/**/*.cases.yaml"}},
	{"workflow", "Savant workflow", []string{"workflows/**/*.yaml", "workflows/**/*.yml", "!workflows/**/*.cases.yaml"}},
	{"rules", "Savant rules", []string{"rules/*.yaml", "!rules/*.cases.yaml"}},
}

// Editors are the editors whose settings in a project can name the language server. They
// are written like a client's files, and only into a project.
func Editors(schemas Schemas) []Client {
	return []Client{
		{Name: "vscode", Title: "VS Code", projects: true, files: vscodeEditor,
			Notes: []string{"VS Code starts the server by the extension savant-editor.vsix, which make vsix packs: code --install-extension savant-editor.vsix."}},
		{Name: "zed", Title: "Zed", projects: true, files: func(t Target) []wantedFile { return append(schemaFiles(t, schemas), zed(t)...) },
			Notes: []string{"Zed starts no language server without an extension of Zed's, so it completes and checks by the schemas alone."}},
		{Name: "neovim", Title: "Neovim", projects: true, files: neovim,
			Notes: []string{"Neovim 0.9 and later read .nvim.lua where vim.o.exrc is true, and ask once whether you trust it."}},
		{Name: "jetbrains", Title: "JetBrains", projects: true, files: func(t Target) []wantedFile { return append(schemaFiles(t, schemas), jetbrains(t)...) },
			Notes: []string{"The schemas hold at once. For the server add the plugin LSP4IJ, and in Languages & Frameworks > Language Servers a new one from the template in .idea/savant-lsp4ij."}},
	}
}

// ChosenEditors returns the editors of some names, all without a name. INVALID_PARAMS with
// the nearest for an unknown one.
func ChosenEditors(schemas Schemas, names []string) (clients []Client, err error) {
	all := Editors(schemas)
	if len(names) == 0 {
		return all, nil
	}
	for _, name := range names {
		editor, err := named("editor", all, name)
		if err != nil {
			return nil, err
		}
		clients = append(clients, editor)
	}
	return clients, nil
}

// schemaFiles are the schemas that an editor without the server reads.
func schemaFiles(t Target, schemas Schemas) (files []wantedFile) {
	for _, each := range associations {
		text, err := schemas.ReadFile("schemas/" + each.kind + ".json")
		if err != nil { // they are part of the program
			panic(err)
		}
		files = append(files, wantedFile{path: t.in(schemaFolder, each.kind+".json"), whole: string(text), mark: `"title": "` + each.title + `"`, generated: true})
	}
	return files
}

// vscodeEditor names the command for the extension; the schemas would say all twice.
func vscodeEditor(t Target) []wantedFile {
	return []wantedFile{{path: t.in(".vscode", "settings.json"), entries: entry(t.Program, "savant.command")}}
}

func zed(t Target) (files []wantedFile) {
	w := wantedFile{path: t.in(".zed", "settings.json")}
	for _, each := range associations {
		w.entries = append(w.entries, entry(each.patterns, "lsp", "yaml-language-server", "settings", "yaml", "schemas", path.Join(schemaFolder, each.kind+".json"))...)
	}
	return []wantedFile{w}
}

// editorMark is in each file that is only Savant's.
const editorMark = "savant setup editor"

func neovim(t Target) []wantedFile {
	return []wantedFile{{path: t.in(".nvim.lua"), mark: editorMark, whole: "-- Written by " + editorMark + ", which also removes it (--undo).\n" +
		"vim.api.nvim_create_autocmd('FileType', {\n  pattern = 'yaml',\n  callback = function(event)\n" +
		"    local folder = vim.fn.finddir('workflows', vim.fn.fnamemodify(event.file, ':p:h') .. ';')\n" +
		"    vim.lsp.start({\n      name = 'savant',\n      cmd = { " + luaText(t.Program) + ", 'lsp' },\n" +
		"      root_dir = folder == '' and vim.fn.getcwd() or vim.fn.fnamemodify(folder, ':p:h:h'),\n    })\n  end,\n})\n"}}
}

// luaText is a text of Lua, which reads the escapes of JSON for what a path can have.
func luaText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`).Replace(text) + "'"
}

func jetbrains(t Target) []wantedFile {
	var entries strings.Builder
	for _, each := range associations {
		if each.kind == "rules" { // the cases of rules, which cannot be left out, have no schema
			continue
		}
		fmt.Fprintf(&entries, "        <entry key=\"%[1]s\">\n          <value>\n            <SchemaInfo>\n              <option name=\"name\" value=\"%[1]s\" />\n"+
			"              <option name=\"relativePathToSchema\" value=\"%[2]s\" />\n              <option name=\"patterns\">\n                <list>\n",
			each.title, path.Join(schemaFolder, each.kind+".json"))
		for _, pattern := range each.patterns {
			if pattern[0] == '!' { // the mappings have none
				continue
			}
			fmt.Fprintf(&entries, "                  <Item>\n                    <option name=\"pattern\" value=\"true\" />\n                    <option name=\"path\" value=\"%s\" />\n"+
				"                    <option name=\"mappingKind\" value=\"Pattern\" />\n                  </Item>\n", pattern)
		}
		entries.WriteString("                </list>\n              </option>\n            </SchemaInfo>\n          </value>\n        </entry>\n")
	}
	schemas := "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- Written by " + editorMark + ", which also removes it (undo). -->\n" +
		"<project version=\"4\">\n  <component name=\"JsonSchemaMappingsProjectConfiguration\">\n    <state>\n      <map>\n" + entries.String() +
		"      </map>\n    </state>\n  </component>\n</project>\n"
	template, err := json.MarshalIndent(object{"name": "Savant", "description": "Written by " + editorMark, "programArgs": object{"default": shellQuote(t.Program, t.OS) + " lsp"},
		"fileTypeMappings": []any{object{"fileType": object{"name": "YAML", "patterns": []string{"*.yaml", "*.yml"}}, "languageId": "yaml"}}}, "", "  ")
	if err != nil { // maps and strings can always be encoded
		panic(err)
	}
	return []wantedFile{{path: t.in(".idea", "jsonSchemas.xml"), whole: schemas, mark: editorMark},
		{path: t.in(".idea", "savant-lsp4ij", "template.json"), whole: string(template) + "\n", mark: editorMark}}
}
