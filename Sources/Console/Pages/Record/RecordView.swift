internal import AssetStore
internal import JSON
internal import RecordStore
internal import Records

/// The page of a record: all that is known of it, and what refers to it.
struct RecordView: Page {
    static let template = "record"
    static let tab = Tab.fetch

    /// Records that refer to this one, shown.
    static let referrerLimit = 100

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

    struct ReferrerRow: ViewModel {
        let recordName: String
        let href: String
        let type: String
        /// The fields that refer: one, or several of the same record.
        let ways: [Way]
    }

    struct Way: ViewModel {
        let field: String
        let action: String
        let consequence: String
    }

    struct Body: ViewModel {
        let type: String
        let typeHref: String
        let fields: [FieldRow]
        let facts: [Fact]
        /// The fields that have assets or could have some, and what scripts need to upload into them.
        let assets: RecordAssets?
        let parent: Frame.Link?
        let referrers: [ReferrerRow]
        /// `nil` when the engine can't tell.
        let referrersTitle: String?
        let moreReferrers: Bool
        /// Queries for all of them, as far as indexes allow.
        let referrerQueries: [Frame.Link]
        /// Which clients got it and which did not; `nil` where nobody can tell.
        let deliveries: DeliveryPanel?
        let json: String
        /// Fetching, saving and deleting it, as clients write it.
        let codes: [CodePanel]
        /// The forms that change and copy it; `nil` for records of the system.
        let edit: String?
        let duplicate: String?
        let delete: String
        let changes: String?
        let query: String
    }

    let title: String
    let notice: String?
    let recordName: String
    let zone: String
    let body: Body?
    let complaint: Complaint?
    /// Where the record, which is not there, may have gone.
    let changes: String?
    let elsewhere: String
    /// What became of it; `nil` where nobody knows.
    let history: RecordHistory?
    /// Brings back what was deleted.
    let lastVersion: String?
    let milliseconds: String
}

