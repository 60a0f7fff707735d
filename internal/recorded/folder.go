// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded

func openFolder(path string) (*Cluster, error) { return nil, ErrForeign }
