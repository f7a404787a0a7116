package settings

import "strconv"

// Agent is what the agent may do.
type Agent struct {
	// DisableTools, DisableContext and DisableSearch deny all tools, context.*
	// and tools that search; AllowThink permits think.*.
	DisableTools, DisableContext, DisableSearch, AllowThink bool
	// DisableDetect: a goal never leads to a workflow by itself.
	DisableDetect bool
}

func agentRows() []Setting {
	row := func(flag, env, key, doc string, of func(*Agent) *bool) Setting {
		return Setting{Flag: flag, Env: env, Key: key, Kind: Switch, Default: "false", Doc: doc, set: func(into *Settings, value string) error {
			given, err := strconv.ParseBool(value)
			if err != nil {
				return unfit("true or false, 1 or 0")
			}
			*of(&into.Agent) = given
			return nil
		}}
	}
	return []Setting{
		row("agent-disable-tools", "AGENT_DISABLE_TOOLS", "agent.disable_tools", "the agent may call no tool", func(a *Agent) *bool { return &a.DisableTools }),
		row("agent-disable-context-tools", "AGENT_DISABLE_CONTEXT_TOOLS", "agent.disable_context_tools", "the agent may not call context.*",
			func(a *Agent) *bool { return &a.DisableContext }),
		row("agent-disable-search-tools", "AGENT_DISABLE_SEARCH_TOOLS", "agent.disable_search_tools", "the agent may not call tools that search",
			func(a *Agent) *bool { return &a.DisableSearch }),
		row("agent-allow-think-tools", "AGENT_ALLOW_THINK_TOOLS", "agent.allow_think_tools", "the agent may call think.*",
			func(a *Agent) *bool { return &a.AllowThink }),
		row("agent-disable-workflow-autodetect", "AGENT_DISABLE_WORKFLOW_AUTODETECT", "agent.disable_workflow_autodetect",
			"a goal never leads to a workflow by itself", func(a *Agent) *bool { return &a.DisableDetect }),
	}
}
