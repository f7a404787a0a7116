package settings

// Telemetry says where traces go, as the variables of OpenTelemetry do.
type Telemetry struct {
	// Endpoint is the address of a collector; empty: no traces are made.
	Endpoint string
	// Headers go with every request to it, as name=value,name=value.
	Headers string
}

// EnvOTLPEndpoint names the address of a collector.
const EnvOTLPEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"

func telemetryRows() []Setting {
	return []Setting{
		{Env: EnvOTLPEndpoint, Key: "telemetry.otlp_endpoint", Kind: Address, Guarded: true,
			Doc: "address of an OpenTelemetry collector that takes OTLP over HTTP; without one no traces are sent", field: func(s *Settings) any { return &s.Telemetry.Endpoint }},
		{Env: "OTEL_EXPORTER_OTLP_HEADERS", Key: "telemetry.otlp_headers", Secret: true, Guarded: true, SentTo: "telemetry.otlp_endpoint",
			Doc: "headers for it: name=value,name=value", field: func(s *Settings) any { return &s.Telemetry.Headers }},
	}
}
