package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/clientsetup"
	"savant/internal/regular"
)

// maxLine is the maximum length of a message of Codex's app-server, in bytes.
const maxLine = 16 << 20

// appServer sends one request to `codex app-server`, in JSON-RPC lines, and returns the
// result.
func appServer(ctx context.Context, path, folder, method string, params any) (result json.RawMessage, err error) {
	defer func() {
		if err != nil {
			err = fault.New(fault.ToolFailed, "codex app-server: %w", err)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	command := exec.CommandContext(ctx, path, "app-server")
	command.Dir = folder
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	defer func() { _ = command.Wait() }()
	defer cancel() // the server does not end by itself
	defer stdin.Close()
	encoder := json.NewEncoder(stdin)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, maxLine)
	exchange := func(id int, method string, params any) (json.RawMessage, error) {
		if err := encoder.Encode(message{ID: id, Method: method, Params: params}); err != nil {
			return nil, err
		}
		for lines.Scan() {
			var answer message
			if json.Unmarshal(lines.Bytes(), &answer) != nil || answer.ID != id || answer.Method != "" {
				continue
			}
			if answer.Error != nil {
				return nil, fmt.Errorf("%s: %s", method, answer.Error.Message)
			}
			return answer.Result, nil
		}
		return nil, errors.New("it ended without an answer to " + method)
	}
	hello := map[string]any{"clientInfo": map[string]any{"name": "savant", "version": "0"}, "capabilities": map[string]any{"experimentalApi": true}}
	if _, err := exchange(1, "initialize", hello); err != nil {
		return nil, err
	}
	if err := encoder.Encode(message{Method: "initialized"}); err != nil {
		return nil, err
	}
	return exchange(2, method, params)
}

// message is a request, or an answer, of the app-server.
type message struct {
	ID     int             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params any             `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// trustCodex asks Codex to trust Savant's hooks, with the person's agreement: Codex
// runs only trusted hooks.
func (s *setup) trustCodex(ctx context.Context, client clientsetup.Client, t clientsetup.Target) error {
	if client.Name != "codex" || s.undo {
		return nil
	}
	path := codexProgram(t)
	if path == "" {
		return nil // the note says what to do at its next start
	}
	hooks, err := untrusted(ctx, path, t)
	if err != nil || len(hooks) == 0 {
		if err != nil {
			fmt.Fprintf(s.Stderr, "savant: Codex did not say whether it trusts the hooks: %s\n", terminal.Visible(err.Error()))
		}
		return nil
	}
	for _, hook := range hooks {
		fmt.Fprintf(s.Stdout, "Codex does not trust yet: %s: %s\n", terminal.Visible(hook.Event), terminal.Visible(hook.Command))
	}
	if !s.yes {
		yes, err := terminal.Confirm(ctx, s.Stdin, s.Stdout, "Have Codex trust these "+terminal.Count(len(hooks), "hook")+"?")
		if err != nil || !yes {
			return nil
		}
	}
	state := map[string]any{}
	for _, hook := range hooks {
		state[hook.Key] = map[string]any{"trusted_hash": hook.Hash}
	}
	_, err = appServer(ctx, path, t.Folder, "config/batchWrite", map[string]any{"filePath": nil, "expectedVersion": nil,
		"edits": []any{map[string]any{"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}}})
	if err != nil {
		return app.Misconfigured(fault.New(fault.ToolFailed, "Codex did not accept the trust: %w; use /hooks in Codex", err))
	}
	fmt.Fprintf(s.Stdout, "Codex trusts %s.\n", terminal.Count(len(hooks), "hook"))
	return nil
}

// codexProgram finds Codex, "" for none. A program of the folder is not the person's.
func codexProgram(t clientsetup.Target) string {
	path, _ := regular.Program(regular.SearchPath(t.Folder), "codex")
	return path
}

// codexHook is a hook as listed by Codex's app-server.
type codexHook struct {
	Key     string `json:"key"`
	Event   string `json:"eventName"`
	Command string `json:"command"`
	Hash    string `json:"currentHash"`
	Trust   string `json:"trustStatus"`
}

// untrusted returns those of Savant's hooks that Codex would not run.
func untrusted(ctx context.Context, path string, t clientsetup.Target) ([]codexHook, error) {
	answer, err := appServer(ctx, path, t.Folder, "hooks/list", map[string]any{"cwds": []string{t.Folder}})
	if err != nil {
		return nil, err
	}
	var listed struct {
		Data []struct {
			Hooks []codexHook `json:"hooks"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &listed); err != nil {
		return nil, fault.New(fault.ToolFailed, "codex app-server: %w", err)
	}
	var hooks []codexHook
	for _, each := range listed.Data {
		for _, hook := range each.Hooks {
			if hook.Trust != "trusted" && hook.Trust != "managed" && t.IsHookLine("codex", hook.Command) {
				hooks = append(hooks, hook)
			}
		}
	}
	return hooks, nil
}
