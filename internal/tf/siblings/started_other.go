// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

//go:build !linux

package siblings

import "time"

// started returns when the program was loaded, which is later than when the process was started.
func started() time.Time { return loaded }
