package clients

import (
	"embed"
	"io/fs"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// plugins are the files that clients without commands as hooks load.
//
//go:embed plugins/*.js
var plugins embed.FS

// Plugin returns the plugin file of a client without hooks. It runs command, a program
// and its arguments, for each event. INVALID_PARAMS for a client with hooks.
func Plugin(client string, command []string) (string, error) {
	text, err := fs.ReadFile(plugins, "plugins/"+client+".js")
	if err != nil {
		return "", fault.New(fault.InvalidParams, "%s needs no plugin: its hooks start savant hook %s", client, client)
	}
	started, err := jsonvalue.Encode(command)
	if err != nil {
		return "", fault.New(fault.Internal, "encoding a command: %w", err)
	}
	return strings.Replace(string(text), `["savant"]`, string(started), 1), nil
}
