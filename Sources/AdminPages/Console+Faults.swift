internal import Console
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
internal import Records

extension Console {
    /// Adds the fault injection page, and the stop button that every page shows while faults are active.
    func addFaults(to router: Routes.Group) {
        show("rehearsals", on: router) { .page(FaultsView.load($0, faults: faults)) }
        show("rehearsals/confirm", on: router) { .page(try FaultActions.confirm($0)) }
        act("rehearsals/start", on: router, [.fromThisMachineOnly]) { try await FaultActions.start($0, faults: faults) }
        act("rehearsals/stop", on: router, [.fromThisMachineOnly]) { try FaultActions.stop($0, faults: faults) }
        router.post("/rehearsals/stop") { request, context in
            try checkPeer(of: request, context)
            faults.stop()
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
