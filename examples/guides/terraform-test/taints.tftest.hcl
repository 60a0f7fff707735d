mock_provider "kubetaint" {
  mock_data "kubetaint_eviction_preview" {
    defaults = {
      summary = { lost = 0 }
    }
  }
}

run "gpu_nodes_are_tainted" {
  command = plan

  assert {
    condition     = one(kubetaint_node_taints.gpu.taints).effect == "NoExecute"
    error_message = "The taint must evict pods."
  }
}

run "lost_pods_are_reported" {
  command = plan

  override_data {
    target = data.kubetaint_eviction_preview.gpu
    values = {
      summary = { lost = 2 }
    }
  }

  expect_failures = [check.nothing_is_lost]
}
