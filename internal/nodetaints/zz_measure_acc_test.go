package nodetaints_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

func TestAccMeasureRename(t *testing.T) {
	for _, par := range []string{"10", "1"} {
		c := acctest.Connect(t)
		cli := acctest.NewCLI(t)
		pool, _ := pool(t, c, 2)
		provider := c.Provider(t)
		names := []string{"this", "that"}
		config := hcl(fmt.Sprintf("node_selector = \"pool=%s\"", pool), hclTaints(t, "dedicated=gpu:NoSchedule"))
		cli.Write(provider, config)
		cli.MustRun("apply", "-auto-approve", "-input=false")
		gaps := 0
		for n := range 25 {
			end := c.Bared(t, pool, taint.ID{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule})
			cli.Write(provider, strings.Replace(config, `"this"`, `"`+names[(n+1)%2]+`"`, 1))
			cli.MustRun("apply", "-auto-approve", "-input=false", "-parallelism="+par)
			if got := end(); len(got) > 0 {
				gaps++
			}
		}
		t.Logf("parallelism %s: %d of 25 with a gap", par, gaps)
	}
}
