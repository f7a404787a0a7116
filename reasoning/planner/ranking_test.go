package planner_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/reasoning"
	"savant/reasoning/planner"
)

// shop is a project in which common words stand everywhere, and what is asked for once.
var shop = fstest.MapFS{
	"README.md": {Data: []byte("# Shop\n\nThe shop takes orders and sends parcels. An order has a customer and a price.\n\n" +
		"## Getting started\n\nRun `make start` and open the shop.\n")},
	"docs/settings.md": {Data: []byte("# Settings\n\n| variable | default | meaning |\n| --- | --- | --- |\n" +
		"| `SHOP_PATH` | `./` | the folder of the shop |\n| `SHOP_TIMEOUT_MS` | `3000` | how long a payment may take |\n\n" +
		"## Exit codes\n\n| code | meaning |\n| --- | --- |\n| 2 | wrong usage |\n| 7 | the till is closed |\n")},
	"docs/refunds.md": {Data: []byte("# Refunds\n\nA refund gives the price of an order back. At most three refunds of an order are possible.\n\n" +
		"## Approving a refund\n\nA clerk approves each refund over 100.\n")},
	"order/order.go": {Data: []byte("// Package order takes orders of customers.\npackage order\n\n// Order is what a customer buys, at a price.\ntype Order struct{ Price int }\n\n" +
		"// Take takes an order of a customer and checks its price.\nfunc Take(price int) Order { return Order{price} }\n")},
	"order/refund.go": {Data: []byte("package order\n\n// refundOrder gives the price of an order back to the customer.\nfunc refundOrder(o Order) int { return o.Price }\n\n" +
		"// validateRefund says whether an order may be refunded.\nfunc validateRefund(o Order) bool { return o.Price > 0 }\n")},
	"docs/carriers.md": {Data: []byte("# Carriers\n\nA carrier takes parcels.\n\n## Adding one\n\nWrite a type with `Take`, and add it to the list.\n")},
	"parcel/carrier.go": {Data: []byte("package parcel\n\n// Carrier takes parcels.\ntype Carrier interface{ Take(parcel int) }\n\n" +
		"// load adds a parcel to a carrier.\nfunc load(c Carrier, parcels int) {}\n")},
	"order/refund_groups.go": {Data: []byte("package order\n\n// validateRefundGroups validates refunds of orders: each order of a group may be refunded.\nfunc validateRefundGroups(orders []Order) bool {\n" +
		"\tfor _, order := range orders {\n\t\tif !validateRefund(order) {\n\t\t\treturn false\n\t\t}\n\t}\n\treturn true\n}\n")},
	"parcel/parcel.go": {Data: []byte("// Package parcel sends parcels to customers.\npackage parcel\n\n// Send sends the parcel of an order.\nfunc Send(order int) {}\n\n" +
		"// weigh returns the weight of a parcel in grams.\nfunc weigh() int { return 0 }\n")},
	"order/refund_test.go": {Data: []byte("package order\n\nimport \"testing\"\n\n// begin says that a refund may be made, for the tests of a refund.\nfunc begin() bool { return true }\n\n" +
		"// TestPriceIsGivenBack gives all of it.\nfunc TestPriceIsGivenBack(t *testing.T) { begin() }\n")},
	"examples/refunds/refund.go": {Data: []byte("package refunds\n\n// SendRefundLetter writes a letter.\nfunc SendRefundLetter() { order.SendRefundLetter() }\n")},
	"order/letter.go":            {Data: []byte("package order\n\n// SendRefundLetter writes a letter.\nfunc SendRefundLetter() {}\n")},
	"web/cart.test.ts":           {Data: []byte("import { cart } from './cart'\n\nconst full = cart(3) // a cart\n\nit('keeps the cart of a visitor', () => {\n  full.keep()\n})\n")},
	"docs/formats.md": {Data: []byte("# Formats\n\nThe labels of parcels have formats. Supported label formats have a number.\n\n" +
		"The shop prints labels as the formats PDF, PNG and SVG.\n\n" +
		"| kind | printed | meaning |\n| --- | --- | --- |\n" + strings.Repeat("| stamp | yes | it is stamped |\n", 20) + "| voucher | no | it is redeemed by a clerk |\n")},
	"parcel/label.go": {Data: []byte("package parcel\n\n// supportsLabelFormat says whether a format of labels is supported.\nfunc supportsLabelFormat(format string) bool { return format != \"\" }\n\n" +
		"// currencies are the coins that are accepted.\nvar currencies = []string{\n\t\"EUR\",\n\t\"USD\",\n}\n\n// acceptsCurrencies says whether currencies are accepted.\nfunc acceptsCurrencies() bool { return true }\n\n" +
		"type scan struct {\n\t// LabelChecksum is the checksum that a label has.\n\tLabelChecksum int\n}\n\n// verify compares the checksum of the label of a parcel.\nfunc verify() {}\n\n" +
		"// scan reads the bar code.\nfunc scan() {}\n\n// conceal keeps a parcel hidden from its receiver.\nfunc conceal() {}\n")},
	"LICENSE.txt":        {Data: []byte("The envelope is provided as is, for any purpose, without a warranty of an envelope.\n")},
	"docs/envelopes.rst": {Data: []byte("Post\n====\n\nThe post\n~~~~~~~~\n\nLetters have a stamp.\n\nThe envelope\n~~~~~~~~~~~~\n\nIt keeps a letter dry.\n")},
	"web/drawer.ts": {Data: []byte("// A drawer is emptied at night. It is emptied when the drawer is full.\nexport interface Drawer { emptied: boolean }\n\nclass Cash {\n" +
		"\t#emptyDrawer<T>(coins: T): void {\n\t\tcoins.take()\n\t}\n}\n\nconst night = new Cash()\nnight.drawer = 'emptied' // the drawer is emptied here\n")},
	"src/barcode.rs": {Data: []byte("/// Decodes the bars of a code.\npub fn decode(bars: &str) -> u32 { 0 }\n\n#[test]\nfn test_decode_bars() {\n    // bars are decoded\n    decode(\"bars\")\n}\n")},
	"docs/light.rst": {Data: []byte("Variables\n=========\n\n.. list-table::\n    :header-rows: 1\n\n    - - Variable\n      - Meaning\n    - - ``SHOP_ROAD``\n      - The road to the shop.\n" +
		"    - - ``SHOP_DIM``\n      - Whether dim roads are taken.\n    - - ``SHOP_LAMP``\n      - Set it to ``0`` to make it darker.\n")},
	"docs/cancel.md":      {Data: []byte("# Cancellation of orders\n\nA clerk does it.\n")},
	"src/pallet.rs":       {Data: []byte("/// Stacks a pallet.\npub fn stack() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn test_pallet_is_stacked() {\n        stack()\n    }\n}\n")},
	"order/order_test.go": {Data: []byte("package order\n\nimport \"testing\"\n\n// TestTake takes an order, not a pallet.\nfunc TestTake(t *testing.T) { Take(1) }\n")},
}

