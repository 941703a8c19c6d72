package import Console
package import HTTPServing
package import Records

extension Console {
    /// Adds the pages of requests, clients, and what they sync: zones, changes and tokens.
    /// - Parameter queryForm: the fields of a query's form; `nil` if the form can't express the query.
    package func addTrafficPages(
        to router: Routes.Group, queryForm: @escaping @Sendable (Query, RecordType?) -> [(name: String, value: String)]?
    ) {
        show("changes", on: router, readsZones: true) { visit in
            if let zoneID = visit.place.zoneID { return .page(try await RecordFeedView.load(visit, zoneID: zoneID)) }
            return .page(try await ZoneFeedView.load(visit))
        }
        show("zones", on: router, readsZones: true) { .page(try await ZonesView.load($0)) }
        show("zone", on: router, readsZones: true) { .page(try await ZoneView.load($0)) }
        show("sharing", on: router, readsZones: true) { .page(try await SharingView.load($0)) }
        show("sees", on: router, readsZones: true) { .page(try await SeesView.load($0)) }
        show("zone/delete", on: router) { .page(try await ZoneActions.confirmDeletion($0)) }
        show("zone/purge", on: router) { .page(try await ZoneActions.confirmPurge($0)) }
        show("zone/unshare", on: router) { .page(try await ZoneActions.confirmEndOfSharing($0)) }
        submit("zones/create", carries: .choices, on: router) { try await ZoneActions.create($0) }
        act("zone/delete", on: router) { try await ZoneActions.delete($0) }
        act("zone/purge", on: router) { try await ZoneActions.purge($0) }
        act("zone/share", on: router) { try await ZoneActions.share($0) }
        act("zone/unshare", on: router) { try await ZoneActions.stopSharing($0) }
        addRequestPages(to: router, queryForm: queryForm)
        addNotificationPages(to: router)
        addWorkbenchPages(to: router)
    }
}
