package states

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/cmd/savant/terminal"
	"savant/internal/ownfolder"
)

// usage is what a folder of Savant's takes up.
type usage struct {
	Folder string `json:"folder"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
}

func (p *program) stateUsageCommand() *cobra.Command {
	command := &cobra.Command{Use: "usage", Short: "Show how much disk runs, artifacts, indexes and logs take up", Args: cli.Positional(cobra.NoArgs),
		RunE: p.OnLook(func(_ context.Context, a *app.App, _ []string) error {
			found := map[string]*usage{}
			folders := []string{ownfolder.State}
			if logs := ownfolder.LogFolder(a.Root); logs == ownfolder.Logs { // others are in the first
				folders = append(folders, logs)
			}
			for _, each := range folders {
				if err := measure(a.Root.FS(), each, found); err != nil {
					return ownfolder.NotRead(each, err)
				}
			}
			all := []usage{}
			for _, name := range slices.Sorted(maps.Keys(found)) {
				all = append(all, *found[name])
			}
			if p.JSON {
				return p.Print(map[string]any{"usage": all})
			}
			if len(all) == 0 {
				fmt.Fprintln(p.Stderr, "nothing of Savant's is here yet")
			}
			for _, each := range all {
				fmt.Fprintf(p.Stdout, "%s: %s, %d bytes\n", terminal.Visible(each.Folder), terminal.Count(each.Files, "file"), each.Bytes)
			}
			return nil
		})}
	return p.JSONFlag(command)
}

// measure adds the files below a folder to the folders that are directly in it. What goes
// away meanwhile is left out.
func measure(files fs.FS, folder string, found map[string]*usage) error {
	return fs.WalkDir(files, folder, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		in := path.Dir(name)
		for in != folder && path.Dir(in) != folder {
			in = path.Dir(in)
		}
		if found[in] == nil {
			found[in] = &usage{Folder: in}
		}
		found[in].Files++
		found[in].Bytes += info.Size()
		return nil
	})
}
