package mount

import (
	"context"
	"maps"
	"slices"

	"savant/engines"
	"savant/engines/mcpclient"
	"savant/fault"
)

// Why a tool differs from its pin.
const (
	isChanged = "its definition has changed since it was approved"
	isNew     = "it is new and was not approved"
	isGone    = "the server does not list it any more"
)

// adopt compares a server's list with its pin and publishes the pinned tools; those
// that differ are refused when they are called. If there is no pin yet, it pins the list (trust on first use); if the list has no usable
// tool, the next start tries again.
func (s *server) adopt(began *session) error {
	s.adopting.Lock()
	defer s.adopting.Unlock()
	s.mutex.Lock()
	definitions := slices.Clone(began.definitions)
	s.mutex.Unlock()
	pins, refused := pinAll(definitions)
	var trusted *pinnedServer
	err := pinServer(s.root, s.entry.name, func(held *pinnedServer) *pinnedServer {
		if trusted = held; held != nil {
			return nil
		}
		trusted = &pinnedServer{Tools: pins}
		if len(pins) == 0 {
			return nil
		}
		return trusted
	})
	if err != nil {
		return err
	}
	changed := compare(trusted.Tools, pins)
	maps.DeleteFunc(changed, func(tool, _ string) bool { return !s.entry.offers(tool) })
	s.mutex.Lock()
	s.trusted, s.changed, s.refused = trusted, changed, refused
	s.mutex.Unlock()
	return s.publish(slices.Collect(maps.Keys(trusted.Tools)))
}

// pinAll returns the pins of definitions, by name; refused holds the reasons of those
// that cannot be pinned. Of two definitions with one name the first counts.
func pinAll(definitions []mcpclient.Definition) (pins map[string]pin, refused map[string]string) {
	pins, refused = map[string]pin{}, map[string]string{}
	for _, each := range definitions {
		made, err := pinOf(each)
		_, twice := pins[each.Name]
		switch {
		case each.Name == "":
			refused["(without a name)"] = "it cannot be called"
		case err != nil:
			refused[each.Name] = fault.From(err).Message()
		case twice:
			refused[each.Name] = "the server lists it with two definitions, and the first counts"
		default:
			pins[each.Name] = made
		}
	}
	return pins, refused
}

// compare returns the tools that differ from their pins, with the reason.
func compare(trusted, now map[string]pin) map[string]string {
	changed := map[string]string{}
	for name := range trusted {
		if _, listed := now[name]; !listed {
			changed[name] = isGone
		}
	}
	for name, each := range now {
		held, known := trusted[name]
		switch {
		case !known:
			changed[name] = isNew
		case held.Digest != each.Digest:
			changed[name] = isChanged
		}
	}
	return changed
}

// publish puts the trusted definitions of tools, given by the server's names, into the
// registry, except unpublishable ones. A replaced server publishes nothing.
func (s *server) publish(tools []string) error {
	if s.life.Err() != nil {
		return nil
	}
	tools = slices.DeleteFunc(tools, func(tool string) bool { return !s.entry.offers(tool) })
	names, refused := canonicals(s.entry.name, s.others, tools)
	var published []engines.Tool
	for _, tool := range tools {
		if other := neighbour(s.entry.name, s.others, engines.Underscored(canonical(s.entry.name, tool))); other != "" {
			s.logger.Warn("a tool has another name, because clients would take its own for a tool of another server", "server", s.entry.name, "tool", fault.Cut(tool, 100), "other", other, "name", names[tool])
		}
	}
	for _, tool := range slices.Sorted(maps.Keys(names)) {
		made, err := s.tool(tool, names[tool])
		if err != nil {
			refused[tool] = fault.From(err).Message()
			s.logger.Warn("a tool is not published", "server", s.entry.name, "tool", fault.Cut(tool, 100), "reason", refused[tool])
			continue
		}
		published = append(published, made)
	}
	s.mutex.Lock()
	if s.refused == nil {
		s.refused = map[string]string{}
	}
	maps.Copy(s.refused, refused)
	s.mutex.Unlock()
	return s.registry.ReplaceTools(s.entry.name, published...)
}

// tool converts a trusted definition to a tool of the registry.
func (s *server) tool(tool, name string) (engines.Tool, error) {
	s.mutex.Lock()
	definition, known := s.definition(tool)
	s.mutex.Unlock()
	if !known {
		return engines.Tool{}, fault.New(fault.ToolChanged, "%s", isNew)
	}
	made, err := adaptSchema(s.entry.name, name, definition)
	if err != nil {
		return engines.Tool{}, err
	}
	for _, spelling := range []string{name, engines.Underscored(name)} {
		if other, taken := s.registry.Resolve(spelling); taken && engines.EngineOf(other.Name) != s.entry.name {
			return engines.Tool{}, fault.New(fault.IDCollision, "clients see the name %s for %s and for %s: rename the server %s in %s",
				engines.Underscored(name), name, other.Name, s.entry.name, File)
		}
	}
	made.Call = s.caller(tool, made.OutputCheck())
	return made, nil
}

// refusal returns why a tool may not be called now, or nil.
func (s *server) refusal(tool string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if why, is := s.changed[tool]; is {
		return fault.New(fault.ToolChanged, "the tool %s of %s was not called: %s; a person can review the change with: savant engines approve %s",
			fault.Cut(tool, 100), s.entry.name, why, s.entry.name)
	}
	return nil
}

// untried reports whether the server has no pin and was never started.
func (s *server) untried() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.trusted == nil && !s.entry.disabled && s.fixed == nil && s.failed == nil && s.starting == nil && s.live == nil
}

// discover starts a server without a pin, and waits until its tools are published or
// ctx ends.
func (s *server) discover(ctx context.Context) error {
	s.mutex.Lock()
	known := s.trusted != nil || s.entry.disabled || s.fixed != nil
	s.mutex.Unlock()
	if known {
		return nil
	}
	_, err := s.session(ctx)
	return err
}
