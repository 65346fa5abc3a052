// Package rest is the HTTP ground under the Agent Server's routes: one table of
// operations, keys, CORS, the reference's error shape, and strict reading of
// bodies and queries.
//
// # Usage
//
// A room of the server returns its operations:
//
//	func (s *Service) Routes() []rest.Route {
//		return []rest.Route{
//			{Method: "GET", Path: "/api/things/{name}", Tag: "Things", Handle: s.get},
//		}
//	}
//
//	func (s *Service) get(w http.ResponseWriter, r *http.Request) error {
//		q := rest.QueryOf(r)
//		limit := q.Limit("limit", 100, 100)
//		if err := q.Err(); err != nil {
//			return err // 422, as the reference words it
//		}
//		t, err := s.things.Get(r.PathValue("name"), limit)
//		if err != nil {
//			return err // its kind decides the status
//		}
//		return rest.JSON(w, http.StatusOK, t)
//	}
//
// and [New] makes the server's handler of them all.
//
// # Concurrency
//
// A [Handler] is called from any number of goroutines.
//
// # Failure
//
// A Handler returns what went wrong and writes nothing itself. The answer is
// the reference's (docs/openhands/sdk-wire.md section 2): {"detail": …}, a list
// of violations with 422, and for 500 and above the text of the error beside a
// neutral detail. A panic is logged with the id that the client is told.
package rest
