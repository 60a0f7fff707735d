// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostOfASentence is how many words a sentence may have: engineers read these pages at night.
const mostOfASentence = 20

var (
	// unread is no sentence: the page's metadata, code, comments and the targets of links.
	unread = regexp.MustCompile("(?ms)\\A---\n.*?\n---\n|^ *```.*?^ *```$|<!--.*?-->|<[^>\n]+>")
	// picture has a message as its text, which the demo prints.
	picture = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
	target  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	// inCode counts as one word.
	inCode  = regexp.MustCompile("`[^`\n]*`")
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	// part ends a sentence by the form of a page: an empty line, an item of a list, a callout,
	// a row or a cell of a table, and a dot between links.
	part = regexp.MustCompile(`\n\s*(?:[-*>]|\d+\.|->|~>|!>) |\n\s*\n|\||\s·\s`)
	// stop ends a sentence by its punctuation.
	stop = regexp.MustCompile(`[.!?](?:\*\*|["')])*\s+`)
	// word is in what counts as one: a letter or a digit.
	word = regexp.MustCompile(`[\pL\pN]`)
)

// sentences returns the sentences of a page of Markdown.
func sentences(page string) []string {
	page = unread.ReplaceAllString(page, "\n\n")
	page = heading.ReplaceAllString(page, "\n\n$1\n\n")
	page = picture.ReplaceAllString(page, "\n\n")
	page = target.ReplaceAllString(page, "$1")
	page = inCode.ReplaceAllString(page, "code")
	var out []string
	for _, p := range part.Split("\n"+page, -1) {
		for _, s := range stop.Split(p, -1) {
			if s = strings.Join(strings.Fields(s), " "); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

// wordsOf counts the words of a sentence.
func wordsOf(sentence string) int {
	count := 0
	for _, w := range strings.Fields(sentence) {
		if word.MatchString(w) {
			count++
		}
	}
	return count
}

func TestSentences_endByPunctuationAndByTheFormOfThePage(t *testing.T) {
	t.Parallel()
	page := "---\ntitle: no sentence\n---\n# A heading\nOne line\nand the next. A second!\n\n- **An item.** Its `kubectl get nodes` text\n" +
		"1. first\n-> A callout with [a link](https://example.com/a.b.c).\n\n| a cell | \"Quoted.\" Next |\n```shell\nno sentence\n```\n[One](a.md) · [Two](b.md)\n![no sentence](c.svg)\n"
	want := []string{
		"A heading", "One line and the next", "A second!", "**An item", "Its code text", "first", "A callout with a link.",
		"a cell", "\"Quoted", "Next", "One", "Two",
	}
	if got := sentences(page); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := wordsOf("nodes in waves – one code"); got != 5 {
		t.Errorf("%d words", got)
	}
}

// TestDocs_sentencesHaveTwentyWordsOrFewer, those of descriptions among them, which are
// in the generated pages. Records of decisions and measurements are for contributors.
func TestDocs_sentencesHaveTwentyWordsOrFewer(t *testing.T) {
	t.Parallel()
	read, all := pages(t), 0
	for _, page := range slices.Sorted(maps.Keys(read)) {
		if strings.Contains(page, "/adr/") || page == "CONTRIBUTING.md" {
			continue
		}
		for _, s := range sentences(read[page]) {
			all++
			if words := wordsOf(s); words > mostOfASentence {
				t.Errorf("%s: %d words: %s", page, words, s)
			}
		}
	}
	if t.Logf("%d sentences", all); all < 2000 {
		t.Fatalf("only %d sentences were found", all)
	}
}
