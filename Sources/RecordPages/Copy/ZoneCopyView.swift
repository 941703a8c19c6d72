internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The form for the target of a zone copy.
struct ZoneCopyView: Page {
    static let template = "zone_copy"
    static let tab = Tab.zones

    let title: String
    let name: String
    let records: String?
    let there: OtherPlaceInputs
    let complaint: Complaint?
    let action: String
    let cancel: String
    let milliseconds: String

    static func load(_ visit: Visit) async throws -> ZoneCopyView {
        try await page(try source(visit), visit, complaint: nil)
    }

    /// Starts the copy.
    static func copy(_ visit: Visit, runs: BackgroundRuns) async throws -> Answer {
        let zoneID = try source(visit)
        do {
            let (other, target) = try await target(visit)
            if visit.fields["sure"] == nil, let question = try await question(zoneID, other, target, visit) { return .page(question) }
            let copy = ZoneCopy(source: visit.database, zoneID: zoneID, target: target, targetZoneID: other.zoneID, assets: visit.assets)
            let total = try await visit.counts(in: zoneID)?.total ?? 0
            let run = BackgroundRun(
                heading: "Copy \(visit.zoneName(zoneID)) to \(other.words)", verb: "copied", total: total, place: visit.place,
                back: Frame.Link(text: "The copy", href: other.place.link("changes")))
            try runs.start(run) { try await copy.run($0) }
            return .redirect(visit.place.link("run", [("id", run.id)]))
        } catch let error as RecordError {
            return .page(try await page(zoneID, visit, complaint: error))
        }
    }

    // MARK: Parts

    private static func source(_ visit: Visit) throws -> ZoneID {
        try visit.database.require(.listRecords)
        guard let asked = visit.place.zoneID else { throw RecordError(.badRequest, "The address needs the zone: zone=…") }
        guard visit.zones.contains(where: { visit.place.isSame($0.zoneID, asked) }) else { throw RecordError.zoneNotFound }
        return asked
    }

    /// The target that the form names.
    /// - Throws: `RecordError` BAD_REQUEST if there is no such place, or it is the source zone itself.
    private static func target(_ visit: Visit) async throws -> (OtherPlace, any RecordDatabase) {
        let other = try OtherPlace(visit, isOwn: true)
        if other.isZone(visit.place.zoneID, of: visit) {
            throw RecordError(.badRequest, "A zone can't be copied onto itself; choose another environment, database, user or zone name")
        }
        return (other, try await visit.engine.database(other.place.address, as: Caller(userRecordName: other.user.userRecordName)))
    }

    /// A confirmation, if the copy may replace records at the target; `nil` otherwise.
    private static func question(_ zoneID: ZoneID, _ other: OtherPlace, _ target: any RecordDatabase, _ visit: Visit) async throws -> ConfirmationView? {
        var count: Int?
        do {
            if target.can(.countRecords) {
                count = try await target.counts(in: other.zoneID).total
            } else {
                // A store that can't count may have records in a zone that is there.
                _ = try await target.fetchZones([other.zoneID]).first?.get()
            }
        } catch let error as RecordError where error.code == .zoneNotFound {
            return nil
        }
        if count == 0 { return nil }
        let there = other.words
        let records = count.map { "has \(Digits.count($0, "record"))" } ?? "may have records"
        var lines = ["\(there.prefix(1).uppercased() + there.dropFirst()), \(records). Records with the same names are replaced; the others stay."]
        if other.place.address.environment == .production { lines.append("This is production.") }
        let fields = other.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) }
        return ConfirmationView(
            on: .zones, title: "Copy \(visit.zoneName(zoneID)) over existing records?", lines: lines, action: visit.place.link("zone/copy"),
            fields: fields + [Frame.Hidden(name: "sure", value: "1")], button: "Copy the zone", cancel: visit.place.link("zone/copy"))
    }

    private static func page(_ zoneID: ZoneID, _ visit: Visit, complaint: RecordError?) async throws -> ZoneCopyView {
        ZoneCopyView(
            title: "Copy \(visit.zoneName(zoneID))", name: visit.zoneName(zoneID),
            records: try await visit.counts(in: zoneID).map { Digits.count($0.total, "record") },
            there: OtherPlaceInputs(visit, scopes: [.private, .public]), complaint: complaint.map { Complaint($0) },
            action: visit.place.link("zone/copy"), cancel: visit.place.link("zone"), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}
