package sqlite

func checkWAL(path string) error { return nil }
