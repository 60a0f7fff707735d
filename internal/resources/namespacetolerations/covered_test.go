// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package namespacetolerations_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// TestNamespaceTolerations_aLostPrivateStateOfCoveredEntries has a command line keep an empty private
// state, as after an update that was killed: entries that a foreign one covers have no record.
func TestNamespaceTolerations_aLostPrivateStateOfCoveredEntries(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "Unable to determine whether this state is from this cluster")
	for name, covered := range map[string]bool{"covered": true, "missing, as on another cluster": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				s, i := stageOn(t, c), fresh()
				s.annotate(map[string]*string{admission.DefaultsAnnotation: new(`[{"key":"team","operator":"Exists"}]`), admission.WhitelistAnnotation: new(theirAllowed)})
				config := s.config("team=a:NoSchedule", "theirs:NoExecute")
				s.tf.Settle(t, i, config)
				s.want("team Exists", theirAllowedEntries, 0)
				i.Private = nil
				if !covered {
					s.annotate(map[string]*string{admission.WhitelistAnnotation: nil})
					acctest.WantAll(t, s.tf.Plan(t, i, config).Diagnostics.Errors(), "Unable to determine whether this state is from this cluster")
					return
				}
				if d := s.tf.Plan(t, i, config).Diagnostics; d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				s.tf.Settle(t, i, s.config("team=a:NoSchedule more*", ""))
				s.want("team Exists, more Exists", theirAllowedEntries, 1)
				i.Private = nil
				s.tf.Destroy(t, i)
				s.want("team Exists", theirAllowedEntries, 0)
			})
		})
	}
}
