package program

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/proof"
	"savant/telemetry"
)

const finishing = `{"action":"finish","final":"so it is"}`

// TestAnOllamaWithTheDefaultModelsDecides: where nobody is chosen, an Ollama that has
// phi3.5 or llama3 decides, and the first line says so.
func TestAnOllamaWithTheDefaultModelsDecides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		has         []string
		environment []string
		want        string
	}{
		"both":       {[]string{"phi3.5:latest", "llama3:latest", "mistral:7b"}, nil, "with ollama:phi3.5:latest and ollama:llama3:latest"},
		"the large":  {[]string{"llama3:8b"}, nil, "with ollama:llama3:8b"},
		"others":     {[]string{"llama3.2:latest", "phi3:latest"}, nil, "not a model"},
		"switched":   {[]string{"phi3.5:latest"}, []string{"LLM_PROVIDER=offline"}, "not a model"},
		"another is": {[]string{"phi3.5:latest", "own:1"}, []string{"SLM_MODEL=own:1"}, "with ollama:own:1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string][]string{}
			for _, each := range c.has {
				answers[each] = []string{finishing}
			}
			o := newOllama(t, answers)
			var stdout, stderr strings.Builder
			run(t.Context(), []string{"run", "--skip-git", "What is it?"}, append(c.environment, "SAVANT_PATH="+t.TempDir(), "OLLAMA_HOST="+o.URL),
				strings.NewReader(""), &stdout, &stderr)
			first, _, _ := strings.Cut(stderr.String(), "\n")
			require.Contains(t, first+"\n", c.want)
			require.Equal(t, !strings.Contains(c.want, "not a model"), len(o.models()) > 0)
		})
	}
}

// TestFlagsNameTheModels: --slm=NAME and --llm=NAME say which they are, and alone they
// say who decides.
func TestFlagsNameTheModels(t *testing.T) {
	t.Parallel()
	o := newOllama(t, map[string][]string{"phi3.5": {finishing}, "llama3:latest": {finishing}})
	for line, want := range map[string][]string{
		"--slm=phi3.5 --llm=llama3:latest":       {"phi3.5"},
		"--slm=phi3.5 --llm=ollama:llama3 --llm": {"llama3"},
		"--llm=llama3:latest":                    {"llama3:latest"},
	} {
		o.asked = nil
		var stdout, stderr strings.Builder
		arguments := append([]string{"run", "--skip-git", "What is it?"}, strings.Fields(line)...)
		code := run(t.Context(), arguments, []string{"SAVANT_PATH=" + t.TempDir(), "OLLAMA_HOST=" + o.URL, "LLM_PROVIDER=ollama", "LLM_MODEL=llama3"},
			strings.NewReader(""), &stdout, &stderr)
		require.Equal(t, exitOK, code, stderr.String())
		require.Equal(t, want, o.models(), line)
	}
	for line, message := range map[string]string{"--slm --llm": "exclude each other", "--slm=": "expected the name of a model",
		"--slm=m --reasoning-api-url=http://127.0.0.1:1": "names another service"} {
		var stdout, stderr strings.Builder
		code := run(t.Context(), append([]string{"run", "What?"}, strings.Fields(line)...), []string{"SAVANT_PATH=" + t.TempDir()}, strings.NewReader(""), &stdout, &stderr)
		require.Equal(t, 2, code, line)
		require.Contains(t, stderr.String(), message)
	}
}

