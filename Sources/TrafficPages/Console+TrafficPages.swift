package import Console
package import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
package import Records
internal import RequestLog

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
        show("sees", on: router, readsZones: true) { .page(try await VisibilityView.load($0)) }
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

// MARK: - Requests and clients

extension Console {
    /// Adds the pages that show the web service requests, the clients that sent them, and how far these are.
    func addRequestPages(to router: Routes.Group, queryForm: @escaping RequestedQuery.Form) {
        show("requests", on: router) { visit in
            guard let id = visit.fields.text("id") else { return .page(try await RequestsView.load(visit)) }
            // An open server shows every record to everyone who sees this page, so there is nothing to hide.
            let showsValues = visit.fields["values"].map { $0 == "1" } ?? (access.mode == .open)
            return .page(try await RequestView.load(id, visit, canReplay: webServices != nil, showsValues: showsValues))
        }
        // The addresses of Query and Explain contain the compared values. The request page
        // therefore links to this redirect, which builds them only on demand.
        show("requests/explain", on: router) { visit in
            guard let id = visit.fields.text("id"), let request = visit.log.request(id),
                let asked = RequestedQuery(request, body: visit.log.bodies(of: request.id)?.request)
            else { throw RecordError(.notFound, "The log no longer has the query of this request") }
            return .redirect(
                try asked.address(on: visit.fields["on"] == "query" ? "query" : "explain", visit, form: queryForm))
        }
        show("sync", on: router) { .page(try await SyncView.load($0)) }
        show("clients", on: router) { .page(try await ClientsView.load($0)) }
        show("telemetry", on: router) { .page(try await TelemetryView.load($0)) }
        addReplay(to: router)
    }

    private func addReplay(to router: Routes.Group) {
        guard let webServices else { return }
        show("requests/replay", on: router) { visit in
            .page(try RequestReplay(visit.fields["id"], in: log).confirmation(visit))
        }
        router.post("\(Self.placePath)/requests/replay") { request, context in
            let fields = try await request.form(.names)
            let visit = try await Visit(request, context, fields: fields, console: self)
            return try await response(to: visit) {
                let replay = try RequestReplay(fields["id"], in: log)
                let id = try await replay.send(to: webServices, from: request, context)
                let parameters =
                    [("id", replay.served.id), ("with", id)] + (fields["values"].map { [("values", $0)] } ?? [])
                return .redirect(visit.place.link("requests", parameters.map { (name: $0.0, value: $0.1) }))
            }
        }
    }
}

// MARK: - Notifications

extension Console {
    /// Adds the pages of the notifications that devices got.
    func addNotificationPages(to router: Routes.Group) {
        show("notifications", on: router, readsZones: true) { visit in
            guard let id = visit.fields.text("id") else {
                return .page(try await NotificationsView.load(visit, canSend: notificationSender != nil))
            }
            return .page(try NotificationView.load(id, visit, canSend: notificationSender != nil))
        }
        if let notificationSender {
            act("notification/again", on: router) { try NotificationView.sendAgain($0, notificationSender) }
            act("notification/fire", on: router) { try await NotificationsView.fire($0, notificationSender) }
        }
        router.get("\(Self.placePath)/notification/file") { request, context in
            let visit = try await Visit(request, context, fields: request.queryFields, console: self)
            return try NotificationView.file(visit)
        }
    }
}

// MARK: - Pasted text

extension Console {
    /// Adds the pages that take pasted text: tokens and errors.
    func addWorkbenchPages(to router: Routes.Group) {
        show("token", on: router) { visit in
            // A credential does not stay in the address.
            let value = try await PastedValue.read(visit.fields["token"] ?? "")
            if let credential = visit.accounts.kind(of: value) ?? value.kind?.credential {
                return .redirect(visit.place.link(to: credential))
            }
            return .page(try await TokenView.load(visit))
        }
        show("errors", on: router) { .page(try await ErrorsView.load($0)) }
        ask("token", ["token", "with"], carries: .pastedTexts, on: router) { try await TokenView.load($0) }
        ask("errors", ["error"], carries: .pastedTexts, on: router) { try await ErrorsView.load($0) }
    }
}

extension FormLimit {
    /// Two pasted texts.
    fileprivate static let pastedTexts = texts(of: 2 * PastedText.limit)
}
