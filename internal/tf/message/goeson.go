// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

// Resumed is why a create finds entries with its own id.
const Resumed = "An earlier create was interrupted, or this object replaces another one."

// Owned ends the sentence about what an apply that has failed has written.
const Owned = "what was written stays, and this resource owns each entry."

// GoesOn reports what the next apply does after one that has failed: written is about what that has written, giveUp the way
// back from a create. Verbs other than create, update and delete are those of a plan or an import, which write nothing.
func GoesOn(verb, written, giveUp string) string {
	const again = "Apply again to continue where it stopped."
	switch verb {
	case "create":
		return written + " Nothing is saved in the state. " + again + " To give up instead, " + giveUp
	case "update", "delete":
		return written + " " + again
	}
	return "Nothing has been written."
}
