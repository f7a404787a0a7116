package commands

import (
	"fmt"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/ownfolder"
	"savant/internal/regular"
	"savant/internal/settings"
	"savant/internal/visible"
)

func (p *program) configCommand() *cobra.Command {
	return cli.Group("config", "Show the settings", p.configShowCommand())
}

func (p *program) configShowCommand() *cobra.Command {
	var origin bool
	command := &cobra.Command{Use: "show", Short: "Print every setting with its effective value", Args: cli.Positional(cobra.NoArgs),
		Long: "Print every setting with its effective value, by its name in " + settings.FileName + ". Of a secret it\n" +
			"shows only whether it is set. With --origin it says where each value comes from: a flag, a variable, a line of the file, or the default.",
		RunE: func(*cobra.Command, []string) error { return p.showConfig(origin) }}
	command.Flags().BoolVar(&origin, "origin", false, "say where each value comes from")
	return p.JSONFlag(command)
}

// shownSetting is a setting in `savant config show --json`. A secret has no value, only
// whether it is set.
type shownSetting struct {
	Key    string           `json:"key"`
	Env    string           `json:"env,omitempty"`
	Flag   string           `json:"flag,omitempty"`
	Value  any              `json:"value,omitempty"`
	Secret bool             `json:"secret,omitempty"`
	Set    *bool            `json:"set,omitempty"`
	Origin *settings.Origin `json:"origin,omitempty"`
}

func (p *program) showConfig(origin bool) error {
	p.NameFolder()
	if p.Loaded.Exposed {
		fmt.Fprintf(p.Stderr, "savant: warning: %s\n", app.ExposedFile)
	}
	for _, each := range p.Loaded.Parts {
		if err := p.Loaded.Folder.Require(each); err != nil {
			fmt.Fprintf(p.Stderr, "savant: warning: %s\n", visible.Line(fault.From(err).Message()))
		}
	}
	if p.JSON {
		return p.Print(map[string]any{"settings": shownSettings(p.Loaded.Values, origin), "logs": p.logFolder()})
	}
	header := []string{"SETTING", "VALUE"}
	if origin {
		header = append(header, "FROM")
	}
	err := terminal.Table(p.Stdout, header, p.Loaded.Values, func(value settings.Value) []string {
		cells := []string{value.Setting.Key, value.Redacted()}
		if origin {
			cells = append(cells, value.Origin.String())
		}
		return cells
	})
	if p.logFolder() == ownfolder.StateLogs {
		fmt.Fprintf(p.Stderr, "savant: %s\n", app.LogsElsewhere)
	}
	return err
}

// logFolder is the folder of logs, below SAVANT_PATH.
func (p *program) logFolder() string {
	root, err := regular.OpenFolder(p.Settings.Path)
	if err != nil {
		return ownfolder.Logs // reported when the folder is used
	}
	defer root.Close()
	return ownfolder.LogFolder(root)
}

func shownSettings(values []settings.Value, origin bool) []shownSetting {
	list := make([]shownSetting, 0, len(values))
	for _, value := range values {
		row := value.Setting
		setting := shownSetting{Key: row.Key, Env: row.Env, Flag: flagOf(row), Secret: row.Secret}
		if row.Secret {
			set := value.Text != ""
			setting.Set = &set
		} else {
			setting.Value = value.JSON()
		}
		if origin {
			setting.Origin = &value.Origin
		}
		list = append(list, setting)
	}
	return list
}
