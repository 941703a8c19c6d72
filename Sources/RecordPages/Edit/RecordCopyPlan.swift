internal import Accounts
internal import Console
internal import DataTransfer
internal import RecordStore
internal import Records

/// A dry run that determines the effects of copying records to another place.
struct RecordCopyPlan: Sendable {
    struct Item: Sendable {
        let record: StoredRecord
        /// The record of the same name at the target, without its fields.
        let existing: StoredRecord?
        /// The fields of the copy.
        let fields: [Field]
        let files: Int
        /// What the copy will do with the record, or why it can't be copied.
        fileprivate(set) var outcome: Result<RecordCopier.Outcome, RecordError>

        var name: Name { record.recordID.recordName }

        /// True if the copy saves the record.
        var arrives: Bool { problem == nil && outcome != .success(.left) }

        var problem: RecordError? { if case .failure(let error) = outcome { error } else { nil } }
    }

    /// A reference whose target is neither copied nor present.
    struct Dangling: Sendable {
        let recordName: Name
        /// `parent` for the parent of a record.
        let field: Name
        let target: RecordID
        let action: Reference.Action
    }

    /// The maximum number of references to follow.
    private static let referenceLimit = 2000

    let items: [Item]
    /// Picked records that no longer exist.
    let gone: [Name]
    let dangling: [Dangling]
    /// True if some references were not followed.
    let isCutOff: Bool
    /// Types and fields that the save adds to the target's schema: `Note`, `Note.title`.
    let additions: [String]
    /// True if the target's schema does not accept some of the records.
    let lacksSchema: Bool
    /// `nil` if the zone, or the whole environment, does not exist yet.
    let zone: Zone?

    /// The request: the target, and the rule for names that are taken.
    private let asked: [String]

    /// - Parameters:
    ///   - names: records of the visit's zone.
    ///   - there: the visit of the target; `nil` if its environment does not exist yet.
    /// - Throws: `RecordError` BAD_REQUEST if the records exceed the limits of one copy.
    init(_ names: [Name], _ visit: Visit, to other: OtherDatabase, _ there: Visit?, _ existing: RecordCopier.Existing)
        async throws
    {
        let zoneID = visit.place.zoneID ?? .default
        let found = try await visit.measure {
            try await visit.database.fetch(
                names.map { RecordID(recordName: $0, zoneID: zoneID) }, desiredKeys: nil,
                bytesLimit: RecordCopier.sizeLimit)
        }
        if found.contains(.failure(.tooManyBytes)) { throw RecordCopier.isTooLarge }
        gone = zip(names, found).compactMap { name, result in if case .failure = result { name } else { nil } }
        let records = found.compactMap { try? $0.get() }
        try RecordCopier.check(records, into: other.zoneID, existing: existing)
        zone = there?.zones.first { other.place.isSame($0.zoneID, other.zoneID) }
        var taken: [Name: StoredRecord] = [:]
        if let there, zone != nil {
            let results = try await visit.measure {
                try await there.database.fetch(
                    records.map { RecordID(recordName: $0.recordID.recordName, zoneID: other.zoneID) }, desiredKeys: [])
            }
            for record in results.compactMap({ try? $0.get() }) { taken[record.recordID.recordName] = record }
        }
        let move = ReferenceMove(
            from: zoneID, in: visit.place.address.scope, of: visit.database.caller.userRecordName, to: other.zoneID,
            in: other.place.address.scope, of: other.user.userRecordName)
        let before = there?.schema ?? .initial
        var schema = JustInTimeSchema(before, environment: other.place.address.environment)
        var lacksSchema = false
        var items = try records.map { record in
            let fields = try move.fields(of: record)
            let there = taken[record.recordID.recordName]
            return Item(
                record: record, existing: there, fields: fields, files: try record.fields.assets().count,
                outcome: RecordCopier.refusal(
                    of: record, from: visit.place.address.scope, to: other.place.address.scope, other.zoneID
                ).map { .failure($0) }
                    ?? Self.outcome(record, over: there, existing) {
                        do {
                            _ = try schema.resolve(RecordCopier.inputs(fields), from: .store, in: record.recordType)
                        } catch {
                            lacksSchema = true
                            throw error
                        }
                    })
        }
        self.lacksSchema = lacksSchema
        let followed = Self.followed(items, other)
        let missing = try await Self.missing(followed.references, there)
        Self.refuse(&items, followed.references, missing, move, isDefaultZone: other.zoneID.isDefault)
        self.items = items
        isCutOff = followed.isCutOff
        dangling = followed.references.filter { Self.dangles($0, items, missing) }.map { reference in
            Dangling(
                recordName: items[reference.source].name, field: reference.field, target: reference.target,
                action: reference.action)
        }
        var grown = JustInTimeSchema(before, environment: other.place.address.environment)
        // The plan lists records that can't be saved with the reason, so errors are ignored here.
        for item in items where item.arrives {
            _ = try? grown.resolve(RecordCopier.inputs(item.fields), from: .store, in: item.record.recordType)
        }
        additions = Self.additions(from: before, to: grown.schema)
        asked = [visit.place.link("record/copy"), existing.rawValue] + other.parameters.map(\.value)
    }

