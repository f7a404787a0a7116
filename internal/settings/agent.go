package settings

// Agent is what the agent may do.
type Agent struct {
	// DisableTools, DisableContext and DisableSearch deny all tools, context.*
	// and tools that search; AllowThink permits think.*.
	DisableTools, DisableContext, DisableSearch, AllowThink bool
	// DisableDetect: a goal never leads to a workflow by itself.
	DisableDetect bool
}

func agentRows() []Setting {
	row := func(flag, env, key, doc string, field func(*Settings) any) Setting {
		return Setting{Flag: flag, Env: env, Key: key, Kind: Switch, Default: "false", Doc: doc, field: field}
	}
	return []Setting{
		row("agent-disable-tools", "AGENT_DISABLE_TOOLS", "agent.disable_tools", "the agent may call no tool",
			func(s *Settings) any { return &s.Agent.DisableTools }),
		row("agent-disable-context-tools", "AGENT_DISABLE_CONTEXT_TOOLS", "agent.disable_context_tools", "the agent may not call context.*",
			func(s *Settings) any { return &s.Agent.DisableContext }),
		row("agent-disable-search-tools", "AGENT_DISABLE_SEARCH_TOOLS", "agent.disable_search_tools", "the agent may not call tools that search",
			func(s *Settings) any { return &s.Agent.DisableSearch }),
		row("agent-allow-think-tools", "AGENT_ALLOW_THINK_TOOLS", "agent.allow_think_tools", "the agent may call think.*",
			func(s *Settings) any { return &s.Agent.AllowThink }),
		row("agent-disable-workflow-autodetect", "AGENT_DISABLE_WORKFLOW_AUTODETECT", "agent.disable_workflow_autodetect",
			"a goal never leads to a workflow by itself", func(s *Settings) any { return &s.Agent.DisableDetect }),
	}
}
