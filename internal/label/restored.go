// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package label

// Restored returns the keys of labels that the claim's resource once gave up, and that a rollback of
// the object has brought back with their marks. They are not owned any more, since others can write an
// old mark, too.
func (c Claim) Restored(labels map[string]string, record Record) []string {
	var out []string
	for _, mark := range record {
		_, wanted := c.Labels[mark.Key]
		if _, there := labels[mark.Key]; there && !wanted && mark.Owner == c.Owner && mark.Generation == c.Generation && !c.owns(mark) && Ownable(mark.Key) {
			out = append(out, mark.Key)
		}
	}
	return out
}
