package tool

// Asking is an action that always waits for the user's yes, whatever the policy, and never for further
// ones. It words the question itself.
type Asking interface{ Asks() Ask }

// Ask is the question to the user: its title, and the text that is there before and after.
type Ask struct{ Title, Before, After string }
