package refused

// Messages must be refused by the check of messages.
const (
	_ = "The message says what it shall do."
	_ = "The policy belongs to another object."
	_ = `The taint is left alone.`
)
