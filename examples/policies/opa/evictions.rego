# Limits on the pods that a plan evicts, for conftest and OPA. The input is the output of
# "terraform show -json" for a plan file.
package main

# How many pods each preview may count at most.
limits := {"evicted": 10, "lost": 0, "pending": 0}

# previews are those that the plan has read, in all modules.
previews contains preview if {
	walk(input.prior_state.values.root_module, [_, preview])
	preview.mode == "data"
	preview.type == "kubetaint_eviction_preview"
}

count_of(s) := {
	"evicted": (((s.evicted_now + s.evicted_after) + s.drained) + s.unknown) + s.preempted,
	"lost": s.lost,
	"pending": s.pending_max,
}

deny contains message if {
	some preview in previews
	some what, pods in count_of(preview.values.summary)
	pods > limits[what]
	message := sprintf("%s: %s pods: %d, the limit is %d", [preview.address, what, pods, limits[what]])
}

deny contains message if {
	some resource in input.resource_changes
	resource.type == "kubetaint_node_taints"
	some action in resource.change.actions
	action in {"create", "update"}
	not previewed(resource.change.after)
	message := sprintf("%s: the plan has no kubetaint_eviction_preview of these nodes and taints", [resource.address])
}

previewed(planned) if {
	some preview in previews
	every attribute in ["node_name", "node_selector", "taints", "absent_taints"] {
		preview.values[attribute] == planned[attribute]
	}
}
