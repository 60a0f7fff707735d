// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package yamledit

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// content is what is written at a place: a list, or a string.
type content struct {
	list   []Entry
	scalar *string
}

// insert writes content that is not there yet below a place. Errors: *Error.
func (d *Document) insert(at place, rest []string, c content) (string, error) {
	in := d.mapping(at)
	switch {
	case in != nil && flow(in):
		return d.insertInFlow(in, rest, c), nil
	case at.key == nil:
		return d.append(in, rest, c)
	case flow(at.parent):
		return "", &Error{at.key.Line, "the field " + at.key.Value + " holds nothing: give it the value {}"}
	case in != nil && in.Content[0].Line == at.key.Line:
		return "", &Error{at.key.Line, "the field " + at.key.Value + " is written in an unusual way"}
	}
	column := at.key.Column - 1
	switch {
	case in != nil:
		column = in.Content[0].Column - 1
	case len(rest) > 0:
		column += 2
	}
	lines, after := slices.Clone(d.lines), at.key.Line-1
	if in == nil && at.value.Value != "" {
		// A null that is written out is in the way.
		if at.value.Line != at.key.Line {
			return "", &Error{at.key.Line, "the field " + at.key.Value + " is written in an unusual way"}
		}
		begin := d.offset(at.value) - len(strings.Join(lines[:after], ""))
		lines[after] = strings.TrimRight(lines[after][:begin], " ") + lines[after][begin+len(at.value.Value):]
	}
	if !strings.HasSuffix(lines[after], "\n") {
		lines[after] += d.newline()
		return strings.TrimSuffix(strings.Join(append(lines, d.block(rest, c, column)...), ""), d.newline()), nil
	}
	return strings.Join(slices.Insert(lines, after+1, d.block(rest, c, column)...), ""), nil
}

// append writes content at the end of the text.
func (d *Document) append(root *yaml.Node, rest []string, c content) (string, error) {
	column := 0
	if root != nil {
		column = root.Content[0].Column - 1
	}
	if slices.ContainsFunc(d.lines, func(line string) bool { return strings.HasPrefix(line, "...") }) {
		return "", &Error{Message: "the end of the document is marked by ...: remove that line"}
	}
	text := strings.Join(d.block(rest, c, column), "")
	if d.text == "" || strings.HasSuffix(d.text, "\n") {
		return d.text + text, nil
	}
	// It stays a text whose last line has no end, so that it is as it was when this goes.
	return d.text + d.newline() + strings.TrimSuffix(text, d.newline()), nil
}

// block writes content in lines that begin at a column.
func (d *Document) block(rest []string, c content, column int) []string {
	var out []string
	line := func(column int, text string) { out = append(out, strings.Repeat(" ", column)+text+d.newline()) }
	for i, name := range rest {
		text := scalar(name) + ":"
		if c.scalar != nil && i == len(rest)-1 {
			text += " " + scalar(*c.scalar)
		}
		line(column+2*i, text)
	}
	column += 2 * max(0, len(rest)-1)
	for _, entry := range c.list {
		for i, f := range entry {
			lead := "  "
			if i == 0 {
				lead = "- "
			}
			line(column, lead+scalar(f.Name)+": "+scalar(f.Value))
		}
	}
	return out
}

// scalar writes a value of one line, in quotes where it needs them.
func scalar(value any) string {
	out, err := yaml.Marshal(value)
	if err != nil {
		panic(err) // Strings and numbers can be written.
	}
	return strings.TrimSuffix(string(out), "\n")
}

// remove takes a field away, and the one that holds it where it holds nothing else.
func (d *Document) remove(at place) (string, error) {
	last := at.up != nil && len(at.parent.Content) == 2
	switch {
	case flow(at.parent) && last && flow(at.up.parent), !flow(at.parent) && last && !d.explained(*at.up):
		return d.remove(*at.up)
	case flow(at.parent):
		return d.removeFromFlow(at.parent, slices.Index(at.parent.Content, at.key), 2)
	}
	begin := at.key.Line - 1
	return d.without(d.contents(begin, d.end(begin, at.key.Column-1, at.value))), nil
}

