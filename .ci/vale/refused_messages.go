package refused

// Message must be refused by the check of messages.
const Message = "The message says what it shall do."
