// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// watchDeletions notes when pods that are there now are marked for deletion.
// The function that it returns waits until a moment and returns the times, by
// namespace/name.
func (s *sample) watchDeletions(ctx context.Context) (func(time.Time) map[string]time.Time, error) {
	list, err := s.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for i := range list.Items {
		there[string(list.Items[i].UID)] = true
	}
	watcher, err := s.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return nil, err
	}
	left := map[string]time.Time{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range watcher.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok || !there[string(pod.UID)] || event.Type != watch.Deleted && pod.DeletionTimestamp == nil {
				continue
			}
			if _, known := left[pod.Namespace+"/"+pod.Name]; !known {
				left[pod.Namespace+"/"+pod.Name] = time.Now()
			}
		}
	}()
	return func(until time.Time) map[string]time.Time {
		select {
		case <-time.After(time.Until(until)):
		case <-ctx.Done():
		case <-ended:
		}
		watcher.Stop()
		<-ended
		return left
	}, nil
}

// compare writes predicted and real departures side by side and returns how
// many differ. Delays may be off by the three seconds that a busy machine needs.
func compare(out io.Writer, predicted map[string]prediction, left map[string]time.Time, start time.Time) (wrong int) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(cells ...any) { _, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t\n", cells...) }
	row("POD", "PREDICTED", "REALLY", "")
	names := slices.Collect(maps.Keys(predicted))
	for name := range left {
		if _, known := predicted[name]; !known {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(predicted[a].after, predicted[b].after), cmp.Compare(a, b))
	})
	for _, name := range names {
		p := predicted[name]
		at, gone := left[name]
		really := "stayed"
		if gone {
			really = fmt.Sprintf("left after %.1f s", at.Sub(start).Seconds())
		}
		verdict := "as predicted"
		if late := at.Sub(start) - p.after; gone != p.leaves() || gone && (late < -time.Second || late > 3*time.Second) {
			verdict = "NOT AS PREDICTED"
			wrong++
		}
		row(name, p.String(), really, verdict)
	}
	_ = table.Flush()
	return wrong
}
