// Command savant guides a language model through a workflow. It serves the Model
// Context Protocol on its standard streams, and is the command line for the people who
// write workflows and approve their steps.
package main

import (
	"os"

	"savant/cmd/savant/commands"
)

// version is set by the linker, see the Makefile.
var version string

func main() { os.Exit(commands.Start(version, nil)) }
