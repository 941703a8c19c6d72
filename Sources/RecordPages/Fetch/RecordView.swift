internal import AssetStore
package import Console
internal import RecordStore
package import Records

/// The page of a record: its data, and its references from other records.
package struct RecordView: Page {
    package static let template = "record"
    package static let tab = Tab.fetch

    struct FieldRow: ViewModel {
        let name: String
        let type: String
        let isEncrypted: Bool
        let indexes: [IndexBadge]
        let value: ValueView
        /// The form of the record at this field; `nil` if it can't be edited.
        let edit: String?
        /// True if the value has one input, which fits into its place.
        let isShort: Bool
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
        /// When and by whom it was last changed.
        let changed: ValueView
        /// The asset fields, including empty ones, and the data that scripts need for uploads.
        let assets: RecordAssets?
        let parent: RecordLink?
        /// The records that refer to it; `nil` if the engine can't tell.
        let referrers: ReferrerPanel?
        /// `nil` for a record without references.
        let graph: ReferenceGraph?
        let hasReferences: Bool
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
        /// `nil` in an earlier state, as all that changes the record.
        let compare: String?
        let delete: String?
        /// The change tag that the deletion requires; `nil` to ask before it.
        let deletedTag: String?
        let changes: String?
        let query: String
        /// The record as an object of Core Data; `nil` if it is none.
        let object: String?
    }

    /// The deletion of the record that had this name.
    struct Deletion: ViewModel {
        let when: ValueView
        let who: String
        /// The record with which it was deleted; `nil` for one that was not deleted with another, or if nobody knows.
        let root: Frame.Link?
        /// The form that saves the last version again; `nil` if it is not kept, for a share, and for a caller who can't
        /// save.
        let undo: NoticeView.Undo?
        /// What comes back with it.
        let returning: String
    }

    package let title: String
    let recordName: String
    let zone: String
    let body: Body?
    /// What became of the record of an earlier state; `nil` for the present one.
    let since: RecordSince?
    let complaint: PageError?
    /// `nil` if there is a record, or if nobody knows of one.
    let deletion: Deletion?
    /// True if the record was just deleted here, and no journal knows of it.
    let isLost: Bool
    /// Traces of a record that is not in the zone: in other zones, or deleted there.
    let whereabouts: [RecordTrace]
    /// Links to the places where a missing record may be found.
    let changes: String?
    let elsewhere: String
    /// The history of the record; `nil` if there is none.
    let history: RecordHistory?
    /// The link that restores the last version of a deleted record.
    let lastVersion: String?
    /// The reasons why users do not see a record that its owner has.
    let unseen: (any ViewModel)?
}

/// The record that an address names.
package struct AskedRecord: Sendable {
    package let recordID: RecordID
    /// `nil` if the acting user does not see one.
    package let record: StoredRecord?
    /// The visit in the zone of the record.
    package let visit: Visit
    /// The visit as it was asked for.
    fileprivate let original: Visit
    /// The reason why there is no record.
    fileprivate let complaint: PageError?
    /// False for a record whose earlier state is no longer kept.
    fileprivate let isKnown: Bool

    package init(_ visit: Visit) async throws {
        guard let name = visit.fields.text("name").map({ Name($0) }) else {
            throw RecordError(.badRequest, "The address of a record needs its name: record?zone=…&name=…")
        }
        guard let zoneID = visit.place.zoneID ?? visit.usualZoneID else { throw RecordError.zoneNotFound }
        recordID = RecordID(recordName: name, zoneID: zoneID)
        original = visit
        self.visit = visit.inZone(zoneID)
        do {
            (record, complaint, isKnown) = (try await RecordView.record(name, in: zoneID, visit: self.visit), nil, true)
        } catch let error as RecordError where error.code == .notFound || error.code == .zoneNotFound {
            (record, complaint, isKnown) = (nil, PageError(error), error.known != .stateNotKnown)
        }
    }
}

