package refused

import "testing"

func TestRefused_nobodyIsEvicted(t *testing.T) {
	_ = "nobody is evicted"
	_ = "a label of somebody"
}

func TestRefused_aNameOfTheKindThatIsTooLongForOneLineOfAListOfTestsSoItIsRefused(t *testing.T) {}
