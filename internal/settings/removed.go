package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"savant/fault"
)

// removed is a former name: of a setting that went, or of one that has another name
// now. Any of its names that is set is an error that says what took its place.
type removed struct{ env, flag, key, instead string }

func formerNames() []removed {
	return []removed{
		{"SAVANT_TOOL_NAMES", "tool-names", "tool_names", "names are listed as each client takes them, and calls are accepted in both spellings"},
		{"SAVANT_TRUSTED_HOSTS", "trusted-hosts", "trusted_hosts", "savant trust accepts an address of the file, and SAVANT_TRUST=DIGEST does where nobody can be asked"},
		{"SAVANT_HTTP_AUDIENCE", "http-audience", "http.audience", "the audience is SAVANT_HTTP_URL with /mcp"},
		{"SAVANT_HTTP_DRAIN_MS", "http-drain-ms", "http.drain_ms", "open requests get 5 seconds"},
		{"SAVANT_HTTP_MAX_BODY", "http-max-body", "http.max_body", "a message has at most 8 MB"},
		{"SAVANT_HTTP_PER_MINUTE", "http-per-minute", "http.per_minute", "savant token add --per-minute limits a token"},
		{"SAVANT_HUB_URL", "hub-url", "hub.url", "say SAVANT_HTTP_URL"},
		{"SAVANT_HUB_TOKEN", "hub-token", "hub.token", "savant token add makes a token that opens the hub"},
		{"SAVANT_HUB_ANSWERS", "hub-answers", "hub.answers", "say savant hub --no-answers"},
		{"SAVANT_MODEL_TIMEOUT_MS", "model-timeout-ms", "llm.model_timeout_ms", "say REASONING_API_TIMEOUT_MS or reasoning.api_timeout_ms"},
		{"LLM_PATIENCE_MS", "", "llm.patience_ms", "a model that is busy is asked again for a minute"},
		{"SAVANT_HUB_NOTIFY_SECRET", "", "hub.notify_secret", "say SAVANT_HUB_NOTIFY=ADDRESS#SECRET"},
		{"SAVANT_OLLAMA_URL", "ollama-url", "llm.ollama_url", "say OLLAMA_HOST or llm.ollama_host"},
		{"", "slm-model", "", "say SLM_MODEL or --slm"},
		{"", "llm-model", "", "say LLM_MODEL or --llm"},
		{"AGENT_CACHE_MS", "agent-cache-ms", "agent.cache_ms", "a result of a local tool that only reads answers the same call for 2 seconds"},
		{"AGENT_LABELS", "agent-labels", "agent.labels", "say savant work --label, and labels in agent.run"},
		{"AGENT_SLM_BUDGET_TOKENS", "agent-slm-budget-tokens", "", "say --set agent.prompt.slm_budget_tokens=NUMBER, or set it in the file"},
		{"AGENT_LLM_BUDGET_TOKENS", "agent-llm-budget-tokens", "", "say --set agent.prompt.llm_budget_tokens=NUMBER, or set it in the file"},
		{"", "otel-service-name", "telemetry.service_name", "say OTEL_SERVICE_NAME"},
	}
}

// gone describes a former name; "" for any other one.
func gone(name string) string {
	for _, each := range formerNames() {
		if name != "" && (name == each.env || name == "--"+each.flag || name == each.key) {
			return name + " is no setting any more: " + each.instead
		}
	}
	return ""
}

// Instead says what took the place of a flag, by its name without dashes, that was a
// setting's or could be one's; "" for any other flag.
func Instead(flag string) string {
	if text := gone("--" + flag); text != "" {
		return text
	}
	if key := keyNamed(Table(), flag); key != "" {
		return fmt.Sprintf("--%s is no flag: say --set %s=VALUE", flag, key)
	}
	return ""
}

// keyNamed returns the Key of the setting that a name stands for or nearly does: its Key, also
// only its end, its variable or its flag; "" for none.
func keyNamed(table []Setting, name string) string {
	keys := map[string]string{}
	oneWord := func(name string) string {
		return strings.NewReplacer(".", "_", "-", "_").Replace(strings.ToLower(name))
	}
	for _, row := range slices.Backward(table) { // of two with one name the first counts
		for _, each := range []string{row.Env, row.Flag, row.Key[strings.LastIndexByte(row.Key, '.')+1:], row.Key} {
			keys[oneWord(each)] = row.Key
		}
	}
	delete(keys, "") // of those without a flag
	return keys[fault.Nearest(oneWord(name), slices.Collect(maps.Keys(keys)))]
}

// Assignments reads KEY=VALUE, as --set takes it, by the Keys of settings; of two the
// last one counts. The error is INVALID_PARAMS.
func Assignments(texts []string) (map[string]string, error) {
	table := Table()
	values := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fault.New(fault.InvalidParams, "--set: expected KEY=VALUE, got %q", fault.Cut(text, maxShown))
		}
		parts := strings.Split(name, ".")
		for i, part := range parts {
			parts[i] = snake(part)
		}
		key := strings.Join(parts, ".")
		if text := gone(key); text != "" {
			return nil, fault.New(fault.InvalidParams, "--set: %s", text)
		}
		if !slices.ContainsFunc(table, func(row Setting) bool { return row.Key == key }) {
			said := fmt.Sprintf("--set: unknown key %q", fault.Cut(name, maxShown))
			if near := keyNamed(table, key); near != "" {
				said += ", did you mean " + near + "?"
			}
			return nil, fault.New(fault.InvalidParams, "%s; savant help settings lists the keys", said)
		}
		values[key] = value
	}
	return values, nil
}
