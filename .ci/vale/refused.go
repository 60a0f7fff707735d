// What begins so is refused.

// Who begins so is refused.

// Where it begins so, it is refused.

// Nobody begins so.

// Somebody begins so.

// Refused says whether it is refused.
package refused

func heir() {}

type lodging struct{}