extension RecordView {
    static func load(_ visit: Visit) async throws -> RecordView {
        guard let name = visit.fields.text("name").map({ Name($0) }) else {
            throw RecordError(.badRequest, "The address of a record needs its name: record?zone=…&name=…")
        }
        guard let zoneID = visit.place.zoneID ?? visit.usualZoneID else { throw RecordError.zoneNotFound }
        let there = visit.inZone(zoneID)
        var body: Body?
        var complaint: Complaint?
        do {
            let record = try await record(name, in: zoneID, visit: there)
            body = try await Body(record, visit: there)
        } catch let error as RecordError where error.code == .notFound || error.code == .zoneNotFound {
            complaint = Complaint(error)
        }
        let history = try await past(name, in: zoneID, there)
        return RecordView(
            title: "\(name)", notice: Notice.text(visit.fields["notice"]), recordName: name.string, zone: visit.zoneName(zoneID), body: body, complaint: complaint,
            changes: visit.hasFeed(zoneID) ? there.place.link("changes") : nil,
            elsewhere: visit.place.with { $0.zone = .all }.link("find", [("q", name.string)]), history: history,
            lastVersion: body == nil ? history?.rows.lazy.compactMap(\.restore).first : nil, milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    /// Changes that the page shows; more are on their own.
    private static let historyLimit = 4

    /// What became of the record; `nil` where there is no such zone either.
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

extension RecordView.Body {
    fileprivate init(_ record: StoredRecord, visit: Visit) async throws {
        let zoneID = record.recordID.zoneID
        let place = visit.place
        let links = try await visit.links(toAssetsOf: [record])
        let presenter = ValuePresenter(place: place, zoneID: zoneID, links: links, isFull: true)
        let type = visit.schema?.types[record.recordType]
        self.type = record.recordType.string
        typeHref = place.link("type", [("type", record.recordType.string)])
        fields = try record.fields.decoded().map { field in
            RecordView.FieldRow(
                name: field.name.string, type: field.value.typeName, isEncrypted: field.isEncrypted,
                indexes: (type?.fields[field.name]?.indexes ?? []).names.map { Pill(text: $0, tone: "has", explanation: "Index of the field") },
                value: presenter.view(field.value, of: field.name))
        }
        facts = Self.facts(record, visit: visit)
        assets = try await RecordAssets(record, links: links, visit: visit)
        parent = record.parent.map { Frame.Link(text: $0.string, href: place.link(toRecord: $0, in: zoneID)) }
        var rows: [RecordView.ReferrerRow]?
        var hasMore = false
        var queries: [Frame.Link] = []
        if let tracing = visit.database as? any ReferenceTracing {
            let found = try await visit.measure { try await tracing.referrers(to: record.recordID, limit: RecordView.referrerLimit + 1) }
            hasMore = found.count > RecordView.referrerLimit
            let shown = Array(found.prefix(RecordView.referrerLimit))
            rows = RecordView.ReferrerRow.rows(shown, zoneID: zoneID, place: place)
            queries = Self.queries(shown, to: record.recordID.recordName, visit: visit)
        }
        referrers = rows ?? []
        referrerQueries = queries
        moreReferrers = hasMore
        referrersTitle = rows.map { $0.isEmpty ? "Referred to by nothing" : "Referred to by \(Digits.count($0.count, "record"))\(hasMore ? " and more" : "")" }
        deliveries = try await DeliveryPanel.load(record, visit)
        json = try RecordJSON.text(of: record, links: links)
        codes = try CodePanel.panels(of: record, visit: visit)
        let isEditable = record.recordType != Schema.usersType
        let named = [("name", record.recordID.recordName.string)]
        edit = isEditable ? place.link("record/edit", named) : nil
        duplicate = isEditable ? place.link("record/duplicate", named) : nil
        delete = place.link("record/delete", [("name", record.recordID.recordName.string)])
        changes = visit.hasFeed(zoneID) ? place.link("changes") : nil
        query = place.link("query", [("type", record.recordType.string)])
    }

    /// A query for each type and field that refer, where the field is QUERYABLE.
    private static func queries(_ referrers: [Referrer], to target: Name, visit: Visit) -> [Frame.Link] {
        var seen: Set<[Name]> = []
        return referrers.filter { seen.insert([$0.recordType, $0.fieldName]).inserted }.compactMap { referrer in
            guard let field = visit.schema?.types[referrer.recordType]?.queryField(named: referrer.fieldName) else { return nil }
            let comparator: Comparator = field.definition.type.isList ? .listContains : .equals
            guard field.allows(comparator) else { return nil }
            let parameters = [
                ("type", referrer.recordType.string), ("filter1", field.name.string), ("is1", comparator.rawValue), ("value1", target.string),
            ]
            return Frame.Link(
                text: "Query \(referrer.recordType) by \(field.name)",
                href: visit.place.link("query", parameters.map { (name: $0.0, value: $0.1) }))
        }
    }

    private static func facts(_ record: StoredRecord, visit: Visit) -> [RecordView.Fact] {
        func device(_ signature: Signature) -> String {
            signature.deviceID.isEmpty || signature.deviceID == "iCloud" ? "" : " on \(signature.deviceID)"
        }
        func fact(_ name: String, _ form: ValueView.Form, note: String? = nil) -> RecordView.Fact {
            RecordView.Fact(name: name, value: ValueView(form, note: note))
        }
        return [
            fact("created", .time(record.created.timestamp), note: "by \(visit.people.name(of: record.created.userRecordName))\(device(record.created))"),
            fact("modified", .time(record.modified.timestamp), note: "by \(visit.people.name(of: record.modified.userRecordName))\(device(record.modified))"),
            fact("recordChangeTag", .code(record.recordChangeTag)),
            fact("zone", .text(visit.zoneName(record.recordID.zoneID)), note: visit.ownerName(record.recordID.zoneID)),
            fact("size of its fields", .text(Digits.bytes(Int64(record.fields.bytes.count))), note: "as JSON"),
        ]
    }
}

extension RecordView.ReferrerRow {
    /// A row for each record that refers, in the order of first mention.
    fileprivate static func rows(_ referrers: [Referrer], zoneID: ZoneID, place: Place) -> [RecordView.ReferrerRow] {
        var order: [Name] = []
        let groups = Dictionary(grouping: referrers, by: \.recordName)
        for referrer in referrers where !order.contains(referrer.recordName) { order.append(referrer.recordName) }
        return order.compactMap { name in
            guard let group = groups[name], let first = group.first else { return nil }
            return RecordView.ReferrerRow(
                recordName: name.string, href: place.link(toRecord: name, in: zoneID), type: first.recordType.string,
                ways: group.map { RecordView.Way($0) })
        }
    }
}

extension RecordView.Way {
    fileprivate init(_ referrer: Referrer) {
        field = referrer.fieldName == SystemField.parent.schemaName ? "parent" : referrer.fieldName.string
        action = referrer.action.rawValue
        consequence =
            switch referrer.action {
            case .none: "The reference stays, and points to nothing, when this record is deleted"
            case .deleteSelf: "The record that refers is deleted with this one"
            case .validate: "The reference keeps this record from being deleted"
            }
    }
}