    var problems: [Item] { items.filter { $0.problem != nil } }
    var taken: [Item] { items.filter { $0.existing != nil } }
    var arriving: [Item] { items.filter(\.arrives) }
    /// The records that the copy sends. They include records that the target keeps, because the outcome lists them too.
    var sent: [StoredRecord] { items.filter { $0.problem == nil }.map(\.record) }
    var files: Int { arriving.reduce(0) { $0 + $1.files } }

    /// Identifies this plan: it differs if the request or any of the records has changed since the preview.
    var fingerprint: String {
        var print = FNV1a()
        for part in asked { print.add(text: part) }
        for item in items {
            print.add(text: item.name.string)
            print.add(text: item.record.recordChangeTag)
            print.add(text: item.existing?.recordChangeTag ?? "")
        }
        return print.text
    }

    // MARK: Outcome of a record

    /// The outcome for a record, without regard to references.
    /// - Parameter check: throws the error of the target's schema.
    private static func outcome(
        _ record: StoredRecord, over there: StoredRecord?, _ existing: RecordCopier.Existing, _ check: () throws -> Void
    ) -> Result<RecordCopier.Outcome, RecordError> {
        if let there {
            if existing != .replace { return .success(.left) }
            if there.recordType != record.recordType {
                let reason =
                    "The record with this name there has type '\(there.recordType)', and a record can't change its type; delete that record first"
                return .failure(RecordError(.badRequest, reason))
            }
        }
        do {
            try check()
            return .success(there == nil ? .copied : .replaced)
        } catch {
            return .failure(error as? RecordError ?? RecordError(.internalError, "\(error)"))
        }
    }

    private static func additions(from before: Schema, to after: Schema) -> [String] {
        after.sortedTypes.flatMap { type -> [String] in
            guard let known = before.types[type.name] else { return [type.name.string] }
            return type.fields.keys.filter { known.fields[$0] == nil }.sorted().map { "\(type.name).\($0)" }
        }
    }

    // MARK: References

    private struct Followed {
        /// The index of the item with the reference.
        let source: Int
        let field: Name
        let target: RecordID
        /// The index of the item that is the target.
        let item: Int?
        let action: Reference.Action
    }

