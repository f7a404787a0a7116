package think

// What the URIs of runs and artifacts begin with.
const (
	RunPrefix      = "savant://runs/"
	ArtifactPrefix = "savant://artifacts/"
)

func varURI(workflow, run, name string) string {
	return RunPrefix + workflow + "/" + run + "/vars/" + name
}

func outputsURI(workflow, run string) string { return RunPrefix + workflow + "/" + run + "/outputs" }

func artifactURI(digest string) string { return ArtifactPrefix + digest }
