internal import Console
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
internal import Records

extension Console {
    /// Adds the fault injection page, and the stop button that every page shows while faults are active.
    func addRehearsals(to router: Routes.Group) {
        show("rehearsals", on: router) { .page(RehearsalsView.load($0, rehearsals: rehearsals)) }
        show("rehearsals/confirm", on: router) { .page(try RehearsalActions.confirm($0)) }
        act("rehearsals/start", on: router, fromThisMachineOnly: true) { try await RehearsalActions.start($0, rehearsals: rehearsals) }
        act("rehearsals/stop", on: router, fromThisMachineOnly: true) { try RehearsalActions.stop($0, rehearsals: rehearsals) }
        router.post("/rehearsals/stop") { request, context in
            try checkPeer(of: request, context)
            rehearsals.stop()
            return Response.redirect(to: Self.wayBack(request))
        }
    }

    /// The page that sent the form, if it is a page of a place. Otherwise `/`.
    private static func wayBack(_ request: Request) -> String {
        guard let referer = request.headers[.referer], let scheme = referer.firstRange(of: "://") else { return "/" }
        let rest = referer[scheme.upperBound...]
        return Place.local(rest.firstIndex(of: "/").map { String(rest[$0...]) }) ?? "/"
    }
}
