// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
)

// Found is what "terraform query" finds.
type Found struct {
	DisplayName string         `json:"display_name"`
	Identity    map[string]any `json:"identity"`
	Object      map[string]any `json:"resource_object"`
}

// Query runs "terraform query" with list blocks and more arguments, and returns what it
// finds, in order.
func (c *CLI) Query(blocks string, args ...string) []Found {
	c.t.Helper()
	c.NeedTerraform(14)
	must(c.t, os.WriteFile(filepath.Join(c.Dir, "main.tfquery.hcl"), []byte(blocks), 0o600))
	out, err := c.Command(append([]string{"query", "-json"}, args...)...).Output()
	if err != nil {
		c.t.Fatalf("query: %v\n%s", err, out)
	}
	var found []Found
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Type  string `json:"type"`
			Found Found  `json:"list_resource_found"`
		}
		must(c.t, json.Unmarshal(lines.Bytes(), &line))
		if line.Type == "list_resource_found" {
			found = append(found, line.Found)
		}
	}
	must(c.t, lines.Err())
	return found
}