    /// The references of the records that will be saved.
    private static func followed(_ items: [Item], _ other: OtherDatabase) -> (references: [Followed], isCutOff: Bool) {
        let places = Dictionary(items.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        var followed: [Followed] = []
        var isCutOff = false
        func follow(_ source: Int, _ field: Name, _ target: Name, _ zoneID: ZoneID?, _ action: Reference.Action) {
            let isOwnZone = zoneID.map { other.place.isSame($0, other.zoneID) } ?? true
            let item = isOwnZone ? places[target] : nil
            if item == source { return }
            if followed.count == referenceLimit {
                isCutOff = true
                return
            }
            let targetID = RecordID(recordName: target, zoneID: isOwnZone ? other.zoneID : zoneID ?? other.zoneID)
            followed.append(Followed(source: source, field: field, target: targetID, item: item, action: action))
        }
        for (index, item) in items.enumerated() where item.arrives {
            for field in item.fields {
                for case .reference(let reference) in field.value.elements {
                    follow(index, field.name, reference.recordName, reference.zoneID, reference.action)
                }
            }
            if let parent = item.record.parent { follow(index, "parent", parent, nil, .none) }
            if let root = item.record.sharing?.share?.rootName { follow(index, "forRecord", root, nil, .none) }
        }
        return (followed, isCutOff)
    }

    /// The targets that do not exist at the other place. Uses one fetch.
    private static func missing(_ references: [Followed], _ there: Visit?) async throws -> Set<RecordID> {
        let targets = Array(Set(references.filter { $0.item == nil }.map(\.target)))
        guard let there, !targets.isEmpty else { return Set(targets) }
        let results = try await there.measure { try await there.database.fetch(targets, desiredKeys: []) }
        return Set(
            zip(targets, results).compactMap { target, result in if case .failure = result { target } else { nil } })
    }

    private static func dangles(_ reference: Followed, _ items: [Item], _ missing: Set<RecordID>) -> Bool {
        guard let item = reference.item else { return missing.contains(reference.target) }
        return !items[item].arrives && items[item].existing == nil
    }

    /// Rejects the records that the database will refuse: records with dangling VALIDATE references, and
    /// then the records that reference these. In a default zone, also the records of a reference cycle.
    private static func refuse(
        _ items: inout [Item], _ references: [Followed], _ missing: Set<RecordID>, _ move: ReferenceMove,
        isDefaultZone: Bool
    ) {
        var hasChanged = true
        while hasChanged {
            hasChanged = false
            for reference in references where reference.action == .validate {
                guard items[reference.source].arrives, dangles(reference, items, missing) else { continue }
                let reason =
                    "The reference '\(reference.field)' has action VALIDATE, and its target '\(reference.target.recordName)' is not copied and not there; copy the target too"
                items[reference.source].outcome = .failure(RecordError(.validatingReferenceError, reason))
                hasChanged = true
            }
            if hasChanged || !isDefaultZone { continue }
            let arriving = items.indices.filter { items[$0].arrives }
            let there = Set(items.filter { $0.existing != nil }.map(\.name))
            let order = CopyOrder(arriving.map { (items[$0].name, move.validated(by: items[$0].fields)) }, there: there)
            for group in order.groups where group.count > 1 {
                for place in group { items[arriving[place]].outcome = .failure(RecordCopier.isInCircle) }
                hasChanged = true
            }
        }
    }
}

// MARK: - Preview

/// The effects of copying records, as text for the page.
struct RecordCopyPreview {
    let parts: [any Component]
    let fingerprint: String
    let canCopy: Bool
    let button: String

    init(
        _ plan: RecordCopyPlan, _ source: RecordCopyView.Source, to other: OtherDatabase,
        _ existing: RecordCopier.Existing
    ) throws {
        let isProduction = other.place.address.environment == .production
        let copied = plan.arriving
        let stops = existing == .refuse && !plan.taken.isEmpty
        let refused = existing == .refuse && !plan.problems.isEmpty
        canCopy = !copied.isEmpty && !stops && !refused
        fingerprint = plan.fingerprint
        button = "Copy \(Digits.count(copied.count, "record"))"
        var words: [String] = []
        if stops {
            words.append(
                "\(Digits.count(plan.taken.count, "record")) with the same \(plan.taken.count == 1 ? "name exists" : "names exist") there, so nothing is copied."
            )
        } else if refused {
            words.append("\(Digits.count(plan.problems.count, "record")) can’t be copied, so none is.")
        } else {
            let files = plan.files == 0 ? "" : copied.count == 1 ? " with its files" : " with their files"
            words.append(
                copied.isEmpty
                    ? "Nothing is copied."
                    : "\(Digits.count(copied.count, "record")) \(copied.count == 1 ? "is" : "are") copied\(files).")
            let taken = plan.taken.count { $0.problem == nil }
            let (are, they) = taken == 1 ? ("is", "it is") : ("are", "they are")
            let then = existing == .replace ? "replaced" : "kept as \(they)"
            if taken > 0 { words.append("\(Digits.grouped(taken)) \(are) there already and \(are) \(then).") }
            if !plan.problems.isEmpty { words.append("\(Digits.grouped(plan.problems.count)) can’t be copied.") }
        }
        let summary = words.joined(separator: " ")
        let makesZone = canCopy && plan.zone == nil && !other.zoneID.isDefault
        let there: Inline =
            "Into \(other.words).\(makesZone ? " Creates the zone." : "")\(isProduction ? " This is production." : "")"
        var notes: [any Component] = []
        if !plan.additions.isEmpty {
            let additions = plan.additions.prefix(RecordCopyView.shownLimit).joined(separator: ", ")
            notes.append(Paragraph("Saving adds to the schema there: \(.code(additions))"))
        }
        if plan.lacksSchema, isProduction {
            let deploy = source.visit.place.with { $0.address.environment = .development }.link(Tab.deploy.rawValue)
            notes.append(
                Paragraph(
                    "Production accepts only what its schema has. \(.link("Deploy the schema of development", deploy)), then copy."
                ))
        }
        let rows =
            try plan.items.map { try Self.row($0, source.visit, other, existing) }
            + plan.gone.map { Self.row(gone: $0, source.visit) }
        let records = Section(
            "records", "Records",
            [
                Table(
                    "Records to copy",
                    [
                        .column("recordName", "name"), "type", .number("size"), "files", "destination",
                        .column("reason", "wide"),
                    ], rows)
            ])
        parts =
            [canCopy ? Note(good: summary, there, notes) : Note(bad: summary, there, notes)] + Self.dangling(plan)
            + [records]
    }

