package import Console
internal import RecordStore
internal import Records

/// The tab Changes without a zone: the current zones, or the zone changes since a database token.
package struct ZoneFeedView: Page {
    package static let template = "changes_zones"
    package static let tab = Tab.changes

    struct Row: ViewModel {
        let name: String
        let owner: String?
        /// `nil` in the current list.
        let kind: String?
        let when: ValueView
        let records: String?
        let types: String?
        /// The link to the zone's feed; `nil` if it has no feed, or the zone is deleted.
        let href: String?
        let token: TokenOutput?
        /// The reason why there is no feed, or the meaning of the kind.
        let note: String?
    }

    struct Footer: ViewModel {
        let count: String
        let next: String?
    }

    package let title: String
    let heading = Self.tab.title
    /// What is asked.
    let folded: FoldedForm
    let action: String
    let hidden: [Frame.Hidden]
    let zones: [Choice]
    let token: TokenInput
    let isSince: Bool
    let complaint: PageError?
    let rows: [Row]
    let nothing: String?
    let noFeed: NoFeed?
    /// The token of the database after these changes.
    let newToken: TokenOutput?
    let explainAction: String
    let others: [Frame.Link]
    /// The link to the deleted zones; `nil` if there are none, or the page lists them.
    let gone: Frame.Link?
    /// The pull as client code; `nil` if there is no feed.
    let code: CodePanel?
    let footer: Footer?
}

extension ZoneFeedView {
    /// The feed of the chosen zone, or of the zones.
    package static func answer(_ visit: Visit) async throws -> Answer {
        if let zoneID = visit.place.zoneID { return .page(try await RecordFeedView.load(visit, zoneID: zoneID)) }
        return .page(try await load(visit))
    }

    private static func load(_ visit: Visit) async throws -> ZoneFeedView {
        let place = visit.place
        let text = (visit.fields["token"] ?? "").filter { !$0.isWhitespace }
        let isSince = visit.fields["since"] != nil
        let token = try await TokenInput(text, isUsed: isSince, visit: visit)
        var complaint: PageError?
        var page: DatabaseChangesPage?
        var rows: [Row] = []
        if place.hasFeed {
            do {
                let since = isSince && !text.isEmpty ? ChangeToken(text: text) : nil
                let request = DatabaseChangesRequest(since: since)
                let answer = try await visit.measure { try await visit.database.databaseChanges(request) }
                page = answer
                rows =
                    since == nil
                    ? try await currentRows(answer, visit: visit) : try await changedRows(answer, visit: visit)
            } catch let error as RecordError {
                complaint = PageError(error, advice: TokenAdvice.sentences(for: error, sent: text))
            }
        }
        func output(_ token: ChangeToken) -> TokenOutput {
            TokenOutput(
                text: token.text, again: place.link("changes", [("since", "1"), ("token", token.text)]),
                explain: place.link("token", [("token", token.text)]))
        }
        let isEmpty = page != nil && rows.isEmpty
        return ZoneFeedView(
            title: "Changes",
            folded: FoldedForm(
                outcome: page == nil ? "not fetched" : rows.isEmpty ? "no zones" : Digits.count(rows.count, "zone"),
                facts: [isSince && !text.isEmpty ? "changed since the token" : "all zones, by latest change"],
                chips: isSince && !text.isEmpty
                    ? [
                        Chip(
                            "since", "a token",
                            edit: place.link("changes", [("since", "1"), ("token", text), FoldedForm.editing]),
                            removal: place.link("changes"))
                    ] : [],
                isAnswered: page != nil, visit: visit),
            action: "\(place.path)/changes",
            hidden: place.userParameters.map { Frame.Hidden(name: $0.name, value: $0.value) },
            zones: visit.zoneChoices(allowsAll: true), token: token, isSince: isSince && !text.isEmpty,
            complaint: complaint, rows: rows,
            nothing: isEmpty
                ? (isSince && !text.isEmpty
                    ? "No zone has changed since the token." : "No zone has a changes feed yet.") : nil,
            noFeed: place.hasFeed ? nil : NoFeed(place, reason: NoFeed.publicReason),
            newToken: page.map { output($0.syncToken) },
            explainAction: "\(place.path)/token", others: isEmpty && !isSince ? try await visit.othersWithData() : [],
            gone: try await isSince ? nil : gone(visit),
            code: place.hasFeed
                ? CodePanel(zoneChangesSince: isSince && !text.isEmpty ? ChangeToken(text: text) : nil, visit: visit)
                : nil,
            footer: page.map { page in
                Footer(
                    count: Digits.count(rows.count, "zone"), next: page.moreComing ? output(page.syncToken).again : nil)
            })
    }

