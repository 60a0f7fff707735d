// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// heapGoal is how much heap a small run may use before it is collected: a plan with 200
	// resources keeps 10 MiB, and collecting at the usual 20 MiB is a fifth of its CPU.
	heapGoal = 96 << 20
	// leastGrowth and mostGrowth bound how much a heap may grow between collections, in
	// percent. A plan over 150,000 pods keeps up to 100 MiB. With the former at 50 it takes 17 MiB more
	// of memory, and no less CPU (BenchmarkAccResident).
	leastGrowth, mostGrowth = 25, 800
)

// TuneCollector has this process collect garbage when its heap reaches 96 MiB, or one and a quarter times
// what is in use where that is more. A user's GOGC or GOMEMLIMIT stays.
func TuneCollector() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(mostGrowth)
	afterCollections(func() { debug.SetGCPercent(growth(liveHeap())) })
}

// growth returns the percentage for a heap of which so many bytes are in use.
func growth(live uint64) int {
	if live == 0 {
		return mostGrowth
	}
	return int(min(max(heapGoal*100/live, leastGrowth+100)-100, mostGrowth))
}

// liveHeap returns what the last collection has left.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// afterCollections calls a function after each collection: the object that it makes lives until the next.
func afterCollections(do func()) {
	runtime.AddCleanup(new([16]byte), func(struct{}) {
		do()
		afterCollections(do)
	}, struct{}{})
}
