package session

// Parts of how titles are made.
var (
	FillTitlePrompt = fillTitlePrompt
	CleanTitle      = cleanTitle
)
