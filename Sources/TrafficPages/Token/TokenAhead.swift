internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// A zone's timeline with the position of a token, and the first changes after it.
struct TokenAhead: ViewModel {
    struct Row: ViewModel {
        let position: String
        let kind: String
        let kindText: String
        let record: RecordLink
        let type: String
        let when: ValueView
    }

    let zone: String
    let timeline: FeedTimeline?
    let rows: [Row]
    /// All changes after the token; `nil` if the rows are all of them.
    let rest: Frame.Link?

    /// The number of changes that the page lists.
    private static let limit = 5
}

extension TokenAhead {
    /// - Returns: `nil` for a token that is not of a zone of the database, and for a zone without a timeline.
    init?(_ explanation: TokenExplanation, _ token: ChangeToken, _ visit: Visit) async throws {
        guard case .zone(let zoneID?) = explanation.subject else { return nil }
        if case .foreign = explanation.standing { return nil }
        let there = visit.inZone(zoneID)
        let form = RecordFeedForm(FormFields([("since", "1"), ("token", token.text)]))
        let span = try await FeedSpan(form, of: zoneID, visit: there)
        timeline = try await FeedTimeline(nil, of: span, form, in: zoneID, visit: there)
        var page: ZoneChangesPage?
        if explanation.standing == .good {
            let request = ZoneChangesRequest(zoneID, since: token, limit: PageLimit(records: Self.limit), desiredKeys: visit.titles.fields)
            // The zone may have been deleted in the meantime.
            do { page = try await visit.measure { try await visit.database.zoneChanges(request) } } catch is RecordError { page = nil }
        }
        if timeline == nil, page?.changes.isEmpty ?? true { return nil }
        zone = visit.zoneName(zoneID)
        rows = try page?.changes.map { try Row($0, there) } ?? []
        rest = page?.moreComing == true ? Frame.Link(text: "All changes after it", href: there.place.link("changes", form.parameters(since: token))) : nil
    }
}

extension TokenAhead.Row {
    fileprivate init(_ change: RecordChange, _ visit: Visit) throws {
        (position, kind, kindText) = (change.positionText, change.kindName, change.kindText)
        record = RecordLink(
            href: visit.place.link("record", [("name", change.recordID.recordName.string)]), recordName: change.recordID.recordName.string,
            title: try change.record.flatMap { try visit.titles.title(of: $0) })
        type = change.record?.recordType.string ?? RecordChange.untold
        when = change.record.map { ValueView(.time($0.modified.timestamp)) } ?? .missing
    }
}
