package actionserver_test

const childRole = "DEFT_TEST_ROLE"

func childMain() {}
