internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// An edit conflict: the user's values, the original values and the current values, with a choice for each field.
struct ConflictView: Page {
    static let template = "record_conflict"
    static let tab = Tab.fetch
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

    let title: String
    let recordName: String
    let recordType: String
    let tag: String
    let zone: String
    /// The user who changed the record, and the time.
    let who: String
    let when: ValueView
    let rows: [Row]
    let contested: String
    let action: String
    let record: String
    let milliseconds: String

    /// - Parameter record: the current version.
    init(_ form: RecordForm, _ record: StoredRecord, visit: Visit) throws {
        let place = visit.place
        let zoneID = record.recordID.zoneID
        let now = Dictionary(try record.fields.decoded().map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        let presenter = ValuePresenter(place: place, zoneID: zoneID, links: nil)
        var rows: [Row] = []
        func add(_ name: Name, _ type: FieldType, mine: FieldValue?, was: FieldValue?, theirs: FieldValue?) {
            if let row = Row(name, type, mine: mine, was: was, theirs: theirs, number: rows.count + 1, presenter: presenter) { rows.append(row) }
        }
        for field in form.fields {
            // An empty value counts as a change. An unreadable input keeps the original value; the refused save was able to read all inputs.
            let mine: FieldValue?
            do { mine = try field.value(in: place) } catch { mine = field.was }
            add(field.name, field.type, mine: mine, was: field.was, theirs: now[field.name])
        }
        func reference(_ name: Name?) -> FieldValue? { name.flatMap { $0.isEmpty ? nil : .reference(Reference(recordName: $0)) } }
        add(Self.parent, .reference, mine: reference(form.parent), was: reference(form.parentWas), theirs: reference(record.parent))
        self.rows = rows
        title = "Conflict · \(record.recordID.recordName)"
        recordName = record.recordID.recordName.string
        recordType = record.recordType.string
        tag = record.recordChangeTag
        zone = visit.zoneName(zoneID)
        who = visit.people.name(of: record.modified.userRecordName)
        when = ValueView(.time(record.modified.timestamp))
        let count = rows.count(where: \.isContested)
        contested = count == 0
            ? "The two saves changed different fields, so both changes can be merged."
            : "\(Digits.count(count, "field")) \(count == 1 ? "was" : "were") changed on both sides: choose a version for each."
        action = place.link("record/resolve")
        self.record = place.link(toRecord: record.recordID.recordName, in: zoneID)
        milliseconds = visit.stopwatch.elapsed.millisecondsText
    }
}

extension ConflictView.Row {
    /// - Returns: `nil` if neither side changed the field.
    fileprivate init?(
        _ name: Name, _ type: FieldType, mine: FieldValue?, was: FieldValue?, theirs: FieldValue?, number: Int, presenter: ValuePresenter
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
            !canChoose ? "the server's files stay"
            : isSame ? "same change on both sides" : isContested ? "changed on both sides" : isMineChanged ? "changed by you" : "changed on the server"
        func side(_ value: FieldValue?, _ text: Name, isChosen: Bool) -> ConflictView.Side {
            ConflictView.Side(value: presenter.view(value, of: name), text: text.string, isChosen: isChosen)
        }
        self.mine = side(mine, texts[0], isChosen: canChoose && isMineChanged && !areTheirsChanged)
        self.was = side(was, texts[1], isChosen: false)
        self.theirs = side(theirs, texts[2], isChosen: !canChoose || areTheirsChanged && (!isMineChanged || isSame))
    }
}