// TestWhatAModelWritesIsShownAsItComes: on stderr, and in lines of stream-json, and
// without secrets.
func TestWhatAModelWritesIsShownAsItComes(t *testing.T) {
	t.Parallel()
	o := newOllama(t, map[string][]string{"m": {`{"action": "finish", "final": "the token is ` + plantedSecret + ` and no more"}`}})
	environment := []string{"SAVANT_PATH=" + t.TempDir(), "OLLAMA_HOST=" + o.URL, "SLM_MODEL=m", "MY_API_TOKEN=" + plantedSecret}
	var stdout, stderr strings.Builder
	require.Equal(t, exitOK, run(t.Context(), []string{"run", "--skip-git", "What is it?"}, environment, strings.NewReader(""), &stdout, &stderr))
	require.Contains(t, stderr.String(), "\n"+`{"action": "finish", "final": "the token is [redacted] and no more"}`+"\n")
	require.NotContains(t, stderr.String(), plantedSecret)
	require.True(t, o.asked[0].Stream)

	stdout.Reset()
	require.Equal(t, exitOK, run(t.Context(), []string{"run", "--skip-git", "--output", "stream-json", "What is it?"}, environment, strings.NewReader(""), &stdout, &stderr))
	parts := []string{}
	for line := range bytes.Lines([]byte(stdout.String())) {
		var each struct {
			Type, Text string
			RunID      string `json:"run_id"`
			Step       int
		}
		require.NoError(t, json.Unmarshal(line, &each))
		if each.Type == "llm_text" {
			require.Equal(t, 1, each.Step)
			require.NotEmpty(t, each.RunID)
			parts = append(parts, each.Text)
		}
	}
	require.Greater(t, len(parts), 3)
	require.Equal(t, `{"action": "finish", "final": "the token is [redacted] and no more"}`, strings.Join(parts, ""))

	o.asked, stderr = nil, strings.Builder{}
	require.Equal(t, exitOK, run(t.Context(), []string{"run", "--quiet", "--skip-git", "What is it?"}, environment, strings.NewReader(""), &stdout, &stderr))
	require.False(t, o.asked[0].Stream, "nobody listens")
	require.Empty(t, stderr.String())
}

// TestWhatARunCosts: by the prices of the settings, in the report, in the trace, and
// the same after the run.
func TestWhatARunCosts(t *testing.T) {
	t.Parallel()
	o := newOllama(t, map[string][]string{"small": {"no", "no"}, "large": {finishing}})
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "config"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "config/settings.json"),
		[]byte(`{"llm": {"prices": {"small": {"input": 10, "output": 0}, "ollama:large": {"input": 1000, "output": 20000}}}}`), 0o600))
	environment := []string{"SAVANT_PATH=" + folder, "OLLAMA_HOST=" + o.URL, "SLM_MODEL=small", "LLM_MODEL=large"}
	var stdout, stderr strings.Builder
	require.Equal(t, exitOK, run(t.Context(), []string{"run", "--skip-git", "--output", "json", "What is it?"}, environment, strings.NewReader(""), &stdout, &stderr), stderr.String())
	require.Contains(t, stderr.String(), "\nno\nno\n{", "each call begins a line")
	var report agent.Report
	require.NoError(t, json.Unmarshal([]byte(stdout.String()), &report))
	require.NotNil(t, report.Cost)
	const whole = 2*100*10e-6 + 100*1000e-6 + 10*20000e-6
	require.InDelta(t, whole, *report.Cost, 1e-9)

	stdout.Reset()
	require.Equal(t, exitOK, run(t.Context(), []string{"runs", "show", report.RunID}, environment, strings.NewReader(""), &stdout, &stderr))
	require.Contains(t, stdout.String(), "\ncost    0.30\n")
	require.Contains(t, stdout.String(), "\ntokens  300+30\n")
	events := traceOf(t, folder)
	require.InDelta(t, whole, ofType(events, telemetry.RunFinished)[0].Metadata["cost"], 1e-9)
	require.InDelta(t, 0.001, ofType(events, telemetry.LLMCall)[0].Metadata["cost"], 1e-9)
	require.Contains(t, runtimeLog(t, folder), ", cost 0.3020: ")
}