// TestTheBestPlaceComesFirst asks about a small project with the search that Savant has.
func TestTheBestPlaceComesFirst(t *testing.T) {
	w, tools := searched(t, shop)
	for goal, first := range map[string]string{
		"Where is an order refunded?":                          `order/refund.go:\d+, (refundOrder|validateRefund)\n`,
		"Where is a refund of an order validated?":             `order/refund.go:\d+, validateRefund\n`,
		"Which function weighs a parcel?":                      `parcel/parcel.go:\d+, weigh\n`,
		"What does exit code 7 mean?":                          `docs/settings.md:\d+, under "Exit codes"\n(.*\n)* .*\| 7 \| the till is closed \|`,
		"Which environment variable sets the folder?":          `docs/settings.md:\d+, under "Settings"\n(.*\n)* .*SHOP_PATH`,
		"What is the default timeout of a payment?":            `docs/settings.md:\d+, under "Settings"\n(.*\n)* .*3000`,
		"How many refunds of an order are possible?":           `docs/refunds.md:\d+, under "Refunds"\n(.*\n)* .*At most three`,
		"How do I approve a refund?":                           `docs/refunds.md:\d+, under "Approving a refund"`,
		"How do I get started with the shop?":                  `README.md:\d+, under "Getting started"`,
		"What is a refund?":                                    `docs/refunds.md:\d+, under "Refunds"`,
		"How do I add a carrier?":                              `docs/carriers.md:`,
		"Where is a refund validated?":                         `order/refund.go:\d+, validateRefund\n`,
		"Which tests cover an order?":                          `order/order_test.go:`,
		"Which tests cover refunds?":                           `order/refund_test.go:\d+, TestPriceIsGivenBack\n`,
		"What does SendRefundLetter do?":                       `order/letter.go:\d+, SendRefundLetter\n`,
		"Which tests cover the cart?":                          `web/cart.test.ts:5\n(.*\n)*? .*keeps the cart`,
		"Which label formats are supported?":                   `docs/formats.md:\d+(, under "Formats")?\n(.*\n)*? .*PDF, PNG and SVG`,
		"Which currencies are accepted?":                       `parcel/label.go:\d+, currencies\n(.*\n)*? .*"EUR",\n.*"USD",`,
		"Where is the checksum of a label verified?":           `parcel/label.go:\d+, verify\n`,
		"Where is the scanner?":                                `parcel/label.go:\d+, scan\n`,
		"Where does the shop hide a parcel?":                   `parcel/label.go:\d+, conceal\n`,
		"What does a voucher mean?":                            `docs/formats.md:\d+(, under "Formats")?\n .*\| voucher `,
		"What is the purpose of the envelope?":                 `docs/envelopes.rst:9, under "The envelope"`,
		"Where is the drawer emptied?":                         `web/drawer.ts:5, #emptyDrawer\n`,
		"Which tests cover the pallet?":                        `src/pallet.rs:7, test_pallet_is_stacked\n`,
		"How do I dim the lamp?":                               `docs/light.rst:13(, under "Variables")?\n.*SHOP_LAMP.*\n.*make it darker`,
		"Where are the bars decoded?":                          `src/barcode.rs:2, decode\n`,
		"Where are parcels of orders of the customers sent to": `parcel/parcel.go:`,
	} {
		_, final := pursue(t, w, reasoning.Request{Goal: goal, Tools: tools})
		_, answer, _ := strings.Cut(final, "\n1. ")
		answer, _, _ = strings.Cut(answer, "\n2. ")
		require.Regexp(t, regexp.MustCompile(`\A`+first), answer, "%s\n%s", goal, final)
		require.Contains(t, final, "Found for", goal)
		w.checkQuotes(t, final)
	}
	_, final := pursue(t, w, reasoning.Request{Goal: "Where is the unicorn of the shop fed?", Tools: tools})
	require.Contains(t, final, `Not found: "unicorn", "fed".`)
	require.Contains(t, final, "Nothing fits")
}

