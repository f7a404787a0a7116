package git

import (
	"context"
	"os/exec"

	"savant/engines"
)

// Engine describes git.*. Its status is offline if the git program is not
// installed.
func Engine() engines.Engine {
	return engines.Engine{
		Name:        "git",
		Description: "reads git repositories, never changes them",
		Status: func(context.Context) engines.Status {
			if _, err := exec.LookPath("git"); err != nil {
				return engines.Status{State: engines.Offline, Reason: "git is not installed, or not on PATH"}
			}
			return engines.Status{State: engines.Ready}
		},
	}
}
