package clients

import (
	"embed"
	"io/fs"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// plugins are the files that clients without commands as hooks load: one a client, and
// shared, which they import.
//
//go:embed plugins/*.js
var plugins embed.FS

const shared = "ask"

// Plugin returns the plugin file of a client without hooks, which imports nothing of
// Savant's. It runs command, a program and its arguments, for each event. INVALID_PARAMS
// for a client with hooks.
func Plugin(client string, command []string) (string, error) {
	text, err := fs.ReadFile(plugins, "plugins/"+client+".js")
	if err != nil || client == shared {
		return "", fault.New(fault.InvalidParams, "%s needs no plugin: its hooks start savant hook %s", client, client)
	}
	asking, err := fs.ReadFile(plugins, "plugins/"+shared+".js")
	if err != nil {
		return "", fault.New(fault.Internal, "the shared part of the plugins: %w", err)
	}
	started, err := jsonvalue.Encode(command)
	if err != nil {
		return "", fault.New(fault.Internal, "encoding a command: %w", err)
	}
	inline := strings.ReplaceAll(string(asking), "\nexport ", "\n")
	inline = strings.Replace(inline, `["savant"]`, string(started), 1)
	var file strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.HasSuffix(line, `from "./`+shared+`.js"`+"\n") {
			line = inline
		}
		file.WriteString(line)
	}
	return file.String(), nil
}