extension RecordView {
    /// - Parameter clients: the panel of the clients that received the record and those that did not; `nil` if the
    ///   engine can't tell. There may be one for a record that the acting user does not see.
    package static func load(_ asked: AskedRecord, clients: (any ViewModel)?) async throws -> RecordView {
        let (visit, there, name, zoneID) = (
            asked.original, asked.visit, asked.recordID.recordName, asked.recordID.zoneID
        )
        var complaint = asked.complaint
        var body: Body?
        do {
            if let record = asked.record { body = try await Body(record, visit: there, clients: clients) }
        } catch let error as RecordError where error.code == .notFound || error.code == .zoneNotFound {
            complaint = PageError(error)
        }
        let history = try await past(name, in: zoneID, there)
        let last = body == nil ? history?.rows.first { $0.restore != nil } : nil
        let deletion = body == nil ? try await Deletion(history, last: last, of: name, in: zoneID, there) : nil
        return RecordView(
            title: "\(name)", recordName: name.string,
            zone: visit.zoneName(zoneID), body: body,
            since: try await RecordSince(asked.record, isKnown: asked.isKnown, asked.recordID, there),
            complaint: complaint,
            deletion: deletion,
            isLost: body == nil && history == nil && visit.fields["notice"] == Notice.recordDeleted.rawValue,
            whereabouts: body == nil && deletion == nil
                ? try await RecordTrace.all(of: [name], notIn: zoneID, visit)[name] ?? [] : [],
            changes: visit.hasFeed(zoneID) ? there.place.link("changes") : nil,
            elsewhere: visit.place.with { $0.zone = .all }.link("find", [("q", name.string)]), history: history,
            lastVersion: last?.restore, unseen: body == nil ? clients : nil)
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
    fileprivate init?(
        _ history: RecordHistory?, last: RecordHistory.Row?, of name: Name, in zoneID: ZoneID, _ visit: Visit
    ) async throws {
        guard let latest = history?.rows.first, latest.act == RecordJournalEntry.Kind.deleted.rawValue else {
            return nil
        }
        when = latest.when
        who = latest.who
        let change = latest.change.flatMap { visit.changes.change($0, at: visit.place) }
        root = change?.root(of: RecordID(recordName: name, zoneID: zoneID)).map { root in
            Frame.Link(
                text: root.recordName.string, href: visit.place.link(toRecord: root.recordName, in: root.zoneID))
        }
        let others = (change?.recordIDs.count ?? 1) - 1
        returning =
            change == nil
            ? "Records that were deleted with it stay deleted."
            : others == 0
                ? ""
                : "\(Digits.count(others, "record")) of the same change \(others == 1 ? "comes" : "come") back with it."
        guard let last, !last.isShare, try await visit.canSave(in: zoneID) else {
            undo = nil
            return
        }
        let here = visit.place.link("record", [("name", name.string)])
        if let change {
            undo = NoticeView.Undo(change, back: here, at: visit.place)
            return
        }
        undo = NoticeView.Undo(
            action: visit.place.link("record/restore"),
            fields: [
                Frame.Hidden(name: "name", value: name.string),
                Frame.Hidden(name: "position", value: String(last.position)),
                Frame.Hidden(name: "from", value: here),
            ])
    }
}

extension RecordView.Body {
    fileprivate init(_ record: StoredRecord, visit: Visit, clients: (any ViewModel)?) async throws {
        let zoneID = record.recordID.zoneID
        let place = visit.place
        let links = try await visit.links(toAssetsOf: [record])
        let values = try record.fields.decoded()
        let referrers = try await ReferrerPanel.referrers(to: record, visit)
        let parentID = record.parent.map { RecordID(recordName: $0, zoneID: zoneID) }
        let others =
            values.flatMap { $0.value.targets(from: zoneID, limit: ValuePresenter.fullCount) }
            + (parentID.map { [$0] } ?? [])
            + (referrers ?? []).prefix(ReferrerPanel.limit).map {
                RecordID(recordName: $0.recordName, zoneID: zoneID)
            }
        let titles = try await ReferencedTitles(others, known: CollectionOfOne(record), visit)
        let presenter = ValuePresenter(place: place, zoneID: zoneID, links: links, titles: titles, isFull: true)
        let type = visit.schema?.types[record.recordType]
        heading = titles[record.recordID]
        self.type = record.recordType.string
        typeHref = place.link("type", [("type", record.recordType.string)])
        let isPresent = visit.earlier == nil
        let isEditable = isPresent && record.recordType != Schema.usersType
        let named = [("name", record.recordID.recordName.string)]
        fields = values.map { field in
            let known = isEditable ? type?.queryField(named: field.name).flatMap { visit.edit($0) } : nil
            return RecordView.FieldRow(
                name: field.name.string, type: field.value.typeLabel, isEncrypted: field.isEncrypted,
                indexes: (type?.fields[field.name]?.indexes ?? []).names.map {
                    IndexBadge(text: $0, tone: "has", explanation: "Index of the field")
                },
                value: presenter.view(field.value, of: field.name),
                edit: known == nil ? nil : place.link("record/edit", named + [("field", field.name.string)]),
                isShort: known == "short")
        }
        facts = Self.facts(record, visit: visit)
        changed = ValueView(.time(record.modified.timestamp), note: Self.by(record.modified, visit))
        sharing = try await SharingPanel.load(record, visit)
        assets = try await RecordAssets(record, links: links, visit: visit)
        parent = parentID.map {
            RecordLink(
                href: place.link(toRecord: $0.recordName, in: zoneID), recordName: $0.recordName.string,
                title: titles[$0])
        }
        self.referrers = referrers.map { ReferrerPanel($0, to: record.recordID, titles, visit) }
        graph = try await ReferenceGraph(record, values, referrers: referrers ?? [], titles, visit)
        hasReferences = self.referrers != nil || graph != nil
        deliveries = clients
        json = try RecordJSON.text(of: record, links: links)
        codes = try CodePanel.panels(of: record, visit: visit)
        edit = isEditable ? place.link("record/edit", named) : nil
        duplicate = isEditable ? place.link("record/duplicate", named) : nil
        copy = isEditable ? place.link("record/copy", named) : nil
        compare = isPresent ? place.link("record/compare", named) : nil
        delete = isPresent ? place.link("record/delete", named) : nil
        let takesOthers = referrers?.contains { $0.action == .deleteSelf } ?? false
        let asks = await visit.asksBeforeDeletions() || takesOthers
        deletedTag = asks ? nil : record.recordChangeTag
        changes = visit.hasFeed(zoneID) ? place.link("changes") : nil
        query = place.link("query", [("type", record.recordType.string)])
        object = MirroredNaming.isEntityType(record.recordType) ? place.link(toObject: record.recordID) : nil
    }

