// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// span is a piece of a terminal's line in one style.
type span struct {
	text string
	bold bool
	// color is the number of ECMA-48's "select graphic rendition", 0 for none.
	color int
}

// line is a line of a terminal.
type line []span

// String returns the line without its styles.
func (l line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

var rendition = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// terminal reads what a command prints.
func terminal(output string) []line {
	var out []line
	style := span{}
	for text := range strings.Lines(output) {
		text = strings.TrimRight(text, "\n")
		var l line
		add := func(text string) {
			if text != "" {
				l = append(l, span{text, style.bold, style.color})
			}
		}
		at := 0
		for _, found := range rendition.FindAllStringSubmatchIndex(text, -1) {
			add(text[at:found[0]])
			style = style.with(text[found[2]:found[3]])
			at = found[1]
		}
		add(text[at:])
		out = append(out, l.trimmed())
	}
	return out
}

// with returns the style that a sequence selects. Command lines use these few.
func (s span) with(sequence string) span {
	for code := range strings.SplitSeq(sequence, ";") {
		switch code {
		case "", "0":
			s = span{}
		case "1":
			s.bold = true
		case "31", "32", "33", "36", "90":
			_, _ = fmt.Sscan(code, &s.color)
		}
	}
	return s
}

// trimmed drops the white space at the end of a line.
func (l line) trimmed() line {
	for len(l) > 0 {
		last := &l[len(l)-1]
		if last.text = strings.TrimRight(last.text, " "); last.text != "" {
			break
		}
		l = l[:len(l)-1]
	}
	return l
}

// bar is what a command line draws at the left of a warning.
const bar = "│ "

// folded breaks lines at spaces, so that they have so many columns at most, and goes on with
// the bar of a warning.
func folded(lines []line, columns int) []line {
	var out []line
	for _, l := range lines {
		first := line{}
		if len(l) > 0 && strings.HasPrefix(l.String(), bar) {
			first = line{{text: bar, color: l[0].color}}
		}
		for utf8.RuneCountInString(l.String()) > columns {
			at := strings.LastIndex(string([]rune(l.String())[:columns+1]), " ")
			if at <= len(first.String()) {
				break
			}
			head, tail := l.cut(at)
			out = append(out, head)
			l = append(append(line{}, first...), tail...)
		}
		out = append(out, l)
	}
	return out
}

// cut breaks a line at the space that begins at a byte, and drops the space.
func (l line) cut(at int) (head, tail line) {
	for i, s := range l {
		if at < len(s.text) {
			head = append(append(head, l[:i]...), span{s.text[:at], s.bold, s.color})
			rest := append(line{{s.text[at+1:], s.bold, s.color}}, l[i+1:]...)
			return head.trimmed(), rest
		}
		at -= len(s.text)
	}
	return l, nil
}

// The measures of the picture, in pixels. A character of the usual monospaced fonts is 0.6 of
// its size wide, and has 8 pixels here.
const (
	fontSize, charWidth, lineHeight, margin = 13, 8, 16, 14
	pictureColumns                          = 98
)

var palette = map[int]string{0: "#e6edf3", 31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 36: "#79c0ff", 90: "#8b949e"}

// picture draws lines as a terminal shows them, as SVG. The title is for who cannot see it.
func picture(title string, lines []line) string {
	lines = folded(lines, pictureColumns)
	escape := func(s string) string {
		var b bytes.Buffer
		_ = xml.EscapeText(&b, []byte(s))
		return b.String()
	}
	width, height := pictureColumns*charWidth+2*margin, len(lines)*lineHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img">`+"\n", width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", escape(title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#0d1117"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="%d">`+"\n", fontSize)
	for i, l := range lines {
		if len(l) == 0 {
			continue
		}
		fmt.Fprintf(&b, `<text xml:space="preserve" x="%d" y="%d">`, margin, margin+i*lineHeight+fontSize)
		for _, s := range l {
			weight := ""
			if s.bold {
				weight = ` font-weight="bold"`
			}
			fmt.Fprintf(&b, `<tspan fill="%s"%s>%s</tspan>`, palette[s.color], weight, escape(s.text))
		}
		b.WriteString("</text>\n")
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}
