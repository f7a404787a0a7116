package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"savant/internal/mongotest"
)

// scriptsOverMongo are scripts that say nothing of the files that runs are kept in.
var scriptsOverMongo = []string{"approve", "call", "past", "run_workflow", "runs", "state_change", "state_list"}

// TestScriptsOverMongo runs them, and those of testdata/mongo, with the runs in a
// database.
func TestScriptsOverMongo(t *testing.T) {
	server := mongotest.Start(t)
	params := scripts()
	own, err := filepath.Glob(filepath.Join("testdata", "mongo", "*.txtar"))
	require.NoError(t, err)
	params.Dir, params.Files = "", own
	for _, name := range scriptsOverMongo {
		params.Files = append(params.Files, filepath.Join("testdata", "scripts", name+".txtar"))
	}
	within := params.Setup
	params.Setup = func(env *testscript.Env) error {
		env.Setenv("SAVANT_STORE", "mongo")
		env.Setenv("MONGO_URI", server.URI(mongotest.NewDatabase()))
		env.Setenv("OTHER_URI", server.URI(mongotest.NewDatabase()))
		return within(env)
	}
	testscript.Run(t, params)
}