    private static func facts(_ record: StoredRecord, visit: Visit) -> [RecordView.Fact] {
        func fact(_ name: String, _ form: ValueView.Form, note: String? = nil) -> RecordView.Fact {
            RecordView.Fact(name: name, value: ValueView(form, note: note))
        }
        return [
            fact("Zone", .text(visit.zoneName(record.recordID.zoneID)), note: visit.ownerName(record.recordID.zoneID)),
            fact("Change tag", .code(record.recordChangeTag)),
            fact("Created", .time(record.created.timestamp), note: by(record.created, visit)),
            fact("Changed", .time(record.modified.timestamp), note: by(record.modified, visit)),
            fact("Size", .text("\(Digits.bytes(Int64(record.fields.bytes.count))) as JSON, without its files")),
        ]
    }

    private static func by(_ signature: Signature, _ visit: Visit) -> String {
        "by \(visit.people.name(of: signature.userRecordName))\(signature.onDevice)"
    }
}

// MARK: - References to the record

/// The references to a record: a line for each type and field, then the records by type.
struct ReferrerPanel: ViewModel {
    /// The maximum number of references that are listed, and that are counted.
    static let limit = 100
    static let countLimit = 2_000
    /// The number of initially visible names per type.
    private static let shown = 12

    struct Way: ViewModel {
        let type: String
        let field: String
        let action: String
        /// The effect on the reference when the record is deleted.
        let consequence: String
        let count: String
        /// A query for all of them; `nil` if no index allows it.
        let query: String?
        let queryName: String
    }

