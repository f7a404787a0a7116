package graph

import "math/big"

// Reduce returns the transitive reduction of an acyclic graph: it drops the edges
// that a longer path implies. The other edges keep their order.
func Reduce(nodes int, edges []Edge) []Edge {
	below := make([][]int, nodes)
	for _, edge := range edges {
		below[edge.From] = append(below[edge.From], edge.To)
	}
	reach := make([]*big.Int, nodes) // the nodes reachable from a node
	var visit func(int)
	visit = func(i int) {
		if reach[i] != nil {
			return
		}
		reach[i] = new(big.Int)
		for _, to := range below[i] {
			visit(to)
			reach[i].Or(reach[i], reach[to])
			reach[i].SetBit(reach[i], to, 1)
		}
	}
	for i := range nodes {
		visit(i)
	}
	var out []Edge
	for _, edge := range edges {
		implied := false
		for _, by := range below[edge.From] {
			implied = implied || by != edge.To && reach[by].Bit(edge.To) == 1
		}
		if !implied {
			out = append(out, edge)
		}
	}
	return out
}
