package workflow

import "github.com/goccy/go-yaml/token"

// What the parser is given at most: more than the grammar has, and little enough for it, whose time and stack grow with the
// depth of a text, and with the square of the fields of one mapping.
const (
	maxDepth    = 16  // brackets and braces
	maxIndent   = 200 // columns, outside of them
	maxSiblings = 2 * MaxFields
)

// plain refuses what the grammar does not have, before the parser sees it: with anchors and aliases a short text could be a
// very long one.
func (r *reader) plain(tokens token.Tokens) bool {
	before, depth := len(r.problems), 0
	var open siblings
	for _, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.TagType, token.MergeKeyType:
			r.wrongAt(t.Position, "anchors, aliases and tags are not allowed; put the text in quotes if it is meant as it is")
		case token.DirectiveType, token.MappingKeyType:
			r.wrongAt(t.Position, "directives and keys with ? are not allowed; put the text in quotes if it is meant as it is")
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
		block := depth <= 0 && (t.Type == token.SequenceEntryType || t.Type == token.MappingValueType)
		switch {
		case depth > maxDepth, block && t.Position.Column > maxIndent:
			r.wrongAt(t.Position, "this is nested too deep")
			return false
		case block && open.add(t) > maxSiblings:
			r.wrongAt(t.Position, "there are more than %d fields", maxSiblings)
			return false
		}
	}
	return len(r.problems) == before
}

// siblings counts the fields of the mappings that are open, outermost first, by the column of their keys.
type siblings []struct{ column, count int }

// add takes the hyphen of an item or the colon of a field, and returns how many fields the mapping has of which that is one.
func (s *siblings) add(t *token.Token) int {
	column := t.Position.Column
	if t.Type == token.MappingValueType && t.Prev != nil {
		column = t.Prev.Position.Column // of the key
	}
	open := *s
	for len(open) > 0 && open[len(open)-1].column > column {
		open = open[:len(open)-1]
	}
	defer func() { *s = open }()
	if t.Type != token.MappingValueType {
		return 0
	}
	if len(open) == 0 || open[len(open)-1].column < column {
		open = append(open, struct{ column, count int }{column: column})
	}
	last := &open[len(open)-1]
	last.count++
	return last.count
}