// A search that counts files decides which words are rare, not its own best hits.
func TestWordsWeighByTheFilesThatHaveThem(t *testing.T) {
	result := `{"counts":{"files":1000,"words":{"common":900,"rare":2}},"rows":[
		{"path":"a.go","line":1,"snippet":"// common","score":2},{"path":"b.go","line":1,"snippet":"// rare","score":2}]}`
	read := func(path, text string) reasoning.Outcome {
		return reasoning.Outcome{ToolName: "context.read", Args: json.RawMessage(`{}`), Result: json.RawMessage(`{"path":"` + path + `","start_line":1,"text":"` + text + `"}`)}
	}
	intent := planner.Plan(reasoning.Request{Goal: "Where is common rare?", Step: 2, Tools: offered, Limits: reasoning.Limits{StepsLeft: 1},
		LastOutput: []reasoning.Outcome{{ToolName: "context.search", Args: json.RawMessage(`{"query":"common rare"}`), Result: json.RawMessage(result)},
			read("a.go", "// common things"), read("b.go", "// rare things")}}, asked)
	require.Contains(t, intent.Final, "the best first: b.go:1")
	require.NotContains(t, intent.Final, "Nothing fits")
}

// A reading that begins in a table and ends in an example is not one example.
func TestTheRowsOfATableBeforeAnExampleAreRows(t *testing.T) {
	text := `| refund | given back |\n| parcel | sent |\n\n` + "```" + `\na refund of it\n`
	intent := planner.Plan(reasoning.Request{Goal: "What is a refund?", Step: 2, Tools: offered, Limits: reasoning.Limits{StepsLeft: 1},
		LastOutput: []reasoning.Outcome{{ToolName: "context.search", Args: json.RawMessage(`{"query":"refund"}`), Result: json.RawMessage(`{"rows":[{"path":"a.md","line":10,"snippet":"refund","score":2}]}`)},
			{ToolName: "context.read", Args: json.RawMessage(`{}`), Result: json.RawMessage(`{"path":"a.md","start_line":10,"text":"` + text + `"}`)}}}, asked)
	require.Contains(t, intent.Final, "\n1. a.md:10\n   > a.md:10: | refund | given back |\n2.")
}

// The words that say which kind of value is asked for count less than its meaning.
func TestTheRowOfAVariableComesBeforeTextAboutVariables(t *testing.T) {
	result := `{"counts":{"files":100,"words":{"environment":10,"variable":10,"sets":25,"folder":20,"shop":95}},"rows":[{"path":"docs/a.md","line":3,"snippet":"environment variable","score":2}]}`
	text := `# Settings\n\nA setting of the shop can be a flag, an environment variable, or a key of a file under SHOP_HOME.\n\n` +
		`| variable | meaning |\n| --- | --- |\n| SHOP_PATH | the folder of the shop; not set, it is this one |\n`
	intent := planner.Plan(reasoning.Request{Goal: "Which environment variable sets the folder of the shop?", Step: 2, Tools: offered, Limits: reasoning.Limits{StepsLeft: 1},
		LastOutput: []reasoning.Outcome{{ToolName: "context.search", Args: json.RawMessage(`{"query":"environment variable sets folder shop"}`), Result: json.RawMessage(result)},
			{ToolName: "context.read", Args: json.RawMessage(`{}`), Result: json.RawMessage(`{"path":"docs/a.md","start_line":1,"text":"` + text + `"}`)}}}, asked)
	require.Contains(t, intent.Final, "the best first: docs/a.md:7,")
}