// explained reports whether a user has written a comment into a field.
func (d *Document) explained(at place) bool {
	if at.key.LineComment+at.value.LineComment+at.value.HeadComment != "" {
		return true
	}
	begin := at.key.Line - 1
	if strings.Contains(d.lines[begin], "#") {
		return true
	}
	for _, line := range d.lines[begin+1:] {
		switch {
		case blank(line):
		case indent(line) <= at.key.Column-1:
			return false
		case comment(line):
			return true
		}
	}
	return false
}

// end returns the last line of a field or an entry that begins at a line and a column. Comments and
// blank lines behind it belong to what follows.
func (d *Document) end(begin, column int, value *yaml.Node) int {
	// The entries of a list may begin in the column of its key.
	dashes := value != nil && value.Kind == yaml.SequenceNode && !flow(value) && value.Column-1 == column
	end := begin
	for i, line := range d.lines[begin+1:] {
		switch {
		case blank(line), comment(line):
		case indent(line) > column, dashes && strings.HasPrefix(line[column:], "-") && indent(line) == column:
			end = begin + 1 + i
		default:
			return end
		}
	}
	return end
}

// contents returns the lines of a range that are no comments.
func (d *Document) contents(begin, end int) []int {
	var out []int
	for i := begin; i <= end; i++ {
		if i == begin || !comment(d.lines[i]) {
			out = append(out, i)
		}
	}
	return out
}

// without returns the text without some lines.
func (d *Document) without(gone []int) string {
	var b strings.Builder
	for i, line := range d.lines {
		if !slices.Contains(gone, i) {
			b.WriteString(line)
		}
	}
	return d.ended(b.String())
}

// ended returns a text that ends as the document does.
func (d *Document) ended(text string) string {
	if !strings.HasSuffix(d.text, "\n") {
		return strings.TrimSuffix(text, d.newline())
	}
	return text
}

// changeBlockList makes a list have these entries. Those that are there keep their lines.
func (d *Document) changeBlockList(list *yaml.Node, entries []Entry, wanted []any) string {
	added, kept := align(list, wanted)
	lines := make([]string, len(d.lines))
	copy(lines, d.lines)
	if last := len(lines) - 1; !strings.HasSuffix(lines[last], "\n") {
		lines[last] += d.newline()
	}
	column := list.Column - 1
	var begins, ends []int
	for _, item := range list.Content {
		begin := item.Line - 1
		for begin > 0 && (indent(d.lines[begin]) != column || !strings.HasPrefix(d.lines[begin][column:], "-")) {
			begin--
		}
		begins, ends = append(begins, begin), append(ends, d.end(begin, column, nil))
	}
	for i := range list.Content {
		if !kept[i] {
			for _, line := range d.contents(begins[i], ends[i]) {
				lines[line] = ""
			}
		}
	}
	for before, indexes := range added {
		var text string
		for _, i := range indexes {
			text += strings.Join(d.block(nil, content{list: entries[i : i+1]}, column), "")
		}
		if before == 0 {
			lines[begins[0]] = text + lines[begins[0]]
		} else {
			lines[ends[before-1]] += text
		}
	}
	return d.ended(strings.Join(lines, ""))
}

// align returns which of the wanted entries are added after how many of those that are there, and
// which of these stay.
func align(list *yaml.Node, wanted []any) (added map[int][]int, kept map[int]bool) {
	added, kept = map[int][]int{}, map[int]bool{}
	next := 0
	for i, entry := range wanted {
		same := slices.IndexFunc(list.Content[next:], func(item *yaml.Node) bool { return reflect.DeepEqual(decoded(item), entry) })
		if same < 0 {
			added[next] = append(added[next], i)
			continue
		}
		next += same + 1
		kept[next-1] = true
	}
	return added, kept
}

func decoded(node *yaml.Node) any {
	var value any
	_ = node.Decode(&value) // The whole text was decoded before.
	return plain(value)
}

func blank(line string) bool   { return strings.TrimSpace(line) == "" }
func comment(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") }
func indent(line string) int   { return len(line) - len(strings.TrimLeft(line, " ")) }
