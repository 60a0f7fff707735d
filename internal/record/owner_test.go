// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package record_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

func TestOwner_owns(t *testing.T) {
	t.Parallel()
	ours, earlier, other := record.Written{Owner: "a", Generation: "2"}, record.Written{Owner: "a", Generation: "1"}, record.Written{Owner: "b", Generation: "3"}
	imported := []string{"3"}
	for name, tt := range map[string]struct {
		by                            record.Written
		named, takes, proves, saw, of bool
		want                          bool
	}{
		"its own mark of a named entry":                           {by: ours, named: true, want: true},
		"its own mark of an entry that is not named":              {by: ours},
		"the same, that it has made":                              {by: ours, proves: true, want: true},
		"a mark of an earlier create":                             {by: earlier, named: true, proves: true},
		"a mark of an earlier create, which a create takes over":  {by: earlier, named: true, takes: true, want: true},
		"the same, of an entry that is not named":                 {by: earlier, takes: true, proves: true},
		"a mark of another resource, which a create leaves alone": {by: other, named: true, takes: true},
		"an imported mark of a named entry":                       {by: other, named: true, of: true, want: true},
		"an imported mark of an entry that is not named":          {by: other, of: true},
		"the same, that the import has seen":                      {by: other, of: true, saw: true, want: true},
		"a mark that was seen, of an entry that is not imported":  {by: other, saw: true},
		"a mark without a generation":                             {by: record.Written{Owner: "a"}, named: true, takes: true, proves: true, saw: true},
	} {
		owner := record.Owner{
			ID: "a", Generation: "2", TakeOver: tt.takes,
			Proves: func(record.Sealed) bool { return tt.proves }, Saw: func(record.Sealed) bool { return tt.saw },
		}
		generations := imported
		if !tt.of {
			generations = nil
		}
		if got := owner.Owns(tt.by, tt.named, generations, func() record.Sealed { return record.Sealed{} }); got != tt.want {
			t.Errorf("%s is owned: %t, want %t", name, got, tt.want)
		}
	}
}
