package session

// Internals of title generation.
var (
	FillTitlePrompt = fillTitlePrompt
	CleanTitle      = cleanTitle
)
