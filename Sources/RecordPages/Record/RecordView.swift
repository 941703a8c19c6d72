internal import AssetStore
internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The page of a record: its data, and its references from other records.
struct RecordView: Page {
    /// The panel of the clients that received a record and those that did not; `nil` if the engine can't tell. There may be one for a record that
    /// the acting user does not see.
    typealias Deliveries = @Sendable (RecordID, StoredRecord?, Visit) async throws -> (any ViewModel)?

    static let template = "record"
    static let tab = Tab.fetch

    struct FieldRow: ViewModel {
        let name: String
        let type: String
        let isEncrypted: Bool
        let indexes: [Pill]
        let value: ValueView
    }

    struct Fact: ViewModel {
        let name: String
        let value: ValueView
    }

    struct Body: ViewModel {
        /// The title of the record; `nil` if only its name tells it from others.
        let heading: String?
        let type: String
        let typeHref: String
        let fields: [FieldRow]
        let facts: [Fact]
        /// The asset fields, including empty ones, and the data that scripts need for uploads.
        let assets: RecordAssets?
        let parent: RecordLink?
        /// The records that refer to it; `nil` if the engine can't tell.
        let referrers: ReferrerPanel?
        /// `nil` for a record without references.
        let graph: ReferenceGraph?
        /// The users who see it; `nil` for records that can't be shared.
        let sharing: SharingPanel?
        /// The clients that received it and those that did not; `nil` if the engine can't tell.
        let deliveries: (any ViewModel)?
        let json: String
        /// Client code that fetches, saves and deletes the record.
        let codes: [CodePanel]
        /// The forms that change and duplicate it; `nil` for system records.
        let edit: String?
        let duplicate: String?
        /// The link that copies it to another zone, environment, database or user.
        let copy: String?
        let compare: String
        let delete: String
        let changes: String?
        let query: String
        /// The record as an object of Core Data; `nil` if it is none.
        let object: String?
    }

    /// The deletion of the record that had this name.
    struct Deletion: ViewModel {
        let when: ValueView
        let who: String
        /// The form that saves the last version again; `nil` if it is not kept, for a share, and for a caller who can't save.
        let undo: Undo?
    }

    struct Undo: ViewModel {
        let action: String
        let fields: [Frame.Hidden]
    }

    let title: String
    let notice: String?
    let recordName: String
    let zone: String
    let body: Body?
    let complaint: Complaint?
    /// `nil` if there is a record, or if nobody knows of one.
    let deletion: Deletion?
    /// True if the record was just deleted here, and no journal knows of it.
    let isLost: Bool
    /// Traces of a record that is not in the zone: in other zones, or deleted there.
    let whereabouts: [Whereabouts]
    /// Links to the places where a missing record may be found.
    let changes: String?
    let elsewhere: String
    /// The history of the record; `nil` if there is none.
    let history: RecordHistory?
    /// The link that restores the last version of a deleted record.
    let lastVersion: String?
    /// The reasons why users do not see a record that its owner has.
    let unseen: (any ViewModel)?
    let milliseconds: String
}

