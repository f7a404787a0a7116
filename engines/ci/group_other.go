//go:build !unix

package ci

import "os"

func codeOf(state *os.ProcessState) int { return state.ExitCode() }
