package clientsetup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"savant/internal/configedit"
)

// off is a setting of a client that keeps it from running Savant's hooks or server: a
// value at a path, or one element of the list there.
type off struct {
	path  []string
	value any
}

var (
	claudeOff = []off{{[]string{"disableAllHooks"}, true}}
	codexOff  = []off{{[]string{"features", "hooks"}, false}, {[]string{"features", "codex_hooks"}, false}}
	geminiOff = []off{{[]string{"hooksConfig", "enabled"}, false}, {[]string{"hooksConfig", "disabled"}, "savant"}, {[]string{"mcp", "excluded"}, "savant"}}
)

func (o off) String() string {
	name := strings.Join(o.path, ".")
	if element, ok := o.value.(string); ok {
		return fmt.Sprintf("%q in %s", element, name)
	}
	return fmt.Sprintf("%s = %v", name, o.value)
}

// Off is a setting that a person has to change, because setup leaves it alone.
type Off struct{ Path, Setting string }

// Off returns the settings that switch Savant off: a project's hooks obey the person's
// own settings, too. Codes as Setup.
func (c Client) Off(t Target) ([]Off, error) {
	files, err := c.files(t)
	if err != nil {
		return nil, err
	}
	if t.Project != "" {
		own := t
		own.Project = ""
		files = append(files, c.own(own)...)
	}
	var found []Off
	for _, file := range files {
		if file.whole != "" || len(c.off) == 0 {
			continue
		}
		text, err := os.ReadFile(file.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, refused(file.path, err)
		}
		for _, each := range c.off {
			value, _, err := configedit.Get(text, file.format, each.path)
			if err != nil {
				return nil, refused(file.path, err)
			}
			if value == each.value || slices.Contains(listOf(value), each.value) {
				found = append(found, Off{file.path, each.String()})
			}
		}
	}
	return found, nil
}
