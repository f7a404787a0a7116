package settings

// Agent is what the agent may do.
type Agent struct {
	// DisableTools, DisableContext and DisableSearch deny all tools, context.*
	// and tools that search; AllowThink permits think.*.
	DisableTools, DisableContext, DisableSearch, AllowThink bool
	// DisableDetect: a goal never leads to a workflow by itself.
	DisableDetect bool
	// MaxSteps bounds the decisions of a run, RetryLimit how often a call that
	// failed and may be repeated is made again.
	MaxSteps, RetryLimit int
}

// maxAgentSteps and maxRepeats keep a run from going on for ever.
const (
	maxAgentSteps = 1000
	maxRepeats    = 10
)

func agentRows() []Setting {
	row := func(env, key, doc string, field func(*Settings) any) Setting {
		return Setting{Env: env, Key: key, Kind: Switch, Default: "false", Doc: doc, PerFolder: true, field: field}
	}
	guarded := func(row Setting) Setting {
		row.Guarded, row.PerFolder = true, false
		return row
	}
	perFolder := func(row Setting) Setting {
		row.PerFolder = true
		return row
	}
	number := func(env, key, standard, doc string, least, most int, field func(*Settings) any) Setting {
		return Setting{Env: env, Key: key, Kind: Number, Min: least, Max: most, Default: standard, Doc: doc, field: field}
	}
	return []Setting{
		perFolder(number("AGENT_MAX_STEPS", "agent.max_steps", "25", "highest number of decisions in a run", 1, maxAgentSteps,
			func(s *Settings) any { return &s.Agent.MaxSteps })),
		perFolder(number("AGENT_RETRY_LIMIT", "agent.retry_limit", "1",
			"how often the agent repeats a failed call of a read-only or idempotent tool", 0, maxRepeats,
			func(s *Settings) any { return &s.Agent.RetryLimit })),
		number("", "agent.prompt.slm_budget_tokens", "8000",
			"largest prompt for the small model, in estimated tokens", minBudget, maxBudget, func(s *Settings) any { return &s.Reasoning.SLMBudget }),
		number("", "agent.prompt.llm_budget_tokens", "32000",
			"largest prompt for the large model, in estimated tokens", minBudget, maxBudget, func(s *Settings) any { return &s.Reasoning.LLMBudget }),
		row("AGENT_DISABLE_TOOLS", "agent.disable_tools", "the agent may call no tool",
			func(s *Settings) any { return &s.Agent.DisableTools }),
		row("AGENT_DISABLE_CONTEXT_TOOLS", "agent.disable_context_tools", "the agent may not call context.*",
			func(s *Settings) any { return &s.Agent.DisableContext }),
		row("AGENT_DISABLE_SEARCH_TOOLS", "agent.disable_search_tools", "the agent may not call tools that search",
			func(s *Settings) any { return &s.Agent.DisableSearch }),
		guarded(row("AGENT_ALLOW_THINK_TOOLS", "agent.allow_think_tools", "the agent may call think.*",
			func(s *Settings) any { return &s.Agent.AllowThink })),
		row("AGENT_DISABLE_WORKFLOW_AUTODETECT", "agent.disable_workflow_autodetect",
			"a goal never leads to a workflow by itself", func(s *Settings) any { return &s.Agent.DisableDetect }),
	}
}