// TestACostWithoutAPriceSaysSo: a sum that lacks calls of a model names the model, in the
// report, at the terminal, in the trace and in the hub.
func TestACostWithoutAPriceSaysSo(t *testing.T) {
	t.Parallel()
	o := newOllama(t, map[string][]string{"small": {"no", "no"}, "large": {finishing}})
	folder := t.TempDir()
	environment := []string{"SAVANT_PATH=" + folder, "OLLAMA_HOST=" + o.URL, "SLM_MODEL=small", "LLM_MODEL=large", `LLM_PRICES={"large": {"input": 1000, "output": 20000}}`}
	var stdout, stderr strings.Builder
	require.Equal(t, exitOK, run(t.Context(), []string{"run", "--skip-git", "--output", "json", "What is it?"}, environment, strings.NewReader(""), &stdout, &stderr), stderr.String())
	var report agent.Report
	require.NoError(t, json.Unmarshal([]byte(stdout.String()), &report))
	require.InDelta(t, 0.3, *report.Cost, 1e-9)
	require.Equal(t, []string{"ollama:small"}, report.Unpriced, "once, though it was called twice")
	stdout.Reset()
	require.Equal(t, exitOK, run(t.Context(), []string{"runs", "show", report.RunID}, environment, strings.NewReader(""), &stdout, &stderr))
	require.Contains(t, stdout.String(), "\ncost    0.30, partial: no price for ollama:small\n")
	events := traceOf(t, folder)
	require.Equal(t, []any{"ollama:small"}, ofType(events, telemetry.RunFinished)[0].Metadata["unpriced"])
	calls := ofType(events, telemetry.LLMCall)
	require.Equal(t, []any{"ollama:small"}, calls[0].Metadata["unpriced"])
	require.NotContains(t, calls[2].Metadata, "unpriced")
	require.Contains(t, runtimeLog(t, folder), ", cost 0.3000, no price for ollama:small: ")
	require.Contains(t, serveHub(t, folder).page("/diagnostics/agents/"+report.RunID), "<dd>0.3, partial: no price for ollama:small</dd>")
}

// TestAProofNamesTheModels: which models answered a run that Savant drove, how often and
// with how many tokens, and that a client reported another answer.
func TestAProofNamesTheModels(t *testing.T) {
	t.Parallel()
	o := newOllama(t, map[string][]string{"small": {"no", `{"action":"finish","final":"\"yes\""}`}})
	folder, home := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows/two.yaml"), []byte(`name: two
version: "1.0"
steps:
  - {id: first, call: llm.generate, input_template: {task: Say yes}}
  - {id: again, call: llm.generate, deps: [first], input_template: {task: Say it again}}
  - {id: second, call: mail.read, deps: [again], input_template: {box: in}}
`), 0o600))
	environment := []string{"SAVANT_PATH=" + folder, "XDG_CONFIG_HOME=" + home, "OLLAMA_HOST=" + o.URL, "SLM_MODEL=small"}
	said := func(code int, arguments ...string) string {
		var stdout, stderr strings.Builder
		require.Equal(t, code, run(t.Context(), arguments, environment, strings.NewReader(""), &stdout, &stderr), stdout.String()+stderr.String())
		return stdout.String()
	}
	said(exitOK, "key", "new", "ci")
	said(8, "workflows", "run", "two", "--name", "r1")
	said(exitOK, "call", "think.next", "--args", `{"run_id": "r1", "step_id": "second", "result_snapshot": []}`)
	file := filepath.Join(home, "r1.proof")
	said(exitOK, "proof", "r1", "-o", file)
	var report proof.Report
	require.NoError(t, json.Unmarshal([]byte(said(exitOK, "verify", file, "--json")), &report))
	require.Equal(t, []proof.Model{{Grade: proof.SeenModel, Model: "ollama:small", Calls: 2, PromptTokens: 200, OutputTokens: 20},
		{Grade: proof.ReportedModel, Calls: 1}}, report.Models)
	require.Contains(t, said(exitOK, "verify", file), "\n  answered   ollama:small: 2 calls, tokens 200+20, seen\n")
}
