// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// repository is the folder of the repository.
var repository = filepath.Join("..", "..")

// files returns what the files below a folder hold whose names end so, by their paths.
func files(t *testing.T, folder string, endings ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(filepath.Join(repository, folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		for _, ending := range endings {
			if strings.HasSuffix(path, ending) {
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				out[path] = string(text)
			}
		}
		return nil
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%s has %d files: %v", folder, len(out), err)
	}
	return out
}

// pages are all that people read.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := files(t, "docs", ".md")
	for _, name := range []string{"README.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(text)
	}
	return out
}

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// TestDocs_everyBlockOfConfigurationIsChecked: what a page shows as Terraform is an example,
// and "make generate" has a real command line validate these. What cannot be validated
// alone, because it is a part of a block or belongs to something else, is called hcl and
// must parse. Policies are examples as well: a test evaluates those for Open Policy Agent.
func TestDocs_everyBlockOfConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	examples := map[string]bool{}
	for _, text := range files(t, "examples", ".tf", ".tfquery.hcl", ".rego", ".sentinel") {
		examples[strings.TrimSpace(text)] = true
	}
	blocks := 0
	for page, text := range pages(t) {
		for _, found := range fence.FindAllStringSubmatch(text, -1) {
			switch language, block := found[1], found[2]; language {
			case "terraform", "rego", "sentinel":
				blocks++
				if !examples[strings.TrimSpace(block)] {
					t.Errorf("%s: this is no file of examples:\n%s", page, block)
				}
			case "hcl":
				if _, errs := hclsyntax.ParseConfig([]byte(block), page, hcl.InitialPos); errs.HasErrors() {
					t.Errorf("%s: %s\n%s", page, errs, block)
				}
			case "shell", "text", "json", "yaml", "mermaid":
			default:
				t.Errorf("%s: a block in the language %q", page, language)
			}
		}
	}
	if blocks < 40 {
		t.Fatalf("only %d blocks were found", blocks)
	}
}

// TestDocs_pagesAreShortBeforeTheSchema: a page of a resource, an action or a data source
// reports what is needed before the schema; the rest is in guides.
func TestDocs_pagesAreShortBeforeTheSchema(t *testing.T) {
	t.Parallel()
	const most = 600
	for _, folder := range []string{"resources", "actions", "data-sources", "list-resources"} {
		for page, text := range files(t, filepath.Join("docs", folder), ".md") {
			before, _, found := strings.Cut(text, "\n## Schema\n")
			if words := len(strings.Fields(before)); !found || words > most {
				t.Errorf("%s has %d words before its schema (found: %t), and may have %d: move some to a guide", page, words, found, most)
			}
		}
	}
}

// TestDocs_recordsAreUnderFortyLines: a decision is read in a minute.
func TestDocs_recordsAreUnderFortyLines(t *testing.T) {
	t.Parallel()
	records, err := filepath.Glob("../../docs/adr/[0-9]*.md")
	if err != nil || len(records) < 14 {
		t.Fatalf("records: %d, %v", len(records), err)
	}
	for _, record := range records {
		text, err := os.ReadFile(record)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(text), "\n"); lines >= 40 {
			t.Errorf("%s has %d lines", record, lines)
		}
	}
}

// TestDocs_readmeIsOneScreen counts words outside of folds, pictures and targets of links: readers decide by one screen.
func TestDocs_readmeIsOneScreen(t *testing.T) {
	t.Parallel()
	const most = 350
	page := regexp.MustCompile(`(?s)<details>.*?</details>|!\[[^\]]*\]\([^)]*\)`).ReplaceAllString(pages(t)["README.md"], "")
	if words := len(strings.Fields(target.ReplaceAllString(page, "$1"))); words > most {
		t.Errorf("README.md has %d words outside of folds, and may have %d: fold some, or move them to a guide", words, most)
	}
}

