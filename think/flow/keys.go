package flow

// The keys that the maps of a workflow file may have.
var (
	workflowKeys = []string{"name", "version", "description", "desc", "params", "schemas", "limits", "defaults", "steps", "outputs", "summary", "artifacts", "strict_tools", "enforce"}

	stepKeys = []string{"id", "call", "input_template", "deps", "when", "foreach", "as", "extract", "success_schema", "check", "capture_as",
		"rationale", "retry", "on_failure", "timeout", "join", "barrier", "group", "parallel", "effect", "witness", "allow", "complex", "repeat"}

	limitKeys    = []string{"items", "parallel", "steps", "groups"}
	defaultKeys  = []string{"on_failure", "retry"}
	retryKeys    = []string{"max", "backoff", "on_unknown"}
	repeatKeys   = []string{"until", "max"}
	artifactKeys = []string{"name", "type", "from"}
)

// Keys returns the keys that the parser knows, by the kind of map.
func Keys() map[string][]string {
	return map[string][]string{"workflow": workflowKeys, "step": stepKeys, "limits": limitKeys, "defaults": defaultKeys,
		"retry": retryKeys, "repeat": repeatKeys, "artifact": artifactKeys}
}