    struct Group: ViewModel {
        let type: String
        let rows: [RecordLink]
        let rest: [RecordLink]
        let restTitle: String
    }

    let title: String
    /// The number of records, or of references if there are more than are counted.
    let count: String
    let ways: [Way]
    let groups: [Group]
    /// The sentence about the listed part; `nil` if all are listed.
    let listed: String?

    /// The references to a record, of which there may be one more than the panel counts.
    /// - Returns: `nil` if the engine can't tell.
    static func referrers(to record: StoredRecord, _ visit: Visit) async throws -> [Referrer]? {
        guard visit.database.can(.traceReferences) else { return nil }
        return try await visit.measure {
            try await visit.database.require(.traceReferences).referrers(
                to: record.recordID, limit: countLimit + 1)
        }
    }

    init(_ found: [Referrer], to recordID: RecordID, _ titles: ReferencedTitles, _ visit: Visit) {
        let counted = found.prefix(Self.countLimit)
        let hasMore = found.count > counted.count
        ways = Self.grouped(counted) { Kind(type: $0.recordType, field: $0.fieldName, action: $0.action) }.map {
            kind, members in
            Way(kind, count: Digits.grouped(members.count) + (hasMore ? "+" : ""), target: recordID.recordName, visit)
        }
        groups = Self.grouped(found.prefix(Self.limit), by: \.recordType).map { type, members in
            // A record with two references counts once.
            let links = Self.grouped(members[...], by: \.recordName).map { name, _ in
                RecordLink(
                    href: visit.place.link(toRecord: name, in: recordID.zoneID), recordName: name.string,
                    title: titles[RecordID(recordName: name, zoneID: recordID.zoneID)])
            }
            let shown = links.count > Self.shown + 1 ? Self.shown : links.count
            return Group(
                type: type.string, rows: Array(links.prefix(shown)), rest: Array(links.dropFirst(shown)),
                restTitle: "\(links.count - shown) more")
        }
        listed =
            found.count > Self.limit ? "Listed are the records of the first \(Self.limit) references, by name." : nil
        // A record with several references counts once, so those of the first references may be few of all.
        let count = Set(counted.map(\.recordName)).count
        self.count = hasMore ? "\(Digits.grouped(Self.countLimit))+" : Digits.grouped(count)
        title =
            hasMore
            ? "More than \(Digits.count(Self.countLimit, "reference")) to this record"
            : count == 0 ? "No record refers to this one" : "Referred to by \(Digits.count(count, "record"))"
    }

    fileprivate struct Kind: Hashable {
        let type: Name
        let field: Name
        let action: Reference.Action
    }

    /// Groups elements in the order of first occurrence.
    private static func grouped<Key: Hashable>(_ referrers: ArraySlice<Referrer>, by key: (Referrer) -> Key) -> [(
        Key, [Referrer]
    )] {
        var order: [Key] = []
        var groups: [Key: [Referrer]] = [:]
        for referrer in referrers {
            let key = key(referrer)
            if groups[key] == nil { order.append(key) }
            groups[key, default: []].append(referrer)
        }
        return order.compactMap { key in groups[key].map { (key, $0) } }
    }
}

extension ReferrerPanel.Way {
    fileprivate init(_ kind: ReferrerPanel.Kind, count: String, target: Name, _ visit: Visit) {
        type = kind.type.string
        field = kind.field == SystemField.parent.schemaName ? "parent" : kind.field.string
        action = kind.action.rawValue
        consequence =
            switch kind.action {
            case .none: "stays; its reference is left without a target"
            case .deleteSelf: "is deleted with it"
            case .validate: "blocks the deletion"
            }
        self.count = count
        query = Self.link(kind, target: target, visit)
        queryName = "Query \(type) by \(field)"
    }