// TestDocs_readmeShowsItsPlan: the picture is the plan inside the fold, and its description is
// the summary of that; "make readme-check" compares both with the demo's.
func TestDocs_readmeShowsItsPlan(t *testing.T) {
	t.Parallel()
	page := pages(t)["README.md"]
	plan := regexp.MustCompile("(?s)```text\n(Plan: .*?│ (Warning: [^\n]*)\n.*?)```").FindStringSubmatch(page)
	if plan == nil {
		t.Fatal("README.md shows no plan with a warning")
	}
	if picture := "![" + plan[2] + "](.github/plan.svg)"; !strings.Contains(page, picture) {
		t.Errorf("README.md does not show its plan as a picture:\n%s", picture)
	}
	drawing, err := os.ReadFile(filepath.Join(repository, ".github", "plan.svg"))
	if err != nil {
		t.Fatal(err)
	}
	// The picture breaks lines in another place, and has a title and the command.
	bare := func(text string) string { return regexp.MustCompile(`[\s│]`).ReplaceAllString(text, "") }
	drawn := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(drawing), ""))
	if got, want := bare(drawn), bare(plan[2]+"$ terraform plan"+plan[1]); got != want {
		t.Errorf("the picture shows another plan than the text: make readme\n%s\n%s", got, want)
	}
}

// TestDocs_picturesOfReadmeAreDescribed by the warning that they show, for who cannot see them.
func TestDocs_picturesOfReadmeAreDescribed(t *testing.T) {
	t.Parallel()
	pictures := regexp.MustCompile(`!\[(Warning: [^\]]*)\]\((\.github/[a-z]+\.svg)\)`).FindAllStringSubmatch(pages(t)["README.md"], -1)
	if len(pictures) != 2 {
		t.Errorf("README.md shows %d pictures with a description, want 2", len(pictures))
	}
	for _, picture := range pictures {
		drawing, err := os.ReadFile(filepath.Join(repository, picture[2]))
		if err != nil {
			t.Fatal(err)
		}
		title := regexp.MustCompile(`<title>(.*?)</title>`).FindStringSubmatch(string(drawing))
		if title == nil || html.UnescapeString(title[1]) != picture[1] {
			t.Errorf("%s has the title %q, and README.md describes it as %q", picture[2], title, picture[1])
		}
	}
}

// headings returns the anchors that GitHub and the registry give to the headings of a page,
// and those that the page sets itself.
func headings(text string) map[string]bool {
	out := map[string]bool{}
	for _, set := range regexp.MustCompile(`<a id="([^"]+)"`).FindAllStringSubmatch(text, -1) {
		out[set[1]] = true
	}
	dropped := regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		out[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-")] = true
	}
	return out
}

// TestDocs_linksLeadSomewhere: a link to a page of the repository names one that is there,
// and a heading that it has.
func TestDocs_linksLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]*))?\)`)
	links, anchors := 0, 0
	for page, text := range pages(t) {
		path := page
		if filepath.Dir(page) == "." {
			path = filepath.Join(repository, page)
		}
		for _, found := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			links++
			target := path
			if found[1] != "" {
				target = filepath.Join(filepath.Dir(path), found[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if found[2] == "" {
				continue
			}
			anchors++
			linked, err := os.ReadFile(target)
			if err != nil {
				t.Errorf("%s: %v", page, err)
			} else if !headings(string(linked))[found[2]] {
				t.Errorf("%s: %s has no heading #%s", page, found[1], found[2])
			}
		}
	}
	if links < 30 || anchors < 20 {
		t.Fatalf("only %d links were found, %d of them to headings", links, anchors)
	}
}

// TestDocs_pageListsTheKindsThatNeedNoPath: descriptions of attributes are too short for them.
func TestDocs_pageListsTheKindsThatNeedNoPath(t *testing.T) {
	t.Parallel()
	for _, page := range files(t, filepath.Join("docs", "resources"), "workload_tolerations.md") {
		_, after, _ := strings.Cut(page, "\n## Which kinds\n")
		section, _, _ := strings.Cut(after, "\n## ")
		rows := strings.Split(section, "\n")
		for _, kind := range append(workload.BuiltinKinds(), workload.OpenShiftKinds()...) {
			if !slices.ContainsFunc(rows, func(row string) bool {
				return strings.Contains(row, kind.Kind) && strings.Contains(row, "| not needed |") && (kind.Builtin || strings.Contains(row, "(`"+kind.Resource().Group+"`)"))
			}) {
				t.Errorf("the page does not list %s of %s as a kind that needs no path", kind.Kind, kind.APIVersion)
			}
		}
	}
}
