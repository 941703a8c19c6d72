internal import JSON
internal import RecordStore
internal import Records

/// The tab Changes in a zone: what is there, or what happened since a token, in the order of commits.
struct RecordFeedView: Page {
    static let template = "changes_records"
    static let tab = Tab.changes

    struct Row: ViewModel {
        let anchor: String
        let position: String
        let kind: String
        let kindText: String
        let recordName: String
        let href: String
        let type: String
        let fields: String
        let when: ValueView
        let by: String
        let device: String?
        let tag: String
        let marks: [OrderMark]

        func child(named name: String) -> Any? {
            switch name {
            case "anchor": anchor
            case "position": position
            case "kind": kind
            case "kindText": kindText
            case "recordName": recordName
            case "href": href
            case "type": type
            case "fields": fields
            case "when": when
            case "by": by
            case "device": device ?? Absent()
            case "tag": tag
            case "marks": marks
            default: nil
            }
        }
    }

    struct Foot: ViewModel {
        let count: String
        let left: String?
        let milliseconds: String
        let next: String?
    }

    let title: String
    let action: String
    let hidden: [Frame.Hidden]
    let zones: [Choice]
    let types: [Choice]
    let limits: [Choice]
    let token: TokenInput
    let isSince: Bool
    let returnsSystemFieldsOnly: Bool
    let isReverse: Bool
    let complaint: Complaint?
    let timeline: FeedTimeline?
    let rows: [Row]
    /// Explains the marks, when there are any.
    let orderNote: String?
    let nothing: String?
    let emptyPage: Bool
    let noFeed: NoFeed?
    let newToken: TokenOutput?
    /// The token of the zone as it is now.
    let tokenForNow: String?
    let explainAction: String
    /// Where there is an answer, scripts can play the feed back and follow it.
    let feed: FeedPanel?
    /// The pull as clients write it; `nil` where there is no feed.
    let code: CodePanel?
    let foot: Foot?
}

extension RecordFeedView {
    static func load(_ visit: Visit, zoneID: ZoneID) async throws -> RecordFeedView {
        let form = RecordFeedForm(visit.fields)
        let hasFeed = visit.hasFeed(zoneID)
        let token = await TokenInput(form.tokenText, isUsed: form.isSince, visit: visit)
        var page: ZoneChangesPage?
        var rows: [Row] = []
        var complaint: Complaint?
        if hasFeed {
            do {
                let request = ZoneChangesRequest(
                    zoneID, since: form.since, limit: PageLimit(records: form.limit), desiredKeys: form.returnsSystemFieldsOnly ? [] : nil,
                    desiredRecordTypes: form.type.map { [$0] }, reverse: form.isReverse)
                let answer = try await visit.measure { try await visit.database.zoneChanges(request) }
                page = answer
                rows = try await Self.rows(answer, form: form, visit: visit)
            } catch let error as RecordError {
                complaint = Complaint(error, advice: TokenAdvice.sentences(for: error))
            }
        }
        let current = visit.zones.first { visit.place.isSame($0.zoneID, zoneID) }?.syncToken
        let timeline = try await FeedTimeline(page, since: form.since, current: current, visit: visit)
        let isEmpty = page.map { $0.changes.isEmpty && !$0.moreComing } ?? false
        return RecordFeedView(
            title: "Changes · \(visit.zoneName(zoneID))", action: "\(visit.place.path)/changes",
            hidden: visit.place.userParameters.map { Frame.Hidden(name: $0.name, value: $0.value) }, zones: visit.zoneChoices(allowsAll: true),
            types: [Choice("", "all types", isSelected: form.type == nil)]
                + visit.types.map { Choice($0.name.string, $0.name.string, isSelected: $0.name == form.type) },
            limits: Set([50, 100, 200, form.limit]).sorted().map { Choice(String($0), String($0), isSelected: $0 == form.limit) }, token: token,
            isSince: form.since != nil, returnsSystemFieldsOnly: form.returnsSystemFieldsOnly, isReverse: form.isReverse, complaint: complaint,
            timeline: timeline, rows: rows, orderNote: orderNote(rows), nothing: isEmpty ? (form.since == nil ? "The zone has no records." : "No changes since the token.") : nil,
            emptyPage: page.map { $0.changes.isEmpty && $0.moreComing } ?? false,
            noFeed: hasFeed
                ? nil : NoFeed(visit.place, reason: visit.place.hasFeed ? NoFeed.defaultZoneReason : NoFeed.publicReason),
            newToken: page.map { page in
                TokenOutput(
                    text: page.syncToken.text, again: visit.place.link("changes", form.parameters(since: page.syncToken)),
                    explain: visit.place.link("token", [("token", page.syncToken.text)]))
            },
            tokenForNow: hasFeed ? current.map { visit.place.link("changes", form.parameters(since: $0)) } : nil,
            explainAction: "\(visit.place.path)/token",
            feed: page.flatMap { page in
                // A pull from the newest that is not done stands for nothing that can be followed; now does.
                let isOpen = form.isReverse && page.moreComing
                return (isOpen ? current : page.syncToken).map { FeedPanel(visit, zoneID: page.zoneID, form: form, start: $0) }
            },
            code: hasFeed ? CodePanel(changesOf: zoneID, form: form, visit: visit) : nil,
            foot: page.map { page in
                Foot(
                    count: Digits.count(page.changes.count, "change"), left: page.moreComing ? "more coming" : "nothing more",
                    milliseconds: visit.stopwatch.elapsed.millisecondsText,
                    next: page.moreComing ? visit.place.link("changes", form.parameters(since: page.syncToken)) : nil)
            })
    }

    private static func orderNote(_ rows: [Row]) -> String? {
        let count = rows.count { !$0.marks.isEmpty }
        if count == 0 { return nil }
        return "\(Digits.count(count, "record")) here \(count == 1 ? "comes" : "come") before a record \(count == 1 ? "it depends" : "they depend") on. "
            + "That is the true order of commits: the feed holds each record once, at its latest change, so one that is saved again moves "
            + "behind those that refer to it. A client keeps the reference and fills it when the target comes."
    }

    private static func rows(_ page: ZoneChangesPage, form: RecordFeedForm, visit: Visit) async throws -> [Row] {
        let decoded = try page.changes.map { try $0.record.fields.decoded() }
        // Newest first, everything stands before what it refers to; that says nothing.
        let marks = form.isReverse ? [:] : try await OrderMark.marks(page.changes, fields: decoded, visit: visit)
        return zip(page.changes.indices, page.changes).map { index, change in
            let record = change.record
            let isDeletion = change.kind == .deleted
            let device = record.modified.deviceID
            return Row(
                anchor: "p\(change.position)", position: Digits.grouped(change.position), kind: change.kind.rawValue, kindText: change.kind.words,
                recordName: record.recordID.recordName.string, href: visit.place.link(toRecord: record.recordID.recordName, in: page.zoneID),
                type: record.recordType.string,
                fields: isDeletion ? "–" : form.returnsSystemFieldsOnly ? "not asked for" : decoded[index].map(\.name.string).joined(separator: ", "),
                when: ValueView(.time(record.modified.timestamp)), by: visit.people.name(of: record.modified.userRecordName),
                device: device == "iCloud" || device.isEmpty ? nil : device, tag: record.recordChangeTag, marks: marks[index] ?? [])
        }
    }
}

extension RecordChange.Kind {
    fileprivate var words: String { self == .recreated ? "re-created" : rawValue }
}
