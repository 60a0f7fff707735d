// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// whitelistAnnotation holds the tolerations that pods of a namespace may have
// (k8s.io/kubernetes v1.37.1 plugin/pkg/admission/podtolerationrestriction/admission.go).
const whitelistAnnotation = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"

// AllowedTolerations returns the tolerations to which a namespace limits its
// pods; limited is false where it does not. The admission plug-in that enforces
// it may be off. An annotation that cannot be read limits nothing that could be
// told.
func (c *Cluster) AllowedTolerations(ctx context.Context, namespace string) (allowed []corev1.Toleration, limited bool, err error) {
	var annotation string
	err = reading.do(ctx, bounded(func(ctx context.Context) error {
		ns, err := c.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if err == nil {
			annotation, limited = ns.Annotations[whitelistAnnotation]
		}
		return err
	}))
	if err != nil || !limited {
		return nil, false, wrap("get namespace "+namespace, err)
	}
	// The plug-in itself takes an empty list for no limit.
	parsed := json.Unmarshal([]byte(annotation), &allowed) == nil
	return allowed, parsed && len(allowed) > 0, nil
}
