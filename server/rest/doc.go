// Package rest is shared by the routes of the servers: one table of operations,
// keys, CORS, the reference's form of errors, and strict reading of bodies and
// queries.
//
// # Usage
//
// A package of the server returns its operations:
//
//	func (s *Service) Routes() []rest.Route {
//		return []rest.Route{
//			{Method: "GET", Path: "/api/things/{name}", Tag: "Things", Scope: rest.Account, Handle: rest.Value(s.get)},
//		}
//	}
//
//	func (s *Service) get(r *http.Request) (any, error) {
//		q := rest.QueryOf(r)
//		limit := q.Limit("limit", 100, 100)
//		if err := q.Err(); err != nil {
//			return nil, err // 422, in the reference's words
//		}
//		return s.things.Get(r.PathValue("name"), limit) // the kind of an error decides the status
//	}
//
// and [New] makes the server's handler from all of them.
//
// [Route] declares everything that holds for an operation: whose credential opens it, how
// long its body may be, whether it is costly. [New] refuses a route without a scope.
//
// # Concurrency
//
// A [Handler] is called from any number of goroutines.
//
// # Failure
//
// A Handler returns its error and writes nothing itself. The answer is the
// reference's (docs/openhands/sdk-wire.md section 2): {"detail": …}, a list of
// violations with 422, and from 500 on the text of the error beside a neutral
// detail. A panic is logged under the id that is in the answer.
package rest
