internal import Accounts
internal import AssetStore
package import Console
internal import RecordStore
internal import Records

/// Two records side by side, field by field. The second may be in another zone, environment or database, or belong to
/// another user.
package struct RecordComparisonView: Page {
    package static let template = "record_compare"
    package static let tab = Tab.fetch
    /// The parameter with the name of the second record.
    static let otherField = "other"

    struct Side: ViewModel {
        let recordName: String
        let title: String?
        let place: String
        let href: String
        /// The reason why there is nothing to compare.
        let missing: String?
    }

    struct Table: ViewModel {
        let caption: String
        let rows: [ComparedValue]
        /// A remark in place of the rows.
        let remark: String?
    }

    struct Found: ViewModel {
        let recordName: String
        let type: String
        let href: String
    }

    /// Suggested records to compare with, if no second record is named.
    struct Candidates: ViewModel {
        let heading: String
        let records: [Found]
    }

    package let title: String
    let action: String
    let hidden: [Frame.Hidden]
    let there: OtherDatabaseInputs
    let otherName: String
    /// The address of the name suggestions.
    let names: String
    let left: Side
    /// `nil` if no second record is named.
    let right: Side?
    /// The result of the comparison in a sentence.
    let summary: String?
    let isAlike: Bool
    let views: [Frame.Entry]
    let tables: [Table]
    let candidates: [Candidates]
    let exchanged: String?
    let complaint: PageError?
}

