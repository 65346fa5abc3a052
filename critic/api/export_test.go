package api

// NewWithoutWaiting returns a client that makes its tries at once.
func NewWithoutWaiting() *Client {
	c := New()
	c.pause = 0
	return c
}
