// Package runtimeapi runs the built `deft runtime-api` and is its client: the contract,
// races, and the state after it is killed.
package runtimeapi
