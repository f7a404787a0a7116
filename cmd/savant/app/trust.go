package app

import (
	"fmt"
	"slices"
	"strings"

	"savant"
	"savant/engines/ci"
	"savant/engines/mount"
	"savant/fault"
	"savant/internal/regular"
	"savant/internal/settings"
	"savant/internal/trust"
	"savant/internal/visible"
	"savant/packages"
	"savant/think/flow"
)

// Brought are the parts of a folder that need a person's acceptance.
type Brought struct {
	Parts []trust.Part
	// Problems are why some parts cannot be read; those are not used.
	Problems []error
}

// WhatIsBrought reads the parts of a folder; file are those of its settings. It starts
// nothing.
func WhatIsBrought(path string, file []trust.Part) Brought {
	found := Brought{Parts: slices.Clone(file)}
	root, err := regular.OpenFolder(path)
	if err != nil {
		return found // reported when the folder is used
	}
	defer root.Close()
	add := func(parts []trust.Part, err error) {
		found.Parts = append(found.Parts, parts...)
		if err != nil {
			found.Problems = append(found.Problems, err)
		}
	}
	add(mount.Parts(root))
	add(ci.Parts(path, flow.ReadYAMLPlaces))
	parts, problems := guardedFiles{regularFiles: regularFiles{root.FS()}, bundled: savant.Files}.parts()
	add(parts, nil)
	found.Problems = append(found.Problems, problems...)
	parts, problems = newPackageFiles(packages.NewFiles(regularFiles{root.FS()}), nil).parts()
	add(parts, nil)
	found.Problems = append(found.Problems, problems...)
	trust.Sort(found.Parts)
	return found
}

// Trust returns the answers about a folder for the settings. Parts named by
// SAVANT_TRUST are accepted for this process.
func Trust(environment []string) settings.Trust {
	return func(path string, digests []string, file []trust.Part) *trust.Folder {
		folder := trust.Open(Configuration(environment), path)
		if len(digests) > 0 {
			brought := WhatIsBrought(path, file)
			if slices.Contains(digests, trust.Digest(brought.Parts)) {
				folder.Allow(brought.Parts...)
			}
		}
		return folder
	}
}

// Configuration is the user's folder of configuration.
func Configuration(environment []string) string {
	return trust.Configuration(func(name string) (string, bool) { return Variable(environment, name) })
}

// maxNamed is how many parts a warning names.
const maxNamed = 8

// SayUnused warns of parts that nobody has accepted or refused; of those alone whose id has a
// prefix.
func (a *App) SayUnused(prefix string) {
	var names []string
	for _, each := range WhatIsBrought(a.Path, a.options.Settings.Parts).Parts {
		if answer := a.trust.AnswerTo(each); (answer == trust.Unsaid || answer == trust.Changed) && strings.HasPrefix(each.ID(), prefix) {
			names = append(names, visible.Line(fault.Cut(each.ID(), 80)))
		}
	}
	if len(names) == 0 {
		return
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("and %d more", more))
	}
	said := "this folder has parts that Savant does not use until a person trusts them: savant trust shows them and asks"
	if len(a.settings.Trust) > 0 {
		said += " (" + settings.EnvTrust + " is not the digest of its parts now)"
	}
	a.Logger.Warn(said, "parts", strings.Join(names, ", "))
}