extension RecordComparisonView {
    package static func load(_ visit: Visit) async throws -> RecordComparisonView {
        guard let name = visit.fields.text("name").map({ Name($0) }),
            let zoneID = visit.place.zoneID ?? visit.usualZoneID
        else {
            throw RecordError(
                .badRequest,
                "The address of a comparison needs a record and its zone: record/compare?zone=…&name=…&other=…")
        }
        let here = visit.inZone(zoneID)
        let otherName = Name((visit.fields[otherField] ?? "").trimmingSpaces)
        var other: OtherDatabase?
        var complaint: PageError?
        do {
            other = try OtherDatabase(here, isOwn: false)
        } catch let error as RecordError {
            complaint = PageError(error)
        }
        var there: Visit?
        if let other { there = try await here.elsewhere(other.place) }
        let mine = try await record(name, in: here)
        var theirs: StoredRecord?
        if let there, !otherName.isEmpty { theirs = try await record(otherName, in: there) }
        var comparison: (tables: [Table], summary: String, isAlike: Bool)?
        if let mine, let theirs, let there { comparison = try await compare(mine, here, theirs, there) }
        var candidates: [Candidates] = []
        if mine != nil, theirs == nil, complaint == nil {
            candidates = try await Self.candidates(name, otherName, here, there, other)
        }
        return RecordComparisonView(
            title: otherName.isEmpty ? "Compare \(name)" : "\(name) and \(otherName)",
            action: "\(visit.place.path)/record/compare",
            hidden: here.place.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) } + [
                Frame.Hidden(name: "name", value: name.string)
            ],
            there: OtherDatabaseInputs(
                here, scopes: DatabaseScope.allCases, zones: there?.zones ?? [], mark: "data-names-place"),
            otherName: otherName.string,
            names: (there ?? here).place.link("record/names"),
            left: try Side(name, here, mine),
            right: otherName.isEmpty ? nil : try other.map { try Side(otherName, at: $0, theirs, here) },
            summary: comparison?.summary, isAlike: comparison?.isAlike ?? false,
            views: comparison == nil ? [] : other.map { views(name, otherName, $0, here) } ?? [],
            tables: comparison?.tables ?? [],
            candidates: candidates,
            exchanged: other.flatMap { other in otherName.isEmpty ? nil : exchanged(name, otherName, other, here) },
            complaint: complaint)
    }

    /// The link that compares a record with a record of another place.
    static func link(_ name: Name, in place: Place, with other: Name, _ otherPlace: OtherDatabase) -> String {
        place.link("record/compare", [("name", name.string), (otherField, other.string)] + otherPlace.parameters)
    }

    // MARK: Parts

    /// - Returns: `nil` if the record or its zone does not exist.
    private static func record(_ name: Name, in visit: Visit) async throws -> StoredRecord? {
        do {
            return try await RecordView.record(name, in: visit.place.zoneID ?? .default, visit: visit)
        } catch let error as RecordError where error.code == .notFound || error.code == .zoneNotFound {
            return nil
        }
    }

    private static func compare(
        _ mine: StoredRecord, _ here: Visit, _ theirs: StoredRecord, _ there: Visit
    ) async throws -> (tables: [Table], summary: String, isAlike: Bool) {
        let left = try await values(of: mine, here)
        let right = try await values(of: theirs, there)
        let (mineByName, theirsByName) = (try byName(mine), try byName(theirs))
        let names = Set(mineByName.keys).union(theirsByName.keys).sorted()
        let fields = names.map { ComparedValue($0, mineByName[$0], left, theirsByName[$0], right) }
            .enumerated().sorted { ($0.element.verdict.rank, $0.offset) < ($1.element.verdict.rank, $1.offset) }.map(
                \.element)
        let onlyDiffering = here.fields["show"] == "differing"
        func table(_ caption: String, _ rows: [ComparedValue], nothing: String) -> Table {
            let shown = onlyDiffering ? rows.filter { $0.verdict != .equal } : rows
            return Table(
                caption: caption, rows: shown,
                remark: rows.isEmpty ? nothing : shown.isEmpty ? "All fields are equal." : nil)
        }
        let differing = fields.count { $0.verdict == .differs }
        let (onlyHere, onlyThere) = (
            fields.count { $0.verdict == .onlyHere }, fields.count { $0.verdict == .onlyThere }
        )
        let isAlike = differing + onlyHere + onlyThere == 0
        var words: [String] = []
        if differing > 0 {
            words.append("\(Digits.count(differing, "field")) \(differing == 1 ? "differs" : "differ")")
        }
        if onlyHere > 0 { words.append("\(Digits.grouped(onlyHere)) only in the left record") }
        if onlyThere > 0 { words.append("\(Digits.grouped(onlyThere)) only in the right record") }
        let equal = fields.count - differing - onlyHere - onlyThere
        let summary =
            isAlike
            ? fields.isEmpty
                ? "Neither record has fields." : "The same values in all \(Digits.count(fields.count, "field"))."
            : words.joined(separator: ", ") + ", \(Digits.grouped(equal)) \(equal == 1 ? "is" : "are") equal."
        let system = systemRows(mine, here, theirs, there)
        return (
            [
                table("Fields", fields, nothing: "Neither record has fields."),
                table("System fields", system, nothing: ""),
            ], summary, isAlike
        )
    }

    private static func values(of record: StoredRecord, _ visit: Visit) async throws -> ValuePresenter {
        ValuePresenter(
            place: visit.place, zoneID: record.recordID.zoneID, links: try await visit.links(toAssetsOf: [record]),
            isFull: true)
    }

    private static func byName(_ record: StoredRecord) throws -> [Name: Field] {
        Dictionary(try record.fields.decoded().map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    private static func systemRows(_ mine: StoredRecord, _ here: Visit, _ theirs: StoredRecord, _ there: Visit)
        -> [ComparedValue]
    {
        func row(_ name: String, _ value: (StoredRecord, Visit) -> (view: ValueView, mark: Name)) -> ComparedValue {
            let (left, right) = (value(mine, here), value(theirs, there))
            return ComparedValue(name, left.view, right.view, isEqual: left.mark == right.mark)
        }
        func signed(_ signature: Signature, _ visit: Visit) -> (ValueView, Name) {
            return (
                ValueView(
                    .time(signature.timestamp),
                    note: "by \(visit.people.name(of: signature.userRecordName))\(signature.onDevice)"),
                Name("\(signature.timestamp.milliseconds) \(signature.userRecordName) \(signature.deviceID)")
            )
        }
        return [
            row("recordName") { record, _ in
                (ValueView(.code(record.recordID.recordName.string)), record.recordID.recordName)
            },
            row("recordType") { record, visit in
                let link = visit.place.link("type", [("type", record.recordType.string)])
                return (ValueView(.link(record.recordType.string, href: link, hint: nil)), record.recordType)
            },
            row("recordChangeTag") { record, _ in
                (ValueView(.code(record.recordChangeTag)), Name(record.recordChangeTag))
            },
            row("created") { record, visit in signed(record.created, visit) },
            row("modified") { record, visit in signed(record.modified, visit) },
            row("parent") { record, visit in
                guard let parent = record.parent else { return (.missing, "") }
                return (
                    ValueView(
                        .link(
                            parent.string, href: visit.place.link(toRecord: parent, in: record.recordID.zoneID),
                            hint: nil)), parent
                )
            },
            row("size of the fields") { record, _ in
                (
                    ValueView(.text(Digits.bytes(Int64(record.fields.bytes.count))), note: "as JSON"),
                    Name(String(record.fields.bytes.count))
                )
            },
        ]
    }

    private static func views(_ name: Name, _ otherName: Name, _ other: OtherDatabase, _ visit: Visit) -> [Frame.Entry]
    {
        let all = link(name, in: visit.place, with: otherName, other)
        let isAll = visit.fields["show"] != "differing"
        return [
            Frame.Entry(text: "All fields", href: all, count: nil, key: nil, isCurrent: isAll),
            Frame.Entry(
                text: "Only differences", href: all + "&show=differing", count: nil, key: nil, isCurrent: !isAll),
        ]
    }

    /// The link to the same comparison with the sides exchanged.
    private static func exchanged(_ name: Name, _ otherName: Name, _ other: OtherDatabase, _ visit: Visit) -> String {
        let here = visit.place
        let parameters = [
            ("name", otherName.string), (otherField, name.string),
            (OtherDatabase.environmentField, here.address.environment.rawValue),
            (OtherDatabase.databaseField, here.address.scope.rawValue),
            (OtherDatabase.userField, visit.people.actor.handle),
            (OtherDatabase.zoneField, here.zoneID.map { here.zoneText($0) } ?? ""),
        ]
        return other.place.link("record/compare", parameters.map { (name: $0.0, value: $0.1) })
    }

    // MARK: Candidates

    /// The maximum number of zones to search for a record of the same name.
    private static let zoneLimit = 200

    private static func candidates(
        _ name: Name, _ typed: Name, _ here: Visit, _ there: Visit?, _ other: OtherDatabase?
    ) async throws -> [Candidates] {
        var candidates: [Candidates] = []
        if let other, let there {
            let isSame = other.isZone(here.place.zoneID, of: here)
            let beginning = typed.isEmpty ? family(of: name) : typed
            let names = try await RecordNames.beginning(with: beginning, in: other.zoneID, visit: there).filter {
                !isSame || $0.recordName != name
            }
            let begins = beginning.isEmpty ? "Records" : "Records whose names begin with \(beginning)"
            if !names.isEmpty || !typed.isEmpty {
                candidates.append(
                    Candidates(
                        heading: "\(begins) in \(other.words)",
                        records: names.map {
                            Found(
                                recordName: $0.recordName.string, type: $0.recordType.string,
                                href: link(name, in: here.place, with: $0.recordName, other))
                        }))
            }
        }
        let namesakes = try await namesakes(of: name, here)
        if !namesakes.isEmpty {
            candidates.append(Candidates(heading: "Records with the same name", records: namesakes))
        }
        return candidates
    }

    /// The common prefix of names with the same pattern: `Room/` of `Room/general`; empty if the name has no such
    /// prefix.
    private static func family(of name: Name) -> Name {
        guard let slash = name.string.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return Name(String(name.string[...slash]))
    }

    /// Records of the same name in other zones of the database, and in the other environment.
    private static func namesakes(of name: Name, _ here: Visit) async throws -> [Found] {
        let mine = here.place.zoneID ?? .default
        var found: [Found] = []
        func look(_ visit: Visit, _ zoneIDs: [ZoneID]) async throws {
            let results = try await visit.measure {
                try await visit.database.fetch(zoneIDs.map { RecordID(recordName: name, zoneID: $0) }, desiredKeys: [])
            }
            for record in results.compactMap({ try? $0.get() }) {
                let place = visit.place.inZone(record.recordID.zoneID)
                let other = try OtherDatabase(here.naming(place), isOwn: false)
                found.append(
                    Found(
                        recordName: other.words, type: record.recordType.string,
                        href: link(name, in: here.place, with: name, other)))
            }
        }
        try await look(here, here.zones.prefix(zoneLimit).map(\.zoneID).filter { !here.place.isSame($0, mine) })
        for environment in Records.Environment.allCases where environment != here.place.address.environment {
            guard let there = try await here.elsewhere(here.place.with { $0.address.environment = environment }) else {
                continue
            }
            try await look(there, [mine])
        }
        return found
    }
}

extension Visit {
    /// The same visit with form fields that name another place.
    fileprivate func naming(_ other: Place) -> Visit {
        with(
            fields: FormFields([
                (OtherDatabase.environmentField, other.address.environment.rawValue),
                (OtherDatabase.databaseField, other.address.scope.rawValue),
                (OtherDatabase.zoneField, other.zoneID.map { other.zoneText($0) } ?? ""),
            ]))
    }
}

extension RecordComparisonView.Side {
    fileprivate init(_ name: Name, _ visit: Visit, _ record: StoredRecord?) throws {
        recordName = name.string
        title = try record.flatMap { try visit.titles.title(of: $0) }
        place = OtherDatabase.words(visit.place, visit.people.actor)
        href = visit.place.link("record", [("name", name.string)])
        missing = record == nil ? "There is no record with this name in \(place)." : nil
    }

    fileprivate init(_ name: Name, at other: OtherDatabase, _ record: StoredRecord?, _ visit: Visit) throws {
        recordName = name.string
        title = try record.flatMap { try visit.titles.title(of: $0) }
        place = other.words
        href = other.place.link("record", [("name", name.string)])
        missing = record == nil ? "There is no record with this name in \(other.words)." : nil
    }
}

// MARK: - Values

/// A row of a comparison: one field, or one property, of two records.
struct ComparedValue: ViewModel {
    /// The result for a field of both records.
    enum Verdict: String, Sendable {
        case differs
        case onlyHere = "only left"
        case onlyThere = "only right"
        case equal

        /// Differences come first.
        var rank: Int {
            switch self {
            case .differs: 0
            case .onlyHere: 1
            case .onlyThere: 2
            case .equal: 3
            }
        }
    }

    struct Side: ViewModel {
        /// `nil` if the record has no such field.
        let type: String?
        let isEncrypted: Bool
        let value: ValueView
        /// The value split around the differing part; `nil` unless both values are different texts.
        let parts: TextParts?

        static let missing = Side(type: nil, isEncrypted: false, value: .missing, parts: nil)
    }

    let name: String
    let verdict: Verdict
    let left: Side
    let right: Side
    /// A remark on details that the values do not show.
    let note: String?

    func child(named name: String) -> Any? {
        switch name {
        case "name": self.name
        case "words": verdict.rawValue
        case "isEqual": verdict == .equal
        case "left": left
        case "right": right
        case "note": note ?? Absent()
        default: nil
        }
    }

    /// A field of two records. Values are equal if their stored bytes are equal, so strings that look the same can
    /// differ.
    init(_ name: Name, _ left: Field?, _ leftValues: ValuePresenter, _ right: Field?, _ rightValues: ValuePresenter) {
        self.name = name.string
        switch (left, right) {
        case (let left?, let right?): verdict = Self.bytes(left) == Self.bytes(right) ? .equal : .differs
        case (nil, _?): verdict = .onlyThere
        default: verdict = .onlyHere
        }
        var parts: (TextParts, TextParts)?
        var note: String?
        if verdict == .differs, case .string(let here)? = left?.value, case .string(let there)? = right?.value {
            parts = TextParts.differing(here, there)
            if here == there {
                note = "They look the same, but their characters differ: one is composed, the other decomposed."
            }
        }
        self.note = note
        self.left = Side(left, of: name, leftValues, parts?.0)
        self.right = Side(right, of: name, rightValues, parts?.1)
    }

    /// A property that is not a field.
    init(_ name: String, _ left: ValueView, _ right: ValueView, isEqual: Bool) {
        self.name = name
        verdict = isEqual ? .equal : .differs
        self.left = Side(type: nil, isEncrypted: false, value: left, parts: nil)
        self.right = Side(type: nil, isEncrypted: false, value: right, parts: nil)
        note = nil
    }

    /// The stored bytes of the field.
    private static func bytes(_ field: Field) -> [UInt8] { FieldsText([field]).bytes }
}

extension ComparedValue.Side {
    fileprivate init(_ field: Field?, of name: Name, _ values: ValuePresenter, _ parts: TextParts?) {
        guard let field else {
            self = .missing
            return
        }
        type = field.value.typeLabel
        isEncrypted = field.isEncrypted
        value = values.view(field.value, of: name)
        self.parts = parts
    }
}
