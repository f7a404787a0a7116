package flow

import (
	"strconv"

	"gopkg.in/yaml.v3"
)

// ReadYAMLPlaces is ReadYAML for files whose meaning another package checks: it
// also says where a value stands, by its path as diagnostics write it
// ("commands.tests.args[0]"). Line and column count from 1; those of a member
// are its key's, those of a path that is not there are zero.
func ReadYAMLPlaces(file string, src []byte) (value any, at func(path string) (line, column int), err error) {
	r := &report{file: file}
	root := r.readSource(src)
	if err := r.failure(file); err != nil {
		return nil, nil, err
	}
	places := map[string]place{}
	locate(root, "", places)
	return valueOf(root), func(path string) (int, int) { return places[path].line, places[path].column }, nil
}

// locate notes where a node and all below it stand.
func locate(node *yaml.Node, path string, places map[string]place) {
	if _, known := places[path]; !known {
		places[path] = place{node.Line, node.Column}
	}
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, below := node.Content[i], join(path, node.Content[i].Value)
			if _, known := places[below]; !known {
				places[below] = place{key.Line, key.Column}
			}
			locate(node.Content[i+1], below, places)
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			locate(item, path+"["+strconv.Itoa(i)+"]", places)
		}
	}
}
