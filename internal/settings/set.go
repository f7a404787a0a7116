package settings

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// unfit says what a setter expected.
type unfit string

func (u unfit) Error() string { return string(u) }

func setServices(into *Settings, value string) error {
	into.Services = commaList(value)
	if len(into.Services) == 0 {
		return unfit("an engine's name, a comma list or all")
	}
	return nil
}

func setPath(into *Settings, value string) error {
	if value == "" || strings.ContainsRune(value, 0) {
		return unfit("a folder")
	}
	into.Path = value
	return nil
}

func setLogLevel(into *Settings, value string) error {
	return into.LogLevel.UnmarshalText([]byte(value))
}

// maxWait is a day in milliseconds: more is a mistake, and far from overflowing a duration.
const maxWait = 86_400_000

func setSlowCall(into *Settings, value string) error {
	milliseconds, err := strconv.Atoi(value)
	if err != nil || milliseconds < 0 || milliseconds > maxWait {
		return unfit(fmt.Sprintf("milliseconds from 0 to %d", maxWait))
	}
	into.SlowCall = time.Duration(milliseconds) * time.Millisecond
	if milliseconds == 0 {
		into.SlowCall = -1
	}
	return nil
}

func setToolNames(into *Settings, value string) error {
	into.ToolNames = value
	return nil
}

func setGitRoots(into *Settings, value string) error {
	into.GitRoots = folders(value)
	return nil
}

func setRepos(into *Settings, value string) error {
	into.Repos = folders(value)
	return nil
}

func setTrustedHosts(into *Settings, value string) error {
	into.TrustedHosts = commaList(value)
	return nil
}

// folders reads a list of folders as PATH has it.
func folders(value string) []string {
	var list []string
	for _, folder := range filepath.SplitList(value) {
		if folder != "" {
			list = append(list, folder)
		}
	}
	return list
}