extension RecordView {
    /// - Parameter deliveries: finds the clients that received a record.
    static func load(_ visit: Visit, deliveries: Deliveries) async throws -> RecordView {
        guard let name = visit.fields.text("name").map({ Name($0) }) else {
            throw RecordError(.badRequest, "The address of a record needs its name: record?zone=…&name=…")
        }
        guard let zoneID = visit.place.zoneID ?? visit.usualZoneID else { throw RecordError.zoneNotFound }
        let there = visit.inZone(zoneID)
        var body: Body?
        var complaint: Complaint?
        do {
            let record = try await record(name, in: zoneID, visit: there)
            body = try await Body(record, visit: there, deliveries: deliveries)
        } catch let error as RecordError where error.code == .notFound || error.code == .zoneNotFound {
            complaint = Complaint(error)
        }
        let unseen = body == nil ? try await deliveries(RecordID(recordName: name, zoneID: zoneID), nil, there) : nil
        let history = try await past(name, in: zoneID, there)
        let last = body == nil ? history?.rows.first { $0.restore != nil } : nil
        let deletion = body == nil ? try await Deletion(history, last: last, of: name, in: zoneID, there) : nil
        return RecordView(
            title: "\(name)", notice: Notice.text(visit.fields["notice"]), recordName: name.string, zone: visit.zoneName(zoneID), body: body, complaint: complaint,
            deletion: deletion,
            isLost: body == nil && history == nil && visit.fields["notice"] == Notice.recordDeleted.rawValue,
            whereabouts: body == nil && deletion == nil ? try await Whereabouts.all(of: [name], notIn: zoneID, visit)[name] ?? [] : [],
            changes: visit.hasFeed(zoneID) ? there.place.link("changes") : nil,
            elsewhere: visit.place.with { $0.zone = .all }.link("find", [("q", name.string)]), history: history,
            lastVersion: last?.restore, unseen: unseen,
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    /// The number of changes on this page. The history page shows all.
    private static let historyLimit = 4

    /// The history of the record; `nil` if the zone does not exist either.
    private static func past(_ name: Name, in zoneID: ZoneID, _ visit: Visit) async throws -> RecordHistory? {
        do {
            return try await RecordHistory.load(name, in: zoneID, limit: historyLimit, visit)
        } catch let error as RecordError where error.code == .zoneNotFound {
            return nil
        }
    }

    static func record(_ name: Name, in zoneID: ZoneID, visit: Visit) async throws -> StoredRecord {
        let recordID = RecordID(recordName: name, zoneID: zoneID)
        let results = try await visit.measure { try await visit.database.fetch([recordID], desiredKeys: nil) }
        guard let result = results.first else { throw RecordError.recordNotFound }
        return try result.get()
    }
}

extension RecordView.Deletion {
    /// - Parameter last: the last version of the record.
    fileprivate init?(_ history: RecordHistory?, last: RecordHistory.Row?, of name: Name, in zoneID: ZoneID, _ visit: Visit) async throws {
        guard let latest = history?.rows.first, latest.act == RecordJournalEntry.Act.deleted.rawValue else { return nil }
        when = latest.when
        who = latest.who
        guard let last, !last.isShare, try await visit.canSave(in: zoneID) else {
            undo = nil
            return
        }
        undo = RecordView.Undo(
            action: visit.place.link("record/restore"),
            fields: [
                Frame.Hidden(name: "name", value: name.string), Frame.Hidden(name: "position", value: String(last.position)),
                Frame.Hidden(name: "from", value: visit.place.link("record", [("name", name.string)])),
            ])
    }
}

extension RecordView.Body {
    fileprivate init(_ record: StoredRecord, visit: Visit, deliveries: RecordView.Deliveries) async throws {
        let zoneID = record.recordID.zoneID
        let place = visit.place
        let links = try await visit.links(toAssetsOf: [record])
        let values = try record.fields.decoded()
        let referrers = try await ReferrerPanel.referrers(to: record, visit)
        let parentID = record.parent.map { RecordID(recordName: $0, zoneID: zoneID) }
        let others = values.flatMap { $0.value.targets(from: zoneID, limit: ValuePresenter.fullCount) } + (parentID.map { [$0] } ?? [])
            + (referrers ?? []).map { RecordID(recordName: $0.recordName, zoneID: zoneID) }
        let titles = try await ReferencedTitles(others, known: CollectionOfOne(record), visit)
        let presenter = ValuePresenter(place: place, zoneID: zoneID, links: links, titles: titles, isFull: true)
        let type = visit.schema?.types[record.recordType]
        heading = titles[record.recordID]
        self.type = record.recordType.string
        typeHref = place.link("type", [("type", record.recordType.string)])
        fields = values.map { field in
            RecordView.FieldRow(
                name: field.name.string, type: field.value.typeLabel, isEncrypted: field.isEncrypted,
                indexes: (type?.fields[field.name]?.indexes ?? []).names.map { Pill(text: $0, tone: "has", explanation: "Index of the field") },
                value: presenter.view(field.value, of: field.name))
        }
        facts = Self.facts(record, visit: visit)
        sharing = try await SharingPanel.load(record, visit)
        assets = try await RecordAssets(record, links: links, visit: visit)
        parent = parentID.map { RecordLink(href: place.link(toRecord: $0.recordName, in: zoneID), recordName: $0.recordName.string, title: titles[$0]) }
        self.referrers = referrers.map { ReferrerPanel($0, to: record.recordID, titles, visit) }
        graph = try await ReferenceGraph(record, values, referrers: referrers ?? [], titles, visit)
        self.deliveries = try await deliveries(record.recordID, record, visit)
        json = try RecordJSON.text(of: record, links: links)
        codes = try CodePanel.panels(of: record, visit: visit)
        let isEditable = record.recordType != Schema.usersType
        let named = [("name", record.recordID.recordName.string)]
        edit = isEditable ? place.link("record/edit", named) : nil
        duplicate = isEditable ? place.link("record/duplicate", named) : nil
        copy = isEditable ? place.link("record/copy", named) : nil
        compare = place.link("record/compare", named)
        delete = place.link("record/delete", [("name", record.recordID.recordName.string)])
        changes = visit.hasFeed(zoneID) ? place.link("changes") : nil
        query = place.link("query", [("type", record.recordType.string)])
        object = MirroredNaming.isEntityType(record.recordType) ? place.link(toObject: record.recordID) : nil
    }

    private static func facts(_ record: StoredRecord, visit: Visit) -> [RecordView.Fact] {
        func fact(_ name: String, _ form: ValueView.Form, note: String? = nil) -> RecordView.Fact {
            RecordView.Fact(name: name, value: ValueView(form, note: note))
        }
        func by(_ signature: Signature) -> String { "by \(visit.people.name(of: signature.userRecordName))\(signature.onDevice)" }
        return [
            fact("created", .time(record.created.timestamp), note: by(record.created)),
            fact("modified", .time(record.modified.timestamp), note: by(record.modified)),
            fact("recordChangeTag", .code(record.recordChangeTag)),
            fact("zone", .text(visit.zoneName(record.recordID.zoneID)), note: visit.ownerName(record.recordID.zoneID)),
            fact("size of the fields", .text(Digits.bytes(Int64(record.fields.bytes.count))), note: "as JSON"),
        ]
    }
}