    private static func link(_ kind: ReferrerPanel.Kind, target: Name, _ visit: Visit) -> String? {
        guard let field = visit.schema?.types[kind.type]?.queryField(named: kind.field) else { return nil }
        let comparator: Comparator = field.definition.type.isList ? .listContains : .equals
        guard field.allows(comparator) else { return nil }
        let parameters = [
            ("type", kind.type.string), ("filter1", field.name.string), ("is1", comparator.rawValue),
            ("value1", target.string),
        ]
        return visit.place.link("query", parameters.map { (name: $0.0, value: $0.1) })
    }
}

// MARK: - Deletion

/// The actions on a record.
package enum RecordActions {
    /// The field of the form that the question has, so that it is asked once.
    private static let answeredField = "answered"

    package static func confirmDeletion(_ visit: Visit) async throws -> ConfirmationView {
        let (name, zoneID) = try target(visit)
        let record = try await RecordView.record(name, in: zoneID, visit: visit)
        let dependents = try await visit.measure { try await visit.database.dependents(of: [record.recordID]) }
        let keepsVersions = await visit.keepsVersions()
        let named = try visit.titles.words(for: record)
        var lines = [
            "The \(record.recordType) record \(named) in zone \(visit.zoneName(zoneID)) is deleted for everyone who sees it."
        ]
        if !dependents.isEmpty {
            lines.append(dependents.warning(for: "it"))
            if keepsVersions { lines.append("Undo brings all of them back.") }
        }
        if visit.database.can(.traceReferences) {
            let referrers = try await visit.measure {
                try await visit.database.require(.traceReferences).referrers(to: record.recordID, limit: 1000)
            }
            let cascaded = Set(dependents.map(\.recordID.recordName))
            let children = Set(referrers.filter { $0.fieldName == SystemField.parent.schemaName }.map(\.recordName))
                .subtracting(cascaded).count
            let blocking = referrers.count { $0.action == .validate }
            if blocking > 0 {
                lines.append(
                    "\(Digits.count(blocking, "record")) with a VALIDATE reference to it will keep it from being deleted."
                )
            }
            if children > 0 {
                lines.append("\(Digits.count(children, "record")) with it as parent will keep it from being deleted.")
            }
        }
        return ConfirmationView(
            on: .fetch, title: "Delete \(named)?", lines: lines, action: visit.place.link("record/delete"),
            fields: [
                Frame.Hidden(name: "name", value: name.string),
                // The tag of the page with the button, if the question comes only now.
                Frame.Hidden(name: "tag", value: visit.fields.text("tag") ?? record.recordChangeTag),
                Frame.Hidden(name: answeredField, value: "yes"),
            ],
            button: dependents.isEmpty ? "Delete the record" : "Delete \(Digits.grouped(dependents.count + 1)) records",
            cancel: visit.place.link(toRecord: name, in: zoneID), losing: keepsVersions ? nil : visit)
    }

    /// Deletes the record, provided that it has not changed since the page with the button. If others are deleted with
    /// it, the answer asks first.
    package static func delete(_ visit: Visit) async throws -> Answer {
        let (name, zoneID) = try target(visit)
        if visit.fields[answeredField] == nil {
            let recordID = RecordID(recordName: name, zoneID: zoneID)
            let dependents = try await visit.measure { try await visit.database.dependents(of: [recordID]) }
            if !dependents.isEmpty { return .page(try await confirmDeletion(visit)) }
        }
        let tag = visit.fields.text("tag")
        let operation = RecordOperation(
            tag == nil ? .forceDelete : .delete, recordName: name, zoneID: zoneID, recordChangeTag: tag)
        let results = try await visit.measure {
            try await visit.database.modify(ModifyRequest([operation], zoneID: zoneID))
        }
        for result in results { _ = try result.get() }
        return .redirect(
            visit.place.inZone(zoneID).link(
                "record", [("name", name.string)] + (await visit.notice(.recordDeleted))))
    }

    private static func target(_ visit: Visit) throws -> (Name, ZoneID) {
        guard let name = visit.fields.text("name"), let zoneID = visit.place.zoneID else {
            throw RecordError(.badRequest, "The address needs the record's name and its zone")
        }
        return (Name(name), zoneID)
    }
}
