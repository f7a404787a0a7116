package graph

import (
	"fmt"
	"strings"
)

// Curve converts the points of an edge to an SVG path: straight within rows, bent between
// them.
func Curve(points []Point) string {
	if len(points) == 0 {
		return ""
	}
	var path strings.Builder
	fmt.Fprintf(&path, "M%d %d", points[0].X, points[0].Y)
	for i := 1; i < len(points); i++ {
		from, to := points[i-1], points[i]
		switch middle := (from.Y + to.Y) / 2; {
		case from == to:
		case from.X == to.X:
			fmt.Fprintf(&path, "V%d", to.Y)
		default:
			fmt.Fprintf(&path, "C%d %d %d %d %d %d", from.X, middle, to.X, middle, to.X, to.Y)
		}
	}
	return path.String()
}
