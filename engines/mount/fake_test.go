package mount_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// fakeMode makes the test binary an MCP server; fakeTools names a file with
// the JSON of the tools it lists.
const (
	fakeMode  = "FAKE_MODE"
	fakeTools = "FAKE_TOOLS"
)

// request is what the fake server reads.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		RequestID json.RawMessage
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
}

// fake is a small MCP server that misbehaves when asked to.
type fake struct{ mode string }

func (f fake) say(message map[string]any) {
	message["jsonrpc"] = "2.0"
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(message) == nil {
		_, _ = os.Stdout.Write(line.Bytes())
	}
}

func (f fake) serve() {
	switch f.mode {
	case "dead":
		fmt.Fprintln(os.Stderr, "noise\nError: no module for hunter2hunter2\n    at main\n}\n\x1b[31mgone\x1b[0m")
		os.Exit(3)
	case "mute":
		select {}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "noisy":
		fmt.Println("Welcome to the server!\n{not json}\n[1,2]\n\"text\"\n{\"jsonrpc\":\"2.0\",\"params\":[1]}")
		for range 2000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("flood ", 1000)+"hunter2hunter2")
		}
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var asked request
		if json.Unmarshal(line, &asked) == nil {
			f.answer(asked)
		}
	}
	if f.mode == "stubborn" {
		select {}
	}
}

func (f fake) answer(asked request) {
	switch asked.Method {
	case "initialize":
		if f.mode == "modern" {
			f.say(map[string]any{"id": asked.ID, "error": map[string]any{"code": -32601, "message": "no initialize"}})
			return
		}
		f.say(map[string]any{"id": asked.ID, "result": map[string]any{"protocolVersion": "2025-06-18",
			"capabilities": map[string]any{"tools": map[string]any{"listChanged": true}}, "serverInfo": map[string]any{"name": "fake", "version": "1"}}})
	case "server/discover":
		f.say(map[string]any{"id": asked.ID, "result": map[string]any{"supportedVersions": []string{"2026-07-28"}, "capabilities": map[string]any{}}})
	case "tools/list":
		if string(listed()) == "silence" {
			return
		}
		f.say(map[string]any{"id": asked.ID, "result": map[string]any{"tools": listed()}})
	case "ping":
		if f.mode != "hung" {
			f.say(map[string]any{"id": asked.ID, "result": map[string]any{}})
		}
	case "tools/call":
		go f.call(asked)
	case "notifications/cancelled":
		fmt.Fprintln(os.Stderr, "cancelled", string(asked.Params.RequestID))
	}
}

// listed returns the tools of the file, or one that echoes.
func listed() json.RawMessage {
	data, err := os.ReadFile(os.Getenv(fakeTools))
	if err != nil {
		return json.RawMessage(`[{"name":"echo","description":"Echoes.","inputSchema":{"type":"object"}}]`)
	}
	return data
}

func text(said string) []any { return []any{map[string]any{"type": "text", "text": said}} }

func (f fake) call(asked request) {
	result := map[string]any{"content": text("done")}
	var arguments struct {
		Do string `json:"do"`
	}
	_ = json.Unmarshal(asked.Params.Arguments, &arguments)
	switch arguments.Do {
	case "crash":
		fmt.Fprintln(os.Stderr, "panic: nil map of "+os.Getenv("API_TOKEN"))
		os.Exit(2)
	case "hang":
		return
	case "trace":
		fmt.Println("Traceback: no module named x, key " + os.Getenv("API_TOKEN"))
		return
	case "fail":
		result = map[string]any{"content": text("it broke: " + os.Getenv("API_TOKEN")), "isError": true}
	case "huge":
		result = map[string]any{"content": text(strings.Repeat("x", 17<<20))}
	case "image":
		result = map[string]any{"content": []any{map[string]any{"type": "image", "data": "AAAA", "mimeType": "image/png"}}}
	case "structured":
		result = map[string]any{"content": text("seen"), "structuredContent": map[string]any{"n": json.Number("9007199254740993")}}
	case "two":
		result = map[string]any{"content": append(text("notes"), text("readme")...)}
	case "list":
		result = map[string]any{"content": text("[1]")}
	case "json":
		result = map[string]any{"content": text(`{"a": 1}`)}
	case "fits":
		result = map[string]any{"content": text(`{"n": 7}`)}
	case "wait":
		for i := range 3 {
			f.say(map[string]any{"method": "notifications/progress", "params": map[string]any{"progressToken": asked.Params.Meta.Token, "progress": i + 1, "total": 3, "message": "step"}})
		}
	case "env":
		result = map[string]any{"content": text(strings.Join(os.Environ(), "\n"))}
	case "child":
		child := exec.Command("sleep", "600")
		if child.Start() == nil {
			result = map[string]any{"content": text(fmt.Sprint(child.Process.Pid))}
		}
	case "relist":
		f.say(map[string]any{"method": "notifications/tools/list_changed"})
	case "ask":
		f.say(map[string]any{"id": "q1", "method": "sampling/createMessage", "params": map[string]any{}})
		f.say(map[string]any{"id": "q2", "method": "roots/list"})
	case "rpc":
		f.say(map[string]any{"id": asked.ID, "error": map[string]any{"code": -32602, "message": "bad " + os.Getenv("API_TOKEN")}})
		return
	case "arguments":
		result = map[string]any{"content": []any{}, "structuredContent": asked.Params.Arguments}
	}
	f.say(map[string]any{"id": asked.ID, "result": result})
}

// gone waits for a process to be gone, for a minute or more.
func gone(pid int) bool {
	for range 6000 {
		if process, err := os.FindProcess(pid); err != nil || process.Signal(syscall.Signal(0)) != nil {
			return true
		}
		// A zombie of somebody else counts as gone.
		if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(state), ") Z ") {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}