    private static func gone(_ visit: Visit) async throws -> Frame.Link? {
        guard let count = try await DeletedZones(visit)?.count else { return nil }
        let zones = visit.place.with { $0.zone = .unspecified }.link("zones")
        return Frame.Link(
            text: count == 1 ? "1 zone was deleted" : "\(Digits.grouped(count)) zones were deleted",
            href: zones + "#gone")
    }

    /// The current zones. Zones with a feed are in the order of their latest change.
    private static func currentRows(_ page: DatabaseChangesPage, visit: Visit) async throws -> [Row] {
        var rows: [Row] = []
        for zone in visit.zones where !visit.hasFeed(zone.zoneID) {
            rows.append(try await Row(zone.zoneID, change: nil, token: nil, isList: true, visit: visit))
        }
        for change in page.changes.reversed() where change.kind == .changed {
            rows.append(
                try await Row(change.zoneID, change: change, token: change.syncToken, isList: true, visit: visit))
        }
        return rows
    }

    private static func changedRows(_ page: DatabaseChangesPage, visit: Visit) async throws -> [Row] {
        var rows: [Row] = []
        for change in page.changes {
            rows.append(
                try await Row(change.zoneID, change: change, token: change.syncToken, isList: false, visit: visit))
        }
        return rows
    }
}

extension ZoneFeedView.Row {
    fileprivate init(_ zoneID: ZoneID, change: ZoneChange?, token: ChangeToken?, isList: Bool, visit: Visit)
        async throws
    {
        let isGone = change.map { $0.kind != .changed } ?? false
        let place = visit.place.inZone(zoneID)
        name = visit.zoneName(zoneID)
        owner = visit.ownerName(zoneID)
        kind = isList ? nil : change?.kind.rawValue
        when = change?.timestamp.map { ValueView(.time($0)) } ?? .missing
        // Another client may delete the zone at this moment.
        let counts = isGone ? nil : try? await visit.counts(in: zoneID)
        records = counts.map { Digits.grouped($0.total) }
        types = counts.map { $0.typesText(limit: 4) }
        href = isGone ? nil : visit.hasFeed(zoneID) ? place.link("changes") : place.link("query")
        self.token = token.map { token in
            TokenOutput(
                text: token.text, again: place.link("changes", [("since", "1"), ("token", token.text)]),
                explain: place.link("token", [("token", token.text)]))
        }
        note =
            switch change?.kind {
            case nil: "the default zone has no change tokens; use Query"
            case .changed?: nil
            case .deleted?: "clients delete their copy"
            case .purged?: "deleted by the user: clients delete their copy and don't upload it again"
            }
    }
}

// MARK: - No feed

/// The reason why a database or zone has no feed, and the alternatives.
struct NoFeed: ViewModel {
    let reason: String
    let query: String
    let fetch: String
}

extension NoFeed {
    static let publicReason =
        "The public database has no changes feed: CloudKit keeps no order of changes in it. "
        + "To follow it, query for records modified since the last query, or subscribe."
    static let defaultZoneReason =
        "The default zone has no changes feed: it keeps no order of changes. Save records that clients sync in a custom zone."

    init(_ place: Place, reason: String) {
        self.reason = reason
        query = place.link("query")
        fetch = place.link("fetch")
    }
}
