// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package siblings keeps the summaries of warnings apart that provider blocks of one run give. A command line
// shows warnings with equal summaries as one, and each block is a process that neither knows its alias nor the
// other blocks: terraform-plugin-go's ConfigureProviderRequest has no field for it. So the processes of one
// command line write down which summaries they have used.
package siblings
