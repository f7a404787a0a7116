package expression

// Limits of a source. The parser of expr-lang recurses: 3,000,000 parentheses
// are a fatal stack overflow, so the length is checked before parsing.
const (
	// maxSource is in bytes.
	maxSource = 1024
	// maxNodes bounds the nodes of a parsed expression.
	maxNodes = 1000
	// maxVisits bounds the walk over the parsed tree. It exceeds maxNodes because nodes
	// can be shared: a < b < c and a ?: b use one node twice, and nesting doubles the
	// work at every level.
	maxVisits = 2000
	// longer is how many times as long the source of a rule may be, see Scope.Roots.
	longer = 8
)

// Limits of one evaluation.
const (
	// maxSteps is spent one for every operation and every turn of a
	// predicate, and more by operations whose cost grows with a value. All of
	// them take some 20 ms (BenchmarkBudget).
	maxSteps = 200_000
	// maxItems bounds the list and object items created.
	maxItems = 20_000
	// maxText is the bytes of one created text, maxAllText of all of them.
	maxText    = 1 << 20
	maxAllText = 8 << 20
	// maxPattern is the bytes of a regular expression, maxInstructions the
	// size of its program: matching costs their product with the text.
	maxPattern      = 256
	maxInstructions = 1000
)

// Limits of a result. The parts of a value can be shared, so a short expression can
// make one that is small in memory and enormous when written.
const (
	maxResultValues = 1_000_000
	maxResultText   = 16 << 20
	// maxDepth is the nesting that package jsonvalue accepts.
	maxDepth = 200
)

// bytesPerStep is how much text is scanned for one step, nodesPerStep how much
// of a predicate is evaluated for one: its literals and jumps are not calls.
const (
	bytesPerStep = 256
	nodesPerStep = 8
)
