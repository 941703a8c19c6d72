package import Console
internal import RecordStore
internal import Records

/// An edit conflict: the user's values, the original values and the current values, with a choice for each field.
package struct ConflictView: Page {
    package static let template = "record_conflict"
    package static let tab = Tab.fetch
    /// Represents the parent of the record among the fields.
    static let parent: Name = "___parent"

    struct Side: ViewModel {
        let value: ValueView
        /// The value as JSON, for the form.
        let text: String
        let isChosen: Bool
    }

    struct Row: ViewModel {
        let number: String
        let name: String
        let label: String
        let schemaType: String
        let type: String
        let mine: Side
        let was: Side
        let theirs: Side
        let verdict: String
        /// True if both sides changed the field to different values.
        let isContested: Bool
        /// False for files: those of another version can't be saved again, so the current ones stay.
        let canChoose: Bool
    }

    package let title: String
    /// True for a change in a mirror, which iCloud does not have.
    let isUnsent: Bool
    let recordName: String
    /// The record in the heading, with the title that it has now.
    let named: RecordLink
    let recordType: String
    let tag: String
    /// The change tag of the version here that the choices are from; `nil` for a save that came too late.
    let mineTag: String?
    let zone: String
    /// The user who changed the record, and the time.
    let who: String
    let when: ValueView
    let rows: [Row]
    let contested: String
    /// True if a field has no choice yet.
    let asksForChoice: Bool
    let action: String
    let record: String

    /// A field in the versions of both sides.
    private struct Versions {
        let name: Name
        let type: FieldType
        let mine: FieldValue?
        let was: FieldValue?
    }

    /// A save that came too late.
    /// - Parameter record: the current version.
    init(_ form: RecordForm, _ record: StoredRecord, visit: Visit) throws {
        var versions: [Versions] = []
        for field in form.fields {
            // An empty value counts as a change. An unreadable input keeps the original value; the refused save was
            // able to read all inputs.
            let mine: FieldValue?
            do { mine = try field.value(in: visit.place) } catch { mine = field.was }
            versions.append(Versions(name: field.name, type: field.type, mine: mine, was: field.was))
        }
        try self.init(versions, parent: form.parent, was: form.parentWas, record, mineTag: nil, visit)
    }

    /// A change in a mirror that came too late in iCloud.
    /// - Parameters:
    ///   - mine: the record in the mirror.
    ///   - base: the version that it was changed from; `nil` if it was created here.
    ///   - theirs: the version in iCloud.
    init(mine: StoredRecord, base: StoredRecord?, theirs: StoredRecord, visit: Visit) throws {
        func fields(_ record: StoredRecord?) throws -> [Name: Field] {
            Dictionary(
                try record?.fields.decoded().map { ($0.name, $0) } ?? [], uniquingKeysWith: { first, _ in first })
        }
        let (now, was, others) = (try fields(mine), try fields(base), try fields(theirs))
        let declared = visit.schema?.types[mine.recordType]?.fields ?? [:]
        let names = Set(now.keys).union(was.keys).union(others.keys).sorted()
        let versions = names.map { name in
            let type =
                declared[name]?.type ?? [now, was, others].lazy.compactMap { $0[name]?.value.type }.first
                ?? .list(.string)
            return Versions(name: name, type: type, mine: now[name]?.value, was: was[name]?.value)
        }
        try self.init(versions, parent: mine.parent, was: base?.parent, theirs, mineTag: mine.recordChangeTag, visit)
    }

    private init(
        _ versions: [Versions], parent: Name?, was parentWas: Name?, _ record: StoredRecord, mineTag: String?,
        _ visit: Visit
    ) throws {
        let isUnsent = mineTag != nil
        let place = visit.place
        let zoneID = record.recordID.zoneID
        let now = Dictionary(
            try record.fields.decoded().map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        let presenter = ValuePresenter(place: place, zoneID: zoneID, links: nil)
        var rows: [Row] = []
        func add(_ name: Name, _ type: FieldType, mine: FieldValue?, was: FieldValue?, theirs: FieldValue?) {
            if let row = Row(
                name, type, mine: mine, was: was, theirs: theirs, number: rows.count + 1, presenter: presenter)
            {
                rows.append(row)
            }
        }
        for field in versions { add(field.name, field.type, mine: field.mine, was: field.was, theirs: now[field.name]) }
        func reference(_ name: Name?) -> FieldValue? {
            name.flatMap { $0.isEmpty ? nil : .reference(Reference(recordName: $0)) }
        }
        add(
            Self.parent, .reference, mine: reference(parent), was: reference(parentWas),
            theirs: reference(record.parent))
        self.rows = rows
        self.isUnsent = isUnsent
        self.mineTag = mineTag
        title = "Conflict · \(record.recordID.recordName)"
        recordName = record.recordID.recordName.string
        named = RecordLink(
            href: place.link(toRecord: record.recordID.recordName, in: zoneID), recordName: recordName,
            title: visit.titles.title(of: record.recordType, now))
        recordType = record.recordType.string
        tag = record.recordChangeTag
        zone = visit.zoneName(zoneID)
        who = visit.people.name(of: record.modified.userRecordName)
        when = ValueView(.time(record.modified.timestamp))
        let count = rows.count(where: \.isContested)
        asksForChoice = count > 0
        contested =
            count == 0
            ? "The two saves changed different fields, so both changes can be merged."
            : "\(Digits.count(count, "field")) \(count == 1 ? "was" : "were") changed on both sides: choose a version for each."
        action = place.inZone(zoneID).link(isUnsent ? "unsent/resolve" : "record/resolve")
        self.record =
            isUnsent ? place.link(Tab.unsent.rawValue) : place.link(toRecord: record.recordID.recordName, in: zoneID)
    }
}

extension ConflictView.Row {
    /// - Returns: `nil` if neither side changed the field.
    fileprivate init?(
        _ name: Name, _ type: FieldType, mine: FieldValue?, was: FieldValue?, theirs: FieldValue?, number: Int,
        presenter: ValuePresenter
    ) {
        let texts = [mine, was, theirs].map { EditedField.text(of: $0, type) }
        let isMineChanged = texts[0] != texts[1]
        let areTheirsChanged = texts[2] != texts[1]
        if !isMineChanged, !areTheirsChanged { return nil }
        let isSame = texts[0] == texts[2]
        isContested = isMineChanged && areTheirsChanged && !isSame
        canChoose = type.valueType != .asset || !areTheirsChanged
        self.number = String(number)
        self.name = name.string
        label = name == ConflictView.parent ? "parent" : name.string
        self.type = type.label
        schemaType = type.schemaName
        verdict =
            !canChoose
            ? "the server's files stay"
            : isSame
                ? "same change on both sides"
                : isContested ? "changed on both sides" : isMineChanged ? "changed by you" : "changed on the server"
        func side(_ value: FieldValue?, _ text: Name, isChosen: Bool) -> ConflictView.Side {
            ConflictView.Side(value: presenter.view(value, of: name), text: text.string, isChosen: isChosen)
        }
        self.mine = side(mine, texts[0], isChosen: canChoose && isMineChanged && !areTheirsChanged)
        self.was = side(was, texts[1], isChosen: false)
        self.theirs = side(theirs, texts[2], isChosen: !canChoose || areTheirsChanged && (!isMineChanged || isSame))
    }
}

// MARK: - Form

/// The choices, field by field, between two versions of a record.
struct ConflictForm: Sendable {
    enum Choice: String, Sendable {
        case mine, was, theirs
    }

    struct Row: Sendable {
        let name: Name
        let type: FieldType
        let mine: FieldValue?
        let was: FieldValue?
        let theirs: FieldValue?
        /// `nil` if no choice is made.
        let choice: Choice?

        var chosen: FieldValue? {
            switch choice {
            case .mine: mine
            case .was: was
            case .theirs, nil: theirs
            }
        }
    }

    let recordName: Name
    /// The change tag of the version on which the choices are based.
    let tag: String
    let rows: [Row]

    /// Reads a submitted form.
    /// - Throws: `RecordError` BAD_REQUEST if the form is malformed, or a field that both sides changed has no choice.
    init(_ sent: FormFields, visit: Visit) throws {
        let fields = Dictionary(sent.pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        guard let name = fields["name"], !name.isEmpty, let tag = fields["tag"], !tag.isEmpty,
            let typeName = fields["type"]
        else {
            throw RecordError(.badRequest, "The form is incomplete; open the record again")
        }
        recordName = Name(name)
        self.tag = tag
        let declared = visit.schema?.types[Name(typeName)]?.fields ?? [:]
        // One button chooses for all fields that have no choice yet.
        let usual: Choice? = fields["do"] == "mine" ? .mine : nil
        var rows: [Row] = []
        for number in 1...RecordForm.fieldLimit {
            guard let field = fields["field\(number)"].map({ Name($0) }) else { break }
            guard
                let type = field == ConflictView.parent
                    ? FieldType.reference
                    : declared[field]?.type ?? fields["type\(number)"].flatMap({ FieldTypeChoices.type(named: $0) })
            else {
                throw RecordError(.badRequest, "The form has no type for the field '\(field)'; open the record again")
            }
            func value(_ side: String) throws -> FieldValue? {
                try EditedField.value(of: fields["\(side)\(number)"] ?? "", field: field)
            }
            guard let choice = fields["pick\(number)"].flatMap({ Choice(rawValue: $0) }) ?? usual else {
                throw RecordError(.badRequest, "Nothing was saved: choose a version of the field '\(field)' first")
            }
            rows.append(
                Row(
                    name: field, type: type, mine: try value("mine"), was: try value("was"),
                    theirs: try value("theirs"), choice: choice))
        }
        self.rows = rows
    }

    /// The form of the current record, with the choices in its inputs.
    /// - Parameter form: the form of the current record. If that is newer than the version of the choices, the save
    ///   detects the conflict.
    func applied(to form: RecordForm, place: Place) -> RecordForm {
        var form = form
        form.tag = tag
        for row in rows {
            if row.name == ConflictView.parent {
                form.parentWas = Self.name(row.theirs)
                form.parent = Self.name(row.chosen)
            } else if let index = form.fields.firstIndex(where: { $0.name == row.name }) {
                form.fields[index].was = row.theirs
                form.fields[index].settle(on: row.chosen, place: place)
                // This form can keep or remove files, but can't upload the files of another version.
            } else {
                var field = EditedField(row.name, row.type, was: row.theirs, showing: nil, isNew: true, place: place)
                field.settle(on: row.chosen, place: place)
                form.fields.append(field)
            }
        }
        return form
    }

    private static func name(_ value: FieldValue?) -> Name {
        if case .reference(let reference)? = value { reference.recordName } else { "" }
    }
}