    /// The references whose targets are not there.
    private static func dangling(_ plan: RecordCopyPlan) -> [any Component] {
        if plan.dangling.isEmpty { return [] }
        let rows = plan.dangling.prefix(RecordCopyView.shownLimit).map { dangling in
            Table.Row([
                Inline(dangling.recordName.string), Inline(dangling.field.string),
                Inline(dangling.target.recordName.string),
                dangling.action == .validate
                    ? Inline("VALIDATE: the record is refused without it").styled("kind deleted")
                    : "its target is missing there",
            ])
        }
        let left = plan.dangling.count - RecordCopyView.shownLimit
        let more =
            plan.isCutOff
            ? " There are more references than were checked." : left > 0 ? " And \(Digits.grouped(left)) more." : ""
        return [
            Section(
                "missing", "References to missing records",
                [
                    Table(
                        "References and their targets",
                        [.column("record", "name"), "field", .column("refers to", "mono"), "result"], rows),
                    Paragraph.faint("Copy those records too, or first.\(more)"),
                ])
        ]
    }

    private static func row(gone name: Name, _ visit: Visit) -> Table.Row {
        let href = visit.place.link(toRecord: name, in: visit.place.zoneID ?? .default)
        return Table.Row([
            .link(name.string, href), "", "", "", Inline("deleted").styled("kind deleted"),
            "It was deleted after you selected it",
        ])
    }

    private static func row(
        _ item: RecordCopyPlan.Item, _ visit: Visit, _ other: OtherDatabase, _ existing: RecordCopier.Existing
    ) throws -> Table.Row {
        let name = item.record.recordID.recordName
        let href = visit.place.link(toRecord: name, in: item.record.recordID.zoneID)
        let (verdict, tone) =
            item.problem != nil
            ? ("can’t be copied", "deleted")
            : item.existing == nil
                ? ("new", "created")
                : existing == .replace ? ("is replaced", "recreated") : ("is there already", "")
        let compare: Inline =
            item.existing == nil
            ? "" : " \(.link("compare", RecordComparisonView.link(name, in: visit.place, with: name, other)))"
        return Table.Row([
            Inline(
                ValueView(
                    try visit.titles.title(of: item.record).map {
                        .record(title: $0, name: name.string, href: href, hint: nil)
                    } ?? .link(name.string, href: href, hint: nil))),
            Inline(item.record.recordType.string), Inline(Digits.bytes(Int64(item.record.fields.bytes.count))),
            item.files == 0 ? .missing : Inline(Digits.count(item.files, "file")),
            Inline(verdict).styled("kind \(tone)") + compare, Inline(item.problem?.reason ?? ""),
        ])
    }
}
