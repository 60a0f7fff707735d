// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package yamledit

import (
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// json writes content as JSON, which is YAML in flow style as well.
func (c content) json(rest []string) string {
	if len(rest) > 0 {
		return "{" + quoted(rest[0]) + ": " + c.json(rest[1:]) + "}"
	}
	if c.scalar != nil {
		return quoted(*c.scalar)
	}
	entries := make([]string, len(c.list))
	for i, entry := range c.list {
		fields := make([]string, len(entry))
		for j, f := range entry {
			fields[j] = quoted(f.Name) + ": " + quoted(f.Value)
		}
		entries[i] = "{" + strings.Join(fields, ", ") + "}"
	}
	return "[" + strings.Join(entries, ", ") + "]"
}

func quoted(value any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // Strings and numbers can be written.
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// insertInFlow writes content at the end of a mapping in flow style.
func (d *Document) insertInFlow(in *yaml.Node, rest []string, c content) string {
	return d.behind(in, quoted(rest[0])+": "+c.json(rest[1:]))
}

// behind writes text at the end of a collection in flow style.
func (d *Document) behind(in *yaml.Node, text string) string {
	place := d.offset(in) + 1
	if last := len(in.Content) - 1; last >= 0 {
		place, text = d.flowEnd(d.offset(in.Content[last])), ", "+text
	}
	return d.text[:place] + text + d.text[place:]
}

// removeFromFlow takes nodes out of a collection in flow style, with the comma beside them.
func (d *Document) removeFromFlow(in *yaml.Node, first, count int) (string, error) {
	begin, end := d.offset(in.Content[first]), d.flowEnd(d.offset(in.Content[first+count-1]))
	switch {
	case first+count < len(in.Content):
		end = d.offset(in.Content[first+count])
	case first > 0:
		begin = d.flowEnd(d.offset(in.Content[first-1]))
	}
	return d.text[:begin] + d.text[end:], nil
}

// changeFlowList makes a list in flow style have these entries. Those that are there keep their text.
func (d *Document) changeFlowList(list *yaml.Node, entries []Entry, wanted []any) (string, error) {
	added, kept := align(list, wanted)
	texts := []string{}
	for before := range len(list.Content) + 1 {
		if before > 0 && kept[before-1] {
			begin := d.offset(list.Content[before-1])
			texts = append(texts, d.text[begin:d.flowEnd(begin)])
		}
		for _, i := range added[before] {
			one := content{list: entries[i : i+1]}.json(nil)
			texts = append(texts, one[1:len(one)-1])
		}
	}
	if len(kept) == len(list.Content) && len(added) == 1 && len(added[len(list.Content)]) > 0 {
		// An addition at the end leaves everything between the others as it is.
		return d.behind(list, strings.Join(texts[len(list.Content):], ", ")), nil
	}
	if last := len(list.Content); len(added) == 0 && !kept[last-1] && len(kept) == last-1 {
		return d.removeFromFlow(list, last-1, 1)
	}
	begin := d.offset(list)
	return d.text[:begin] + "[" + strings.Join(texts, ", ") + "]" + d.text[d.flowEnd(begin):], nil
}

// flowEnd returns where a value in flow style ends that begins at an offset.
func (d *Document) flowEnd(begin int) int {
	text := d.text
	switch text[begin] {
	case '"', '\'':
		return quoteEnd(text, begin)
	case '[', '{':
		return bracketEnd(text, begin)
	}
	end := begin
	for end < len(text) && !strings.ContainsRune(",]}\n\r", rune(text[end])) && !strings.HasPrefix(text[end:], " #") && !strings.HasPrefix(text[end:], ": ") {
		end++
	}
	return begin + len(strings.TrimRight(text[begin:end], " \t"))
}

func bracketEnd(text string, begin int) int {
	depth := 0
	for at := begin; at < len(text); at++ {
		switch char := text[at]; {
		case char == '"' || char == '\'' && !slices.Contains(letters, text[at-1]):
			at = quoteEnd(text, at) - 1
		case char == '#' && strings.ContainsRune(" \t\n", rune(text[at-1])):
			for at < len(text) && text[at] != '\n' {
				at++
			}
		case char == '[' || char == '{':
			depth++
		case char == ']' || char == '}':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return len(text)
}

// letters are in front of an apostrophe that is part of a word.
var letters = []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")

func quoteEnd(text string, begin int) int {
	quote := text[begin]
	for at := begin + 1; at < len(text); at++ {
		switch {
		case quote == '"' && text[at] == '\\':
			at++
		case text[at] == quote && quote == '\'' && strings.HasPrefix(text[at+1:], "'"):
			at++
		case text[at] == quote:
			return at + 1
		}
	}
	return len(text)
}
